// A session with a platform by the PCast protocol, for rooms and channels: a part of /pcast.mjs.
// @ts-check

import { Channel } from "./channels.mjs";
import { Room } from "./rooms.mjs";
import { PCastError } from "./session.mjs";
import { accepted, decode, encode, isKnown } from "./wire.mjs";

/** @typedef {import("./rooms.mjs").RoomInfo} RoomInfo */

/**
 * A token, a function that returns one, or null for none. A function is called for each connection.
 * @typedef {string | null | (() => string | null | Promise<string | null>)} TokenSource
 */

/**
 * The state of a client:
 *
 * - `connecting`: it has no session yet
 * - `online`: requests are answered
 * - `offline`: the connection is lost; the client connects again by itself
 * - `failed`, `closed`: it is over
 *
 * @typedef {"connecting" | "online" | "offline" | "failed" | "closed"} ClientState
 */

/**
 * @typedef {object} ConnectOptions
 * @property {string} [url] the platform; the origin of this module by default
 * @property {TokenSource} [token] a token for a session; not needed on a platform on loopback
 */

/**
 * An object that follows a client.
 * @typedef {object} ClientObserver
 * @property {(type: string, event: any) => void} received is called with each event of the platform
 * @property {(isNew: boolean) => void} online is called when a session begins, or is resumed, before other requests
 * @property {() => void} offline is called when the connection is lost
 * @property {() => void} over is called when the session has ended for good
 */

/** The times in milliseconds: for an answer, for a session that a request waits for, and between two attempts. */
const TIMES = { answer: 18_000, session: 20_000, firstAttempt: 500, longestPause: 30_000 };

/** The maximum number of requests without an answer, which is that of the platform. */
const MAXIMUM_REQUESTS = 64;

/**
 * A session with a platform, in which a page enters rooms and channels. Create it with `connect()`.
 *
 * A lost connection is restored by itself, with the same session if the platform still has it. Rooms are then entered
 * again.
 *
 * Events, as `CustomEvent`s with these details:
 *
 * - `statechange` `{ state }`
 * - `failed` `{ error }`: the platform refuses the token
 */
export class Client extends EventTarget {
  #url; #token;
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {ClientState} */ #state = "connecting";
  /** @type {string | null} */ #sessionId = null;
  /** @type {Map<string, { type: string, resolve: (message: any) => void, reject: (error: PCastError) => void }>} */
  #requests = new Map();
  /** @type {Set<ClientObserver>} */ #observers = new Set();
  /** @type {Set<(error: PCastError | null) => void>} */ #waiting = new Set();
  /** @type {number | undefined} */ #timer;
  #abort = new AbortController();
  #attempts = 0; #lastRequest = 0;

