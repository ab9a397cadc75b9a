// The page: what is asked, and what comes back.

import { addressOf, readAddress, writeAddress } from "./address.js";
import { showAsked } from "./asked.js";
import { Direction } from "./direction.js";
import { byId, make } from "./make.js";
import { Results } from "./results.js";
import { ServiceError, ask, hasToken, keepToken } from "./service.js";
import { BACK, GONE, WRONG_TOKEN, aboutCollection, nothingFound, sentence, statusOf } from "./sentences.js";

const PER_PAGE = 24;
const WAIT_MS = 120; // after a letter, before the search
const RETRY_MS = 2000;

let about = null; // the answer of /v1/page
let state = {};
let running = null; // the AbortController of the search that runs
let timer = 0;
let more = false;

const kindOf = (asked) => (asked.q ? "text" : asked.item !== undefined ? "item" : "none");
const results = new Results(byId("results"), (hit) => {
  go({ ...directionFor(hit), item: String(hit.id) });
  byId("results").focus();
});
const direction = new Direction(byId("modality"), byId("into"), byId("swap"), (value) => {
  if (kindOf(state) === "none") return;
  go({ ...state, modality: value.modality, into: value.into || undefined });
});

// From a result one searches in the modality in which it was found, and goes on finding the same kind.
function directionFor(hit) {
  return { modality: hit.modality || undefined, into: direction.value.into || undefined, where: state.where, radius: state.radius };
}

function go(next, { push = true } = {}) {
  state = next;
  writeAddress(state, { push });
  search();
}

function say(lines) {
  byId("problem").replaceChildren(...lines.map((text) => make("p", { text })));
}

async function search({ skip = 0 } = {}) {
  running?.abort();
  const mine = (running = new AbortController());
  document.body.classList.add("busy");
  try {
    if (about === null) await open(mine.signal);
    if (document.activeElement !== byId("words") || state.q) byId("words").value = state.q ?? "";
    direction.show(kindOf(state), state);
    const answer = await ask(`v1/find?${addressOf(state, { k: PER_PAGE, skip })}`, { signal: mine.signal });
    if (mine === running) show(answer, skip);
  } catch (error) {
    if (mine === running && error.name !== "AbortError") fail(error, skip);
  } finally {
    if (mine === running) document.body.classList.remove("busy");
  }
}

async function open(signal) {
  about = await ask("v1/page", { signal });
  byId("token-form").hidden = true;
  byId("search").hidden = false;
  byId("about").textContent = aboutCollection(about);
  const words = about.captions || about.modalities.some((each) => each.takes === "words");
  byId("words").disabled = !words;
  byId("words").placeholder = words ? "" : "This collection does not understand words: choose an object";
  direction.open(about);
}

function show(answer, skip) {
  if (!skip) results.clear();
  if (answer.hits.length) results.add(answer, about.n_bits);
  const found = results.hits.length;
  say(found || answer.asked.kind === "none" && answer.objects ? answer.notes.map(sentence) : [...nothingFound(answer, state), ...answer.notes]);
  byId("status").textContent = statusOf(answer, found);
  more = answer.more && answer.asked.kind !== "none" && answer.hits.length > 0;
  byId("more").hidden = !more;
  showAsked(byId("asked"), state, ask, () => go({}));
  document.title = state.q ? `${state.q} – diffhash` : "diffhash";
}

function fail(error, skip) {
  if (!(error instanceof ServiceError)) throw error;
  if (!skip) results.clear();
  byId("more").hidden = true;
  byId("status").textContent = "";
  if (error.kind === "gone") {
    say([GONE]);
    window.setTimeout(comeBack, RETRY_MS);
  } else if (error.kind === "token") {
    say(hasToken() ? [WRONG_TOKEN] : []);
    byId("search").hidden = true;
    byId("token-form").hidden = false;
    byId("about").textContent = "";
    byId("token").focus();
  } else {
    say([sentence(error.message)]);
  }
}

async function comeBack() {
  try {
    await ask("healthz");
  } catch {
    window.setTimeout(comeBack, RETRY_MS);
    return;
  }
  say([BACK]);
  about = null; // it may serve another collection now
  search();
}

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  window.clearTimeout(timer);
  askWords(true);
});
byId("words").addEventListener("input", () => {
  window.clearTimeout(timer);
  timer = window.setTimeout(() => askWords(false), WAIT_MS);
});

function askWords(push) {
  const q = byId("words").value.trim();
  const { where, radius } = state;
  const wasText = kindOf(state) === "text";
  const chosen = about && (wasText || kindOf(state) === "none") ? direction.value : usualWords();
  go(q ? { q, modality: chosen.modality || undefined, into: chosen.into || undefined, where, radius } : { where, radius },
    { push: push || !wasText });
}

function usualWords() {
  const [modality] = about ? direction.names("words") : [];
  return { modality, into: about ? direction.usual(modality) : undefined };
}

byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  keepToken(byId("token").value.trim());
  search();
});
byId("more").addEventListener("click", () => search({ skip: results.hits.length }));
byId("home").addEventListener("click", (event) => {
  event.preventDefault();
  go({});
});
window.addEventListener("popstate", () => {
  state = readAddress();
  search();
});
new IntersectionObserver((entries) => {
  if (more && entries.some((entry) => entry.isIntersecting)) {
    more = false;
    search({ skip: results.hits.length });
  }
}, { rootMargin: "200px" }).observe(byId("rest"));

state = readAddress();
search();
