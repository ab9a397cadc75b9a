// The object that is searched from, above the results.

import { captionOf, pictureOf } from "./captions.js";
import { make } from "./make.js";

export async function showAsked(element, state, ask, onClear) {
  if (state.item === undefined) {
    element.hidden = true;
    element.replaceChildren();
    element.dataset.item = "";
    return;
  }
  if (element.dataset.item === state.item && !element.hidden) return;
  element.dataset.item = state.item;
  const clear = make("button", { type: "button", text: "Clear" });
  clear.addEventListener("click", onClear);
  const caption = make("span", { text: `Searching from ${state.item}` });
  element.replaceChildren(caption, clear);
  element.hidden = false;
  try {
    const item = await ask(`v1/items/${encodeURIComponent(state.item)}`);
    if (element.dataset.item !== state.item) return;
    caption.textContent = `Searching from ${captionOf(item.id, item.payload)}`;
    const picture = pictureOf(item.payload);
    if (picture) element.prepend(make("img", { src: picture, alt: "", width: 64, height: 64 }));
  } catch {
    // The search itself has said what is wrong.
  }
}