  /** @param {ConnectOptions} options */
  constructor({ url, token = null } = {}) {
    super();
    this.#url = new URL(url ?? import.meta.url, location.href).origin;
    this.#token = token;
    const { signal } = this.#abort;
    addEventListener("online", () => { if (this.#attempts > 0) this.#open(); }, { signal });
    // The platform learns that the page is left, and a page that comes back from the history connects again.
    addEventListener("pagehide", () => this.#socket?.close(1000, "the page is left"), { signal });
    addEventListener("pageshow", (event) => { if (event.persisted) this.#open(); }, { signal });
    // Events come after the caller has added its listeners.
    queueMicrotask(() => this.#open());
  }

  /** The platform. */
  get url() { return this.#url; }

  /** The state. */
  get state() { return this.#state; }

  /** The identifier of the session, by which other members know this client; null before there is one. */
  get sessionId() { return this.#sessionId; }

  /**
   * Returns a channel by its alias, or by `{ id }`.
   * @param {string | { id: string }} name
   */
  channel(name) { return new Channel(this.room(name)); }

  /**
   * Returns a room by its alias, or by `{ id }`.
   * @param {string | { id: string }} name
   */
  room(name) { return new Room(this, typeof name === "string" ? { alias: name } : name); }

  /**
   * Creates a room that exists until it is empty for an hour. If there is one with the alias, it is returned.
   * @param {{ alias?: string, name?: string, description?: string, type?: import("./rooms.mjs").RoomType }} options
   * @returns {Promise<RoomInfo>}
   * @throws {PCastError}
   */
  async createRoom({ alias, name = alias ?? "room", description = "", type = "multi-party-chat" } = {}) {
    const response = await this.request("chat.CreateRoom", { room: { alias: alias ?? "", name, description, type } });
    if (response.status === "already-exists" && response.room) return response.room;
    return accepted(response, "CreateRoom").room;
  }

  /** Ends the session. The client leaves its rooms, and its streams end. */
  close() { this.#finish("closed", new PCastError("gone", "The client is closed.")); }

  /**
   * Sends a request when there is a session, and returns the response. The parts of this module use it.
   * @param {string} type
   * @param {any} message
   * @returns {Promise<any>}
   * @throws {PCastError} if the platform does not answer
   */
  async request(type, message) {
    await this.#online();
    return this.requestNow(type, message);
  }

  /**
   * Sends a request on the present connection, and returns the response.
   * @param {string} type
   * @param {any} message
   * @returns {Promise<any>}
   * @throws {PCastError} if the platform does not answer
   */
  requestNow(type, message) {
    return new Promise((resolve, reject) => {
      if (this.#socket?.readyState !== WebSocket.OPEN) {
        return reject(new PCastError("unreachable", "The platform cannot be reached."));
      }
      if (this.#requests.size >= MAXIMUM_REQUESTS) {
        return reject(new PCastError("rate-limited", "Too many requests wait for an answer.", { status: 429 }));
      }
      const requestId = `${++this.#lastRequest}`;
      const end = () => {
        clearTimeout(timer);
        this.#requests.delete(requestId);
      };
      const timer = setTimeout(() => {
        end();
        reject(new PCastError("unreachable", "The platform does not answer."));
      }, TIMES.answer);
      this.#requests.set(requestId, {
        type: `${type}Response`,
        resolve: (response) => { end(); resolve(response); },
        reject: (error) => { end(); reject(error); },
      });
      const payload = encode(type, message);
      this.#socket.send(/** @type {any} */ (encode("mq.Request", {
        sessionId: this.#sessionId, requestId, type, payload,
      })));
    });
  }

  /**
   * Lets an object follow the session.
   * @param {ClientObserver} observer
   * @returns {() => void} a function that ends it
   */
  observe(observer) {
    this.#observers.add(observer);
    return () => { this.#observers.delete(observer); };
  }

  get #isOver() { return this.#state === "failed" || this.#state === "closed"; }

  /** Resolves when there is a session. @returns {Promise<void>} */
  #online() {
    if (this.#state === "online") return Promise.resolve();
    if (this.#isOver) return Promise.reject(new PCastError("gone", "The session has ended: connect again."));
    return new Promise((resolve, reject) => {
      const settle = (/** @type {PCastError | null} */ error) => {
        clearTimeout(timer);
        this.#waiting.delete(settle);
        if (error) reject(error); else resolve();
      };
      const timer = setTimeout(
        () => settle(new PCastError("unreachable", "The platform cannot be reached.")), TIMES.session);
      this.#waiting.add(settle);
    });
  }

  #open() {
    clearTimeout(this.#timer);
    if (this.#isOver || this.#socket) return;
    const address = new URL("/ws", this.#url);
    address.protocol = address.protocol === "http:" ? "ws:" : "wss:";
    const socket = this.#socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    const isCurrent = () => this.#socket === socket;
    socket.onopen = () => { if (isCurrent()) this.#authenticate(); };
    socket.onmessage = ({ data }) => {
      if (!isCurrent()) return;
      try {
        this.#take(new Uint8Array(data));
      } catch {
        socket.close(4000, "a message cannot be read");
      }
    };
    socket.onclose = () => { if (isCurrent()) this.#lose(); };
  }

  async #authenticate() {
    const socket = this.#socket;
    try {
      const token = typeof this.#token === "function" ? await this.#token() : this.#token;
      if (this.#socket !== socket) return;
      const response = await this.requestNow("pcast.Authenticate", {
        apiVersion: 5, clientVersion: "pcast.mjs", deviceId: "", platform: "browser", platformVersion: "",
        authenticationToken: token ?? "", sessionId: this.#sessionId,
      });
      if (this.#socket !== socket) return;
      const { sessionId } = accepted(response, "Authenticate");
      const isNew = sessionId !== this.#sessionId;
      [this.#sessionId, this.#attempts] = [sessionId, 0];
      this.#setState("online");
      for (const observer of [...this.#observers]) observer.online(isNew);
      for (const settle of [...this.#waiting]) settle(null);
    } catch (problem) {
      if (this.#socket !== socket) return;
      if (problem instanceof PCastError && problem.code === "unauthorized") return this.#finish("failed", problem);
      socket?.close();
    }
  }

  /** @param {Uint8Array} bytes */
  #take(bytes) {
    const { requestId, type, payload } = decode("mq.Response", bytes);
    const request = requestId ? this.#requests.get(requestId) : undefined;
    if (!request) {
      if (!requestId && isKnown(type)) {
        const event = decode(type, payload ?? new Uint8Array());
        for (const observer of [...this.#observers]) observer.received(type, event);
      }
      return;
    }
    if (type === request.type) return request.resolve(decode(type, payload ?? new Uint8Array()));
    const reason = type === "mq.Error" ? decode(type, payload).reason : null;
    request.reject(new PCastError("refused", `The platform cannot read the request: ${reason ?? type}.`));
  }

  #lose() {
    this.#socket = null;
    for (const { reject } of [...this.#requests.values()]) {
      reject(new PCastError("unreachable", "The connection was lost."));
    }
    if (this.#isOver) return;
    const wasOnline = this.#state === "online";
    if (wasOnline) this.#setState("offline");
    const pause = Math.min(TIMES.firstAttempt * 2 ** this.#attempts, TIMES.longestPause);
    this.#attempts += 1;
    // The randomness prevents that all clients connect at the same moment.
    this.#timer = setTimeout(() => this.#open(), pause * (0.5 + Math.random() / 2));
    if (wasOnline) for (const observer of [...this.#observers]) observer.offline();
  }

  /**
   * @param {"failed" | "closed"} state
   * @param {PCastError} error
   */
  #finish(state, error) {
    if (this.#isOver) return;
    clearTimeout(this.#timer);
    this.#abort.abort();
    this.#setState(state);
    this.#socket?.close(1000);
    this.#lose();
    for (const settle of [...this.#waiting]) settle(error);
    for (const observer of [...this.#observers]) observer.over();
    if (state === "failed") this.dispatchEvent(new CustomEvent("failed", { detail: { error } }));
  }

  /** @param {ClientState} state */
  #setState(state) {
    if (this.#state === state) return;
    this.#state = state;
    this.dispatchEvent(new CustomEvent("statechange", { detail: { state } }));
  }
}
