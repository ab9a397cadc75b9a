// How good searches are: ROC, equal error rate, chances by distance, promises, and the bits.

import { make, svg } from "./make.js";
import { equalErrorRate, rocOf } from "./rates.js";

const [WIDE, HIGH, EDGE] = [320, 220, 34];
const UNCALIBRATED = "The model of this collection is not calibrated, so nothing is known about how good searches are. " +
  "Fit it with calibrate=True, or build the collection with diffhash build.";

const across = (share) => EDGE + share * (WIDE - EDGE - 8);
const down = (share) => HIGH - EDGE - share * (HIGH - EDGE - 8);
const percent = (share) => `${(100 * share).toFixed(1)} %`;

function chart(label, axes, ...content) {
  const text = (x, y, words, anchor) => {
    const element = svg("text", { x, y, "text-anchor": anchor });
    element.textContent = words;
    return element;
  };
  return svg("svg", { class: "chart", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": label },
    svg("path", { class: "axis", d: `M${across(0)} ${down(1)}V${down(0)}H${across(1)}` }), ...content,
    text(across(0.5), HIGH - 6, axes.x, "middle"), text(across(0), HIGH - 20, axes.from ?? "0", "middle"),
    text(across(1), HIGH - 20, axes.to ?? "1", "end"), text(EDGE - 6, down(1) + 8, "1", "end"), text(EDGE - 6, down(0), "0", "end"));
}

function curve(points) {
  return svg("polyline", { class: "curve", points: points.map(([x, y]) => `${across(x).toFixed(1)},${down(y).toFixed(1)}`).join(" ") });
}

function figure(picture, caption) {
  return make("figure", {}, picture, make("figcaption", { text: caption }));
}

function direction(each) {
  const roc = rocOf(each.similar_by_distance, each.dissimilar_by_distance);
  const name = `${each.modality} → ${each.into}`;
  const charts = make("div", { class: "charts" });
  if (roc.length) {
    const rate = percent(equalErrorRate(roc));
    const guide = svg("path", { class: "guide", d: `M${across(0)} ${down(1)}L${across(1)} ${down(0)}` });
    charts.append(figure(chart(`ROC curve, equal error rate ${rate}`, { x: "share of wrong pairs accepted" }, guide, curve(roc)),
      `ROC: share of right pairs accepted. Equal error rate ${rate}, from ${each.similar_pairs.toLocaleString("en")} right and ` +
      `${each.dissimilar_pairs.toLocaleString("en")} wrong held-out pairs.`));
  }
  const chances = each.chance_by_distance;
  if (chances) {
    const last = chances.length - 1;
    charts.append(figure(chart("Chance by distance", { x: "bits that differ", to: String(last) }, curve(chances.map((chance, d) => [d / last, chance]))),
      `Chance that a result belongs to the query, among ${each.items.toLocaleString("en")} objects.`));
  }
  return [make("h2", { text: name }), charts, promises(each.promises)];
}

function promises(rows) {
  if (!rows.length) return null;
  const cells = rows.map((row) => make("tr", {}, make("td", { text: row.max_false_matches }),
    make("td", { text: row.radius === null || row.radius < 0 ? "not possible" : `${row.radius} bits` }),
    make("td", { text: row.found === null || row.radius < 0 ? "" : percent(row.found) })));
  const head = ["wrong results per query, at most", "distance", "of the right ones are found"];
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Promises" }, make("table", {},
    make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col", text })))), make("tbody", {}, ...cells)));
}

function bits({ shares, sampled, n_bits: count }) {
  const charts = Object.entries(shares).map(([name, values]) => {
    const bars = values.map((share, bit) => svg("rect", { class: "bar", x: across(bit / count), width: Math.max((WIDE - EDGE - 8) / count - 0.5, 0.5),
      y: down(share), height: down(0) - down(share) }));
    const middle = svg("path", { class: "guide", d: `M${across(0)} ${down(0.5)}H${across(1)}` });
    const stuck = values.filter((share) => share < 0.02 || share > 0.98).length;
    return figure(chart(`How often each bit of ${name} is one`, { x: "bit", to: String(count - 1) }, ...bars, middle),
      `${name}: how often each bit is one, in ${sampled.toLocaleString("en")} objects. ${stuck ? `${stuck} bits are nearly always the same.` : "No bit is always the same."}`);
  });
  return [make("h2", { text: "Bits" }), make("div", { class: "charts" }, ...charts)];
}

export async function showEvaluation(element, ask, signal) {
  const [evaluation, shares] = await Promise.all([ask("v1/evaluation", { signal }), ask("v1/bits", { signal })]);
  const parts = evaluation.calibrated ? evaluation.directions.filter((each) => each.similar_pairs).flatMap(direction) : [make("p", { text: UNCALIBRATED })];
  element.replaceChildren(...parts.filter(Boolean), ...bits(shares));
}
