// The page: what is asked, and what comes back.

import { addressOf, readAddress, writeAddress } from "./address.js";
import { showAsked } from "./asked.js";
import { Direction } from "./direction.js";
import { Drawing } from "./drawing.js";
import { showEvaluation } from "./evaluation.js";
import { Filters } from "./filters.js";
import { byId, make } from "./make.js";
import { takePictures } from "./picture.js";
import { Results } from "./results.js";
import { csvOf, save } from "./saving.js";
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

let picture = null; // a file that was dropped or pasted; it is not in the address

const kindOf = (asked) => (picture ? "picture" : asked.q ? "text" : asked.item !== undefined ? "item" : asked.draw ? "drawing" : "none");
const results = new Results(byId("results"), (hit) => {
  go({ ...directionFor(hit), item: String(hit.id) });
  byId("results").focus();
});
const direction = new Direction(byId("modality"), byId("into"), byId("swap"), (value) => {
  if (kindOf(state) === "none") return;
  go({ ...state, modality: value.modality, into: value.into || undefined }, { keep: true });
});
const filters = new Filters({ radius: byId("radius"), now: byId("radius-now"), fold: byId("fold"), facets: byId("facets") },
  (value) => go({ ...state, ...value }, { keep: true }));
const drawing = new Drawing(byId("canvas"), { undo: byId("undo"), clear: byId("clear") }, (draw) => {
  go({ ...(draw ? { draw, ...pictureDirection("drawing") } : {}), ...kept() }, { push: kindOf(state) !== "drawing" || !draw });
});
takePictures(byId("file"), (file) => {
  const next = { ...pictureDirection("picture"), ...kept() };
  go(next, { picture: file });
}, (text) => say([text]));
const kept = () => ({ where: state.where, radius: state.radius, fold: state.fold });

// A drawing finds what looks like it: by default the direction stays within the pictures.
function pictureDirection(kind) {
  if (about === null) return {};
  if (kindOf(state) === kind) return { modality: state.modality, into: state.into };
  const [name] = direction.names(kind === "drawing" ? "drawings" : "pictures");
  return { modality: name, into: name };
}

// From a result one searches in the modality in which it was found, and goes on finding the same kind.
function directionFor(hit) {
  return { modality: hit.modality || undefined, into: direction.value.into || undefined, ...kept() };
}

// A picture is forgotten at the next question, unless only its direction or its filter changes.
function go(next, { push = true, keep = false, picture: file = null } = {}) {
  picture = keep ? picture : file;
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
    if (await showTab(mine.signal)) return;
    if (document.activeElement !== byId("words") || state.q) byId("words").value = state.q ?? "";
    direction.show(kindOf(state), state);
    filters.show(state);
    drawing.show(state.draw ?? "");
    if (state.draw) byId("draw-area").open = true;
    const query = addressOf(state, { k: PER_PAGE, skip });
    const answer = await ask(`v1/find?${query}`, { signal: mine.signal, body: picture ?? undefined });
    if (mine === running) show(answer, skip);
  } catch (error) {
    if (mine === running && error.name !== "AbortError") fail(error, skip);
  } finally {
    if (mine === running) document.body.classList.remove("busy");
  }
}

// Returns whether the evaluation is shown, and nothing is to be searched.
async function showTab(signal) {
  const evaluation = state.tab === "evaluation";
  byId("search").hidden = evaluation;
  byId("evaluation").hidden = !evaluation;
  const links = { "to-search": !evaluation, "to-evaluation": evaluation };
  for (const [id, here] of Object.entries(links)) {
    if (here) byId(id).setAttribute("aria-current", "page");
    else byId(id).removeAttribute("aria-current");
  }
  if (evaluation) await showEvaluation(byId("evaluation"), ask, signal);
  return evaluation;
}

async function open(signal) {
  about = await ask("v1/page", { signal });
  byId("token-form").hidden = true;
  byId("about").textContent = aboutCollection(about);
  const words = about.captions || about.modalities.some((each) => each.takes === "words");
  byId("words").disabled = !words;
  byId("words").placeholder = words ? "" : "This collection does not understand words: choose an object";
  byId("draw-area").hidden = !about.modalities.some((each) => each.takes === "pictures" || each.takes === "drawings");
  direction.open(about);
  filters.open(about.n_bits, await ask("v1/fields", { signal }));
}

function show(answer, skip) {
  if (!skip) results.clear();
  if (answer.hits.length) results.add(answer, about.n_bits, { fold: state.fold === "1" });
  const found = results.hits.length;
  say(found || answer.asked.kind === "none" && answer.objects ? answer.notes.map(sentence) : [...nothingFound(answer, state), ...answer.notes]);
  byId("status").textContent = statusOf(answer, found);
  more = answer.more && answer.asked.kind !== "none" && answer.hits.length > 0;
  byId("more").hidden = !more;
  showAsked(byId("asked"), state, picture, ask, () => go({}));
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
    byId("search").hidden = byId("evaluation").hidden = true;
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
  const wasText = kindOf(state) === "text";
  const chosen = about && (wasText || kindOf(state) === "none") ? direction.value : usualWords();
  go(q ? { q, modality: chosen.modality || undefined, into: chosen.into || undefined, ...kept() } : kept(),
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
for (const [id, next] of Object.entries({ home: {}, "to-search": {}, "to-evaluation": { tab: "evaluation" } })) {
  byId(id).addEventListener("click", (event) => {
    event.preventDefault();
    go(next);
  });
}
byId("save-json").addEventListener("click", () => save(JSON.stringify(results.hits, null, 2), "application/json", "results.json"));
byId("save-csv").addEventListener("click", () => save(csvOf(results.hits), "text/csv", "results.csv"));
window.addEventListener("popstate", () => {
  picture = null;
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
