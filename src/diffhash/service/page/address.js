// The question is in the address, so that it can be shared, and gone back to.

const NAMES = ["q", "item", "modality", "into", "where", "radius"];

export function readAddress(search = location.search) {
  const given = new URLSearchParams(search);
  const state = {};
  for (const name of NAMES) {
    const value = given.get(name);
    if (value !== null && value !== "") state[name] = value;
  }
  return state;
}

export function addressOf(state, more = {}) {
  const given = new URLSearchParams();
  for (const name of NAMES) {
    if (state[name] !== undefined && state[name] !== "") given.set(name, state[name]);
  }
  for (const [name, value] of Object.entries(more)) given.set(name, String(value));
  return given.toString();
}

// A step that "back" undoes is pushed; what changes at every letter replaces the last one.
export function writeAddress(state, { push = false } = {}) {
  const query = addressOf(state);
  const url = query ? `?${query}` : location.pathname;
  if (push) history.pushState(null, "", url);
  else history.replaceState(null, "", url);
}
