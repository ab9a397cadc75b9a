// Facets from the fields of the payloads, the largest distance, and folding.

import { make } from "./make.js";

const MOST_FACETS = 6;
const FEWEST_COUNT = 2; // a field whose values all differ is nothing to choose from

export class Filters {
  // onChange is called with {where, radius, fold} as they stand in the address.
  constructor({ radius, now, fold, facets }, onChange) {
    Object.assign(this, { radius, now, fold, facets, onChange });
    this.chosen = {};
    radius.addEventListener("input", () => this.tell());
    radius.addEventListener("change", () => onChange(this.value));
    fold.addEventListener("change", () => onChange(this.value));
  }

  open(bits, { fields }) {
    this.bits = bits;
    this.radius.max = bits;
    const useful = fields.filter(({ values }) => values.length > 1 && values[0].count >= FEWEST_COUNT);
    this.facets.replaceChildren(...useful.slice(0, MOST_FACETS).map((field) => this.facet(field)));
  }

  facet({ name, values }) {
    const id = `facet-${this.facets.dataset.next = Number(this.facets.dataset.next ?? 0) + 1}`;
    const select = make("select", { id }, make("option", { value: "", text: "any" }),
      ...values.map(({ value, count }) => make("option", { value: JSON.stringify(value), text: `${value} (${count})` })));
    select.dataset.field = name;
    select.addEventListener("change", () => this.onChange(this.value));
    return make("span", { class: "facet" }, make("label", { for: id, text: `${name} ` }), select);
  }

  show({ where, radius, fold }) {
    this.radius.value = radius ?? this.bits;
    this.fold.checked = fold === "1";
    const chosen = parsed(where);
    for (const select of this.facets.querySelectorAll("select")) {
      const value = chosen[select.dataset.field];
      select.value = value === undefined ? "" : JSON.stringify(value);
    }
    // Parts of a filter that no facet shows are kept.
    const shown = new Set([...this.facets.querySelectorAll("select")].map((select) => select.dataset.field));
    this.others = Object.fromEntries(Object.entries(chosen).filter(([name]) => !shown.has(name)));
    this.tell();
  }

  tell() {
    const any = Number(this.radius.value) >= this.bits;
    this.now.textContent = any ? "any distance" : `${this.radius.value} of ${this.bits}`;
  }

  get value() {
    const where = { ...this.others };
    for (const select of this.facets.querySelectorAll("select")) {
      if (select.value) where[select.dataset.field] = JSON.parse(select.value);
    }
    return {
      where: Object.keys(where).length ? JSON.stringify(where) : undefined,
      radius: Number(this.radius.value) < this.bits ? this.radius.value : undefined,
      fold: this.fold.checked ? "1" : undefined,
    };
  }
}

function parsed(where) {
  try {
    const value = JSON.parse(where ?? "{}");
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}
