// Why a result was found: distance, the bits that differ, the chance, and whether words or codes found it.

import { shownFields, textOf } from "./captions.js";
import { make, svg } from "./make.js";
import { chanceOf, distanceOf, foundBy } from "./sentences.js";

const PER_ROW = 32;

export function bitsOf(hex, bits) {
  // Little bit order: bit 0 is the lowest of the first byte.
  return Array.from({ length: bits }, (_, bit) => (parseInt(hex.substr(2 * (bit >> 3), 2), 16) >> (bit & 7)) & 1);
}

export function bitPicture(query, found, bits) {
  const [one, other] = [bitsOf(query, bits), bitsOf(found, bits)];
  const differing = one.map((bit, place) => (bit !== other[place] ? place : -1)).filter((place) => place >= 0);
  const listed = differing.length ? `Bits that differ: ${differing.join(", ")}` : "All bits are equal";
  const picture = svg("svg", {
    class: "bits", role: "img", "aria-label": listed, viewBox: `0 0 ${PER_ROW * 10} ${Math.ceil(bits / PER_ROW) * 10}`,
  });
  for (let bit = 0; bit < bits; bit += 1) {
    const place = { x: (bit % PER_ROW) * 10 + 1, y: Math.floor(bit / PER_ROW) * 10 + 1, width: 8, height: 8, rx: 1 };
    picture.append(svg("rect", { ...place, class: one[bit] === other[bit] ? "same" : "other" }));
  }
  return picture;
}

export function whyDetails(hit, asked, bits) {
  const details = make("details", { class: "why" }, make("summary", { text: "Why, and what it is" }));
  details.addEventListener("toggle", () => {
    if (!details.open || details.childElementCount > 1) return;
    details.append(...explain(hit, asked, bits));
  });
  return details;
}

function explain(hit, asked, bits) {
  const list = make("dl");
  const say = (name, text) => text && list.append(make("dt", { text: name }), make("dd", { text }));
  if (asked.kind !== "none") {
    say("found by", foundBy(hit));
    say("distance", distanceOf(hit, bits));
    if (hit.distance !== null) say("chance", chanceOf(hit) || "not known: this direction is not calibrated");
  }
  say("modality", hit.modality);
  say("id", hit.id);
  for (const [name, value] of shownFields(hit.payload)) say(name, textOf(value));
  if (!asked.code || !hit.code || hit.distance === null) return [list];
  return [list, bitPicture(asked.code, hit.code, bits)];
}
