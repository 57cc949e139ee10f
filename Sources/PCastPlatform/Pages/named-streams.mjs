// The events of an application's declared streams: a part of /pcast.mjs.
// @ts-check

import { PCastError } from "./session.mjs";

/** The times in milliseconds: before the first reconnect, the longest pause, and the silence that ends a connection. */
const TIMES = { firstAttempt: 500, longestPause: 30_000, silence: 45_000 };

/** The maximum size of an event in characters. */
const MAXIMUM_EVENT = 65_536;

/** The types of events of a stream. */
const TYPES = ["ready", "ended", "demanded", "switched"];

/**
 * An event of a declared stream. The identifiers and the reason are null where there are none.
 * @typedef {object} NamedStreamEvent
 * @property {string} name the name of the stream
 * @property {string | null} streamId the stream that viewers receive
 * @property {string | null} publisherId the publisher whose media are forwarded since a switch
 * @property {string | null} reason the reason of a switch, such as `silent`
 * @property {number} time milliseconds since 1970
 */

/**
 * @typedef {object} NamedStreamsOptions
 * @property {string} [url] the platform; the origin of this module by default
 * @property {string | (() => string | Promise<string>)} token a JSON Web Token with the role `view`. A function is called
 *   for each connection
 */

/** A parser of server-sent events (HTML Standard, section 9.2.6). */
export class EventParser {
  #rest = ""; #type = ""; #size = 0; #id = "";
  /** @type {string[]} */ #data = [];
  /** The identifier of the last position that the server has named; empty if there is none. */
  lastId = "";

  /**
   * Returns the events that text completes.
   * @param {string} text
   * @returns {{ type: string, data: string }[]}
   * @throws {RangeError} if an event is too large
   */
  parse(text) {
    const events = [];
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") {
        this.lastId = this.#id;
        if (this.#data.length) events.push({ type: this.#type || "message", data: this.#data.join("\n") });
        [this.#type, this.#data, this.#size] = ["", [], 0];
        continue;
      }
      if (line.startsWith(":")) continue;
      this.#size += line.length;
      const colon = line.includes(":") ? line.indexOf(":") : line.length;
      const [name, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
      if (name === "event") this.#type = value;
      else if (name === "data") this.#data.push(value);
      else if (name === "id" && !value.includes("\0")) this.#id = value;
    }
    if (this.#size + this.#rest.length > MAXIMUM_EVENT) throw new RangeError("The event is too large.");
    return events;
  }
}

/**
 * The events of the declared streams of an application (docs/STREAMS.md). Create it with `namedStreams()`.
 *
 * Events, as `CustomEvent`s:
 *
 * - `ready`, `ended`, `demanded`, `switched`, each with a {@link NamedStreamEvent} as `detail`
 * - `missed`: events are missing, because the page or the connection was absent for too long, or because the platform has
 *   restarted
 * - `online`: the platform sends the events from now on. After a lost connection, those since the last event follow
 * - `offline`: the connection is lost; it is restored by itself
 * - `failed` `{ error }`: the platform refuses the token
 */
export class NamedStreams extends EventTarget {
  #address; #token;
  #abort = new AbortController();
  /** @type {number | undefined} */ #timer;
  #lastId = ""; #attempts = 0; #isOnline = false; #isClosed = false;

  /** @param {NamedStreamsOptions} options */
  constructor({ url, token }) {
    super();
    this.#address = new URL("/pcast/names/events", new URL(url ?? import.meta.url, globalThis.location?.href));
    this.#token = token;
    // Events come after the caller has added its listeners.
    queueMicrotask(() => this.#open());
  }

  /** Whether the platform sends events now. */
  get isOnline() { return this.#isOnline; }

  /** Ends the events. */
  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#abort.abort();
    this.#isOnline = false;
  }

  async #open() {
    if (this.#isClosed) return;
    const abort = this.#abort = new AbortController();
    let silence = setTimeout(() => abort.abort(), TIMES.silence);
    try {
      const token = typeof this.#token === "function" ? await this.#token() : this.#token;
      const address = new URL(this.#address);
      if (this.#lastId) address.searchParams.set("after", this.#lastId);
      const response = await fetch(address, {
        headers: { Authorization: `Bearer ${token}` }, cache: "no-store", credentials: "omit", signal: abort.signal,
      });
      if (response.status === 401 || response.status === 403) return this.#fail(response.status);
      if (!response.ok || !response.body) throw new PCastError("refused", `The platform answered ${response.status}.`);
      this.#attempts = 0;
      this.#setOnline(true);
      const [reader, decoder, parser] = [response.body.getReader(), new TextDecoder(), new EventParser()];
      for (;;) {
        const { done, value } = await reader.read();
        if (done || this.#isClosed) break;
        clearTimeout(silence);
        silence = setTimeout(() => abort.abort(), TIMES.silence);
        for (const event of parser.parse(decoder.decode(value, { stream: true }))) this.#deliver(event);
        this.#lastId = parser.lastId || this.#lastId;
      }
    } catch {
      // The connection is lost, or what arrived is no event. The next attempt follows.
    } finally {
      clearTimeout(silence);
      abort.abort();
      this.#lose();
    }
  }

  #lose() {
    if (this.#isClosed) return;
    this.#setOnline(false);
    const wait = Math.min(TIMES.firstAttempt * 2 ** this.#attempts, TIMES.longestPause);
    this.#attempts += 1;
    // The randomness prevents that all pages connect at the same moment.
    this.#timer = setTimeout(() => this.#open(), wait * (0.5 + Math.random() / 2));
  }

  /** @param {number} status */
  #fail(status) {
    this.close();
    const error = new PCastError("unauthorized", "The token does not permit the events of streams.", { status });
    this.dispatchEvent(new CustomEvent("failed", { detail: { error } }));
  }

  /** @param {boolean} isOnline */
  #setOnline(isOnline) {
    if (this.#isOnline === isOnline) return;
    this.#isOnline = isOnline;
    this.dispatchEvent(new Event(isOnline ? "online" : "offline"));
  }

  /** @param {{ type: string, data: string }} event */
  #deliver({ type, data }) {
    if (this.#isClosed) return;
    if (type === "missed") this.dispatchEvent(new Event("missed"));
    if (!TYPES.includes(type)) return;
    const { name, streamId = null, publisherId = null, reason = null, timestamp } = JSON.parse(data);
    const detail = { name, streamId, publisherId, reason, time: Date.parse(timestamp) };
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
