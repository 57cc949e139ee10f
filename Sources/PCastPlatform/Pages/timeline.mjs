// The timeline of a game at a platform, gated by the frames that are shown: a part of /pcast.mjs.
// @ts-check

import { PCastError } from "./session.mjs";
import { TimelineCursor } from "./timeline-log.mjs";

/** @typedef {import("./timeline-log.mjs").Delivery} Delivery */

/** The wait before the first reconnect and the longest one, in milliseconds. */
const RETRY = { first: 500, longest: 30_000 };

/**
 * The events of a game, each of which is delivered when the viewer's own video reaches it, and never before
 * (docs/TIMELINE.md). Create it with {@link Viewer.timeline}.
 *
 * Events, each with a {@link Delivery} as `detail`: `added`, `modified`, `deleted`, and `info` for the description of the
 * game. Further events: `connected`, when all past revisions have arrived; `disconnected`; and `error` with a
 * {@link PCastError} as `detail`, after which the timeline reconnects unless the token is not valid.
 */
export class Timeline extends EventTarget {
  #address; #token; #cursor;
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {string | null} */ #log = null;
  /** @type {number | undefined} */ #timer;
  /** @type {Set<(deliveries: Delivery[]) => void>} */ #audience = new Set();
  #goal = Infinity; #attempts = 0; #isClosed = false; #isConnected = false;
  #reconnect = () => this.#open();

  /**
   * @param {object} options
   * @param {string} options.url the platform
   * @param {string} options.league the name of the league
   * @param {string} options.game the name of the game
   * @param {string | null} options.token a token that may view; null for none
   * @param {boolean} [options.spoiler] whether each event is delivered as soon as it is recorded
   */
  constructor({ url, league, game, token, spoiler = false }) {
    super();
    this.league = league;
    this.game = game;
    this.#address = new URL(`/timeline/${encodeURIComponent(league)}/${encodeURIComponent(game)}/changes`, url);
    this.#address.protocol = this.#address.protocol === "http:" ? "ws:" : "wss:";
    this.#token = token;
    this.#cursor = new TimelineCursor(spoiler);
    addEventListener("online", this.#reconnect);
    this.#open();
  }

  /** The events that were delivered, ordered by the times at which they happened: `{ id, at, seq, event }`. */
  get events() { return this.#cursor.events; }

  /** The description of the game that was delivered; null for none. */
  get info() { return this.#cursor.info; }

  /** Whether all past revisions have arrived and the connection is open. */
  get isConnected() { return this.#isConnected; }

  /** Ends the timeline. What was delivered remains. */
  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    removeEventListener("online", this.#reconnect);
    this.#socket?.close();
    this.#socket = null;
  }

  /**
   * Moves to the time of the frame that is shown. The viewer calls it at each frame.
   * @param {number} timecode milliseconds since 1970
   */
  move(timecode) { if (!this.#isClosed) this.#deliver(this.#cursor.move(timecode)); }

  /**
   * Adds a function that receives all deliveries of a moment at once, beginning with those so far.
   * @param {(deliveries: Delivery[]) => void} audience
   * @returns {() => void} a function that removes it
   */
  observe(audience) {
    this.#audience.add(audience);
    audience(this.#cursor.known);
    return () => { this.#audience.delete(audience); };
  }

  #open() {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#socket?.close();
    const address = new URL(this.#address);
    address.searchParams.set("since", `${this.#cursor.newest}`);
    if (this.#log !== null) address.searchParams.set("log", this.#log);
    // A page cannot add header fields to a WebSocket.
    if (this.#token) address.searchParams.set("token", this.#token);
    const socket = this.#socket = new WebSocket(address);
    /** @type {PCastError | null} */
    let refusal = null;
    socket.onmessage = ({ data }) => {
      if (this.#socket !== socket) return;
      try {
        refusal = this.#take(JSON.parse(data)) ?? refusal;
      } catch {
        // A revision is missing, or a message is malformed. The log is requested from its beginning.
        this.#deliver(this.#cursor.startOver());
        this.#log = null;
        socket.close();
      }
    };
    socket.onclose = () => {
      if (this.#socket === socket) this.#lose(refusal ?? new PCastError("unreachable", "The connection ended."));
    };
  }

  /**
   * Handles a message of the platform. Returns an error if it refuses access.
   * @param {any} message
   */
  #take(message) {
    switch (message.type) {
      case "begin":
        // In a cluster, a log may continue another one.
        if (this.#log !== null && this.#log !== message.log && message.from !== this.#cursor.newest)
          this.#deliver(this.#cursor.startOver());
        [this.#log, this.#goal] = [message.log, message.newest];
        break;
      case "changes":
        this.#deliver(this.#cursor.take(message.changes));
        break;
      case "refused":
        return new PCastError(message.status === "not-found" ? "not-playing" : message.status === "unauthorized"
          ? "unauthorized" : "refused", message.reason);
    }
    if (!this.#isConnected && this.#cursor.newest >= this.#goal) {
      [this.#isConnected, this.#attempts] = [true, 0];
      this.dispatchEvent(new Event("connected"));
    }
    return null;
  }

  /** @param {PCastError} error */
  #lose(error) {
    if (this.#isConnected) this.dispatchEvent(new Event("disconnected"));
    [this.#isConnected, this.#socket, this.#goal] = [false, null, Infinity];
    if (error.code === "unauthorized") this.close();
    else {
      const wait = Math.min(RETRY.first * 2 ** this.#attempts, RETRY.longest);
      this.#attempts += 1;
      // The randomness prevents that all viewers reconnect at the same moment.
      this.#timer = setTimeout(this.#reconnect, wait * (0.5 + Math.random() / 2));
    }
    this.dispatchEvent(new CustomEvent("error", { detail: error }));
  }

  /** @param {Delivery[]} deliveries */
  #deliver(deliveries) {
    if (!deliveries.length) return;
    for (const audience of this.#audience) audience(deliveries);
    for (const delivery of deliveries) this.dispatchEvent(new CustomEvent(delivery.type, { detail: delivery }));
  }
}
