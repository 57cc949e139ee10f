// The requests and lists of the dashboard and the administration page.

import { setText } from "/assets/streams.js";

/** The login has expired. */
export class LoggedOut extends Error {}

/** An error response of the platform, with a message for the user. */
export class Refused extends Error {
  constructor(status, reason) {
    super(reason ?? `The platform answered ${status}.`);
    this.status = status;
  }
}

/** The difference between the platform's clock and the local clock in milliseconds. */
let ahead = 0;
/** The time of the platform in milliseconds since 1970. */
export const now = () => Date.now() + ahead;

/** Cancels the page's requests when the user signs out: the platform would reject those that are late. */
export const signOut = new AbortController();

/**
 * Sends a request to the REST interface, as the user who is logged in.
 * @returns {Promise<object>} the response.
 * @throws {LoggedOut} or {Refused}
 */
export async function ask(method, path, body, cancellation = signOut.signal) {
  const response = await fetch(path, {
    method,
    headers: { "PCast-Dashboard": "1", ...(body ? { "Content-Type": "application/json" } : {}) },
    body: body && JSON.stringify(body),
    signal: AbortSignal.any([cancellation, AbortSignal.timeout(10_000)]),
  });
  const date = Date.parse(response.headers.get("Date") ?? "");
  // The Date field has whole seconds, so smaller differences are ignored.
  if (date && Math.abs(date + 500 - now()) > 1500) ahead = date + 500 - Date.now();
  if (response.status === 401) throw new LoggedOut();
  if (!response.ok) throw new Refused(response.status, (await response.json().catch(() => ({}))).reason);
  return response.json();
}

/** Puts elements into a list in order. Elements in the right position are not touched, so that the focus remains. */
export function arrange(list, elements) {
  let place = list.firstElementChild;
  for (const each of elements) {
    if (each === place) place = place.nextElementSibling;
    else list.insertBefore(each, place);
  }
  while (place) {
    const next = place.nextElementSibling;
    place.remove();
    place = next;
  }
}

/** Shows rows. A row with the same key is updated in place. */
export function showRows(list, items, key, fill) {
  const rows = new Map([...list.children].map((row) => [row.dataset.key, row]));
  arrange(list, items.map((item) => {
    const row = rows.get(key(item)) ?? document.createElement("li");
    row.dataset.key = key(item);
    fill(row, item);
    return row;
  }));
}

/** Returns a part of a row, which is created if it does not exist, with a text. */
export function part(row, name, text, className = "", tag = "span") {
  let child = row.querySelector(`:scope > [data-part="${name}"]`);
  if (!child) {
    child = document.createElement(tag);
    child.dataset.part = name;
    row.append(child);
  }
  child.className = className;
  setText(child, text);
  return child;
}

/**
 * Shows which elements the user's role permits, by CSS.
 * @returns {Promise<object>} the application, the role, and the state of the platform.
 */
export async function readRole() {
  const platform = await ask("GET", "/pcast/platform");
  document.body.dataset.role = platform.role;
  return platform;
}

/** Returns a button of a row. `name` is what the button acts on, for screen readers. */
export function makeButton(text, className, name, action) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = `small ${className}`;
  button.textContent = text;
  button.setAttribute("aria-label", `${text.replace("…", "")}: ${name}`);
  button.addEventListener("click", action);
  return button;
}
