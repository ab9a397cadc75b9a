// Hits as cards with pictures, or as a table if there are none.

import { captionOf, pictureOf, shownFields, textOf } from "./captions.js";
import { make } from "./make.js";
import { NO_PICTURES, chanceOf, distanceOf } from "./sentences.js";
import { whyDetails } from "./why.js";

const MOST_COLUMNS = 6;

export class Results {
  // onPick is called with a hit that somebody wants to search from.
  constructor(element, onPick) {
    this.element = element;
    this.onPick = onPick;
    this.clear();
  }

  clear() {
    this.element.replaceChildren();
    this.hits = [];
    this.list = null;
  }

  add(answer, bits) {
    if (!this.hits.length) this.begin(answer);
    for (const hit of answer.hits) {
      this.hits.push(hit);
      this.list.append(this.columns ? this.row(hit, answer.asked, bits) : this.card(hit, answer.asked, bits));
    }
  }

  begin(answer) {
    this.columns = answer.hits.some((hit) => pictureOf(hit.payload)) ? null : columnsOf(answer.hits);
    if (!this.columns) {
      this.list = make("ol", { class: "hits" });
      this.element.replaceChildren(this.list);
      return;
    }
    const names = ["object", ...this.columns, "distance", "why"];
    const head = make("tr", {}, ...names.map((text) => make("th", { scope: "col", text })));
    this.list = make("tbody");
    const table = make("table", {}, make("thead", {}, head), this.list);
    const scroll = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of results" }, table);
    this.element.replaceChildren(make("p", { class: "soft", text: NO_PICTURES }), scroll);
  }

  pick(hit, ...content) {
    const caption = captionOf(hit.id, hit.payload);
    const button = make("button", { type: "button", class: "from", title: `Search from ${caption}` }, ...content);
    button.addEventListener("click", () => this.onPick(hit));
    return button;
  }

  card(hit, asked, bits) {
    const caption = captionOf(hit.id, hit.payload);
    const picture = pictureOf(hit.payload);
    const image = picture && make("img", { src: picture, alt: "", width: 96, height: 96, loading: "lazy" });
    const facts = [distanceOf(hit, bits), chanceOf(hit), hit.found_by === "codes" ? "" : "words match"].filter(Boolean);
    return make("li", { class: "hit" },
      this.pick(hit, image, make("span", { class: "caption", text: caption })),
      make("p", { class: "facts", text: facts.join(" · ") }),
      whyDetails(hit, asked, bits));
  }

  row(hit, asked, bits) {
    const cells = this.columns.map((name) => make("td", { text: name in hit.payload ? textOf(hit.payload[name]) : "" }));
    const facts = [distanceOf(hit, bits), chanceOf(hit)].filter(Boolean).join(", ");
    return make("tr", { class: "hit-row" },
      make("td", {}, this.pick(hit, make("span", { text: hit.id }))),
      ...cells, make("td", { text: facts }), make("td", {}, whyDetails(hit, asked, bits)));
  }
}

function columnsOf(hits) {
  const names = new Set(hits.flatMap((hit) => shownFields(hit.payload).map(([name]) => name)));
  return [...names].slice(0, MOST_COLUMNS);
}
