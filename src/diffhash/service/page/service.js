// Requests to the service, with the token if there is one.

const KEY = "diffhash token";

export class ServiceError extends Error {
  // kind: "gone" if nothing answers, "token" if the token is missing or wrong, else the type of the error.
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

export function keepToken(token) {
  sessionStorage.setItem(KEY, token);
}

export function hasToken() {
  return sessionStorage.getItem(KEY) !== null;
}

export async function ask(path, { signal, body } = {}) {
  const token = sessionStorage.getItem(KEY);
  const headers = { Accept: "application/json" };
  if (token !== null) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = body.type;
  let answer, value;
  try {
    answer = await fetch(path, { method: body ? "POST" : "GET", headers, body, signal });
    value = await answer.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError("gone", "The service does not answer.");
  }
  if (answer.ok) return value;
  const { type, message } = value.error ?? { type: "ServiceError", message: `Status ${answer.status}.` };
  throw new ServiceError(answer.status === 401 ? "token" : type, message);
}
