// Which modality is asked with, and which is searched.

import { make } from "./make.js";

export class Direction {
  constructor(modality, into, swap, onChange) {
    this.modality = modality;
    this.into = into;
    this.swap = swap;
    modality.addEventListener("change", () => onChange(this.value));
    into.addEventListener("change", () => onChange(this.value));
    swap.addEventListener("click", () => {
      [this.modality.value, this.into.value] = [this.into.value, this.modality.value];
      onChange(this.value);
    });
  }

  // about: the answer of /v1/page.
  open(about) {
    this.modalities = about.modalities;
    const names = about.modalities.map((each) => each.name);
    this.modality.replaceChildren(...names.map((name) => make("option", { value: name, text: name })));
    this.into.replaceChildren(
      ...names.map((name) => make("option", { value: name, text: name })),
      make("option", { value: "", text: "everything" }),
    );
  }

  // What takes drawings takes pictures of drawings, too; it comes last there, and first for a drawing.
  names(takes) {
    const fits = (each) => !takes || each.takes === takes || (takes !== "words" && each.takes && each.takes !== "words");
    const found = this.modalities.filter(fits);
    if (takes === "words" || !takes) return found.map((each) => each.name);
    return [...found.filter((each) => each.takes === takes), ...found.filter((each) => each.takes !== takes)].map((each) => each.name);
  }

  // Modalities that this kind of query can have, and good ones if the address has none.
  show(kind, state) {
    // Before anybody has asked, the next question is probably in words.
    const takes = { none: this.names("words").length ? "words" : undefined, text: "words", picture: "pictures", drawing: "drawings" }[kind];
    const possible = this.names(takes);
    for (const option of this.modality.options) option.disabled = !possible.includes(option.value);
    const asked = state.modality ?? possible[0] ?? "";
    this.modality.value = asked;
    // An address without "into" asks for everything, for programs too.
    this.into.value = state.into ?? (kind === "none" ? this.usual(asked) : "");
    this.swap.disabled = kind !== "item" || this.into.value === "";
  }

  usual(asked) {
    const pictures = this.modalities.filter((each) => each.takes === "pictures" && each.name !== asked).map((each) => each.name);
    const others = this.names().filter((name) => name !== asked);
    return pictures[0] ?? others[0] ?? asked;
  }

  get value() {
    return { modality: this.modality.value, into: this.into.value };
  }
}
