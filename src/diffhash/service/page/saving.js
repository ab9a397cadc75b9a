// The results as a file.

import { shownFields } from "./captions.js";
import { make } from "./make.js";

export function csvOf(hits) {
  const fields = [...new Set(hits.flatMap((hit) => shownFields(hit.payload).map(([name]) => name)))];
  const lines = [["id", "modality", "distance", "chance", "found_by", ...fields]];
  for (const hit of hits) {
    const values = fields.map((name) => hit.payload[name]);
    lines.push([hit.id, hit.modality, hit.distance, hit.chance, hit.found_by, ...values]);
  }
  return lines.map((line) => line.map(cell).join(",") + "\r\n").join("");
}

function cell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  let text = typeof value === "string" ? value : JSON.stringify(value);
  // Spreadsheets run texts that begin like this as formulas.
  if (/^[=+\-@\t\r]/.test(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function save(text, type, name) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { href: address, download: name });
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
