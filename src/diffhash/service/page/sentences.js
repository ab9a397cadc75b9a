// What the page says, in one place.

const count = (n) => n.toLocaleString("en");

export function plural(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

export function aboutCollection({ objects, n_bits: bits, modalities }) {
  const names = modalities.map((each) => each.name).join(", ");
  return `${plural(objects, "object")} · ${names} · codes of ${bits} bits`;
}

function milliseconds(seconds) {
  return seconds < 0.0095 ? `${(1000 * seconds).toFixed(1)} ms` : `${Math.round(1000 * seconds)} ms`;
}

export function statusOf(answer, shown) {
  if (answer.objects === 0) return "";
  if (answer.asked.kind === "none") return `The first ${count(shown)} of ${plural(answer.objects, "object")}.`;
  const searched = `${plural(answer.searched, "code")} searched in ${milliseconds(answer.seconds)}`;
  if (!shown) return `Nothing matches. ${searched}.`;
  return `${plural(shown, "result")}${answer.more ? ", and there are more" : ""}. ${searched}.`;
}

export function nothingFound(answer, { where, radius }) {
  if (answer.objects === 0) {
    return ["This collection is empty.", "Add objects to it: diffhash add --help says how. Then search again."];
  }
  const lines = ["Nothing matches."];
  if (answer.reason) lines.push(sentence(answer.reason));
  if (where) lines.push("A filter is set. Remove it to search everything.");
  if (radius) lines.push(`Only results at most ${radius} bits away are shown. Allow a larger distance.`);
  if (lines.length === 1) lines.push("Try other words, or another direction.");
  return lines;
}

export function sentence(text) {
  const start = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(start) ? start : `${start}.`;
}

export const GONE = "The service does not answer. It may have been stopped. This page tries again every two seconds.";
export const BACK = "The service answers again.";
export const WRONG_TOKEN = "The service does not accept this token.";
export const NO_PICTURES = "These objects have no thumbnails, so their fields are shown.";

export function foundBy(hit) {
  return { codes: "its code is near", words: "its caption has the words", both: "its code is near and its caption has the words" }[
    hit.found_by
  ];
}

export function distanceOf(hit, bits) {
  return hit.distance === null ? "" : `${hit.distance} of ${bits} bits differ`;
}

export function chanceOf(hit) {
  if (hit.chance === null) return "";
  const percent = 100 * hit.chance;
  return percent < 1 ? "under 1\u00a0% likely" : percent > 99 ? "over 99\u00a0% likely" : `${Math.round(percent)}\u00a0% likely`;
}
