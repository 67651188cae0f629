// Requests to the API: errors in its words, an end for each wait, and the caller's own writes.

/// The time after which a request has failed, in milliseconds.
const TIMEOUT_MS = 20_000;

const TOKEN = "consistency-token";
const KEY = "function-key";

const WORDS = {
  401: ["A key is missing", "This request needs a function key."],
  404: ["Not found", "The app has nothing here."],
  500: ["The app has failed", "Retry. If it stays so, the log of the app says why."],
  503: ["Unavailable", "Retry in a moment."],
};

/// An error of a request: a problem document (RFC 9457), or the same for a request without one.
export class Problem extends Error {
  constructor({ status = 0, title = "Something went wrong", detail = "", errors = [] }) {
    super(detail || title);
    Object.assign(this, { status, title, detail, errors });
  }

  static of(error) {
    if (error instanceof Problem) return error;
    console.error(error);
    return new Problem({ title: "This page has failed", detail: "Reload it. The browser's console says why." });
  }
}

const listeners = new Set();

/// Calls a listener after each request, with its method, path, status, duration and charge.
export function onRequest(listener) {
  listeners.add(listener);
}

export const functionKey = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (key) => key ? sessionStorage.setItem(KEY, key) : sessionStorage.removeItem(KEY),
};

/// The difference between the clocks of the app and of the browser, in milliseconds.
export let clockSkew = 0;

/// Sends a request. `own: false` asks for no more than any other caller sees; `quiet` tells no listener.
export async function call(method, path, { body, headers = {}, own = true, quiet = false, wait = 3 } = {}) {
  const token = own && sessionStorage.getItem(TOKEN);
  const sent = new Headers(headers);
  if (body !== undefined) sent.set("content-type", "application/json");
  if (functionKey.get()) sent.set("x-functions-key", functionKey.get());
  if (token) {
    sent.set("consistency-token", token);
    if (method === "GET") sent.set("prefer", `wait=${wait}`);
  }
  const started = performance.now();
  let response;
  let text;
  try {
    response = await fetch(`api/${path}`, {
      method,
      headers: sent,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    text = await response.text();
  } catch (error) {
    const detail = error.name === "TimeoutError"
      ? `There was no answer within ${TIMEOUT_MS / 1_000} seconds. Retry.`
      : "The app cannot be reached. Check the connection, and retry.";
    throw new Problem({ title: "No answer", detail });
  }
  const ms = performance.now() - started;
  const charge = Number(response.headers.get("x-ms-request-charge") ?? 0);
  const date = Date.parse(response.headers.get("date") ?? "");
  // The header has whole seconds.
  if (!Number.isNaN(date) && Math.abs(date - Date.now()) > 2_000) clockSkew = date - Date.now();
  if (!quiet) for (const listener of listeners) listener({ method, path, status: response.status, ms, charge });
  const fresh = response.headers.get("consistency-token");
  if (fresh) sessionStorage.setItem(TOKEN, fresh);
  const data = parsed(text);
  if (!response.ok) {
    if (response.status === 400 && token && data?.errors?.some((one) => /token/i.test(one.field))) {
      sessionStorage.removeItem(TOKEN);
      return call(method, path, { body, headers, own: false, quiet });
    }
    const [title, detail] = WORDS[response.status] ?? ["The app has refused this", `It answered ${response.status}.`];
    throw new Problem({ title, detail, ...data, status: response.status });
  }
  const behind = response.headers.get("copies-behind") === "?1";
  return { data, charge, ms, behind, status: response.status, headers: response.headers, etag: response.headers.get("etag") };
}

function parsed(text) {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

export const get = (path, options) => call("GET", path, options);

/// Returns the body of an answer.
export const read = async (path, options) => (await get(path, options)).data;

const USER = "user";

/// The user that the browser acts for.
export const me = {
  get: () => parsed(localStorage.getItem(USER)),
  set: (user) => {
    if (user) localStorage.setItem(USER, JSON.stringify({ id: user.id, username: user.username }));
    else localStorage.removeItem(USER);
    dispatchEvent(new Event("me"));
  },
};
