// An overlay page over a video element: a part of /pcast.mjs. The messages are those of docs/OVERLAY.md.
// @ts-check

import { followRectangle, scaleVideo } from "./rectangle.mjs";
import { TimelinePages } from "./timeline-page.mjs";

/** @typedef {import("./viewer.mjs").Viewer} Viewer */
/** @typedef {import("./timeline.mjs").Timeline} Timeline */

/** @typedef {Record<string, any>} Metadata */

const VERSION = 1;

/** The minimum interval between two reports of the time during playback, in milliseconds. */
const TIME_INTERVAL = 230;

/** The interval at which the page is asked for a sign of life, and the time after which a warning is raised. */
const KEEP_ALIVE = { interval: 4000, warning: 10_000 };

/** The number of invalid messages after which the page is disconnected. */
const MOST_FAULTS = 16;

/** The names of events that an application cannot send. */
const RESERVED = /^(bridge|app|player|stage|easelive)\./;

/** The reports that a page receives when it connects, in this order. */
const REPLAYED = [
  "app.status", "player.ready", "player.state", "player.time", "player.volume", "player.mute", "player.speed",
  "player.videoscale", "player.controls", "app.language",
];

/**
 * A page over the video, which follows the viewer and controls it. Create it with {@link Viewer.overlay}.
 *
 * Events: `ready` when the page displays its content; `message` with `{ event, metadata }` for events of the page that
 * are not known; `language` with `{ language, available }`; `stage` with `{ controls }` when the user shows or hides the
 * controls; `swipe` with `{ direction }`; `error` with `{ type, message, component }`; `close` with `{ reason }`.
 */
export class Overlay extends EventTarget {
  #viewer; #isController; #origin; #timeline;
  /** @type {MessagePort | null} */ #port = null;
  #abort = new AbortController();
  /** @type {Map<string, Metadata>} */ #reported = new Map();
  #pages = new TimelinePages();
  #isListening = false; #sequence = 0; #received = -1; #epoch = 0; #faults = 0;
  #toldTimeAt = -Infinity; #heardAt = 0; #hasWarned = false;
  /** @type {number | undefined} */ #timer;
  /** @type {(() => void)[]} */ #cleanup = [];

  /**
   * @param {Viewer} viewer
   * @param {object} options
   * @param {string} options.url the address of the page
   * @param {Timeline | null} options.timeline the timeline that the page follows; null for none
   * @param {boolean} options.controller whether the page may control the viewer
   * @param {string} options.language the language of the application
   * @param {string} options.colorScheme the CSS property `color-scheme` of the frame
   */
  constructor(viewer, { url, timeline, controller, language, colorScheme }) {
    super();
    this.#viewer = viewer;
    this.#isController = controller;
    this.#timeline = timeline;
    const address = new URL(url, location.href);
    this.#origin = address.origin;
    // The page then uses the messages of its parent in place of a WebSocket.
    const fragment = new URLSearchParams(address.hash.slice(1));
    fragment.set("bridge", "parent");
    address.hash = fragment.toString();
    /** The element of the page. */
    this.element = document.createElement("iframe");
    Object.assign(this.element, { src: address.href, title: "Overlay", referrerPolicy: "no-referrer" });
    Object.assign(this.element.style, { border: "0", background: "transparent", colorScheme });
    addEventListener("message", (event) => this.#connect(event), { signal: this.#abort.signal });
    this.#report("app.status", { status: "enabled" });
    this.#report("player.speed", { speed: 1 });
    this.#report("player.videoscale", { scaleX: 1, scaleY: 1, pivotX: 0.5, pivotY: 0.5, scaleDuration: 0 });
    this.#report("app.language", { language });
    this.#followViewer();
    if (timeline) this.#followTimeline(timeline);
    this.#cleanup.push(followRectangle(viewer.video, this.element));
    this.#timer = setInterval(() => this.#checkLiveness(), KEEP_ALIVE.interval);
  }

  // MARK: The application

  /**
   * Sends an event of the application to the page.
   * @param {string} event a name of letters, digits, `.`, `-` and `_`, which does not begin like the known ones
   * @param {Metadata} [metadata]
   * @throws {TypeError} if the name is not valid
   */
  send(event, metadata = {}) {
    if (!/^[\w.-]{1,64}$/.test(event) || RESERVED.test(event)) throw new TypeError(`“${event}” is not valid as an event.`);
    this.#send(event, metadata);
  }

  /**
   * Shows or hides the page.
   * @param {boolean} isVisible
   */
  setVisible(isVisible) { this.#report("app.status", { status: isVisible ? "enabled" : "hidden" }); }

  /**
   * Sets the language of the page.
   * @param {string} language a language tag (BCP 47)
   */
  setLanguage(language) { this.#report("app.language", { language }); }

  /** Removes the page, and restores the video. */
  close() { this.#end(4002, "the overlay was destroyed"); }

  /**
   * @param {number} code
   * @param {string} reason
   */
  #end(code, reason) {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort();
    clearInterval(this.#timer);
    for (const each of this.#cleanup) each();
    scaleVideo(this.#viewer.video, null);
    this.#port?.postMessage({ code, reason });
    this.#port?.close();
    this.element.remove();
    this.#emit("close", { reason });
  }

  // MARK: The viewer

  #followViewer() {
    const viewer = this.#viewer;
    const { signal } = this.#abort;
    const state = () => this.#reportState();
    const audio = () => {
      this.#report("player.volume", { volume: Math.round(viewer.volume * 100) });
      this.#report("player.mute", { mute: viewer.muted });
    };
    for (const type of ["statechange", "firstframe"]) viewer.addEventListener(type, state, { signal });
    for (const type of ["play", "pause", "playing", "waiting"]) viewer.video.addEventListener(type, state, { signal });
    viewer.addEventListener("volumechange", audio, { signal });
    // A new session is a new item: its times belong to another epoch.
    viewer.addEventListener("subscribed", () => { this.#epoch += 1; }, { signal });
    this.#cleanup.push(viewer.observeFrames(({ timecode }) => this.#reportTime(timecode)));
    audio();
    state();
    if (viewer.frame) this.#reportTime(viewer.frame.timecode);
  }

  #reportState() {
    const { state, video } = this.#viewer;
    const isOver = ["ended", "failed", "stopped"].includes(state);
    const isFlowing = state === "live" && this.#viewer.hasFrame;
    if (isFlowing && !this.#reported.has("player.ready")) this.#report("player.ready", {});
    this.#report("player.state", { state: isOver ? "stopped" : video.paused ? "paused" : isFlowing ? "playing" : "buffering" });
  }

  /** @param {number} timecode */
  #reportTime(timecode) {
    const now = performance.now();
    if (now - this.#toldTimeAt < TIME_INTERVAL) return;
    this.#toldTimeAt = now;
    this.#reportState();
    const range = this.#viewer.seekableRange;
    const ends = range && { initialTimecode: Math.round(range.start), maxTimecode: Math.round(range.end) };
    this.#report("player.time", { timecode: Math.round(timecode), ...ends });
  }

  // MARK: The timeline

  /** @param {Timeline} timeline */
  #followTimeline(timeline) {
    this.#cleanup.push(timeline.observe((deliveries) => {
      for (const { event, metadata } of this.#pages.take(deliveries)) this.#send(event, metadata);
    }));
  }

  // MARK: The page

  /**
   * Connects the page, which has sent a message that it listens. A page that is loaded again connects again.
   * @param {MessageEvent} event
   */
  #connect(event) {
    if (event.source !== this.element.contentWindow || event.origin !== this.#origin) return;
    if (event.data?.type !== "pcast-bridge") return;
    if (event.data.version !== VERSION) return this.#emitError("warning", `The page has version ${event.data.version}.`);
    this.#port?.close();
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    [this.#isListening, this.#sequence, this.#received, this.#faults] = [false, 0, -1, 0];
    this.#heardAt = performance.now();
    port1.onmessage = ({ data }) => { if (this.#port === port1) this.#receive(data); };
    this.element.contentWindow?.postMessage({ type: "pcast-bridge", version: VERSION }, this.#origin, [port2]);
  }

  /**
   * Sends a message that describes the state, unless it repeats the last one. It is kept for a page that connects later.
   * @param {string} event
   * @param {Metadata} metadata
   */
  #report(event, metadata) {
    const last = this.#reported.get(event);
    if (last && JSON.stringify(last) === JSON.stringify(metadata)) return;
    this.#reported.set(event, metadata);
    this.#send(event, metadata);
  }

  /**
   * @param {string} event
   * @param {Metadata} metadata
   */
  #send(event, metadata) {
    if (!this.#isListening) return;
    this.#sequence += 1;
    this.#port?.postMessage(JSON.stringify({ v: VERSION, event, metadata, seq: this.#sequence, epoch: this.#epoch }));
  }

  /**
   * Handles a message from the page.
   * @param {unknown} text
   */
  #receive(text) {
    let message;
    try { message = JSON.parse(/** @type {string} */ (text)); } catch { return this.#fault("it is not JSON"); }
    const { v, event, metadata = {}, seq } = message ?? {};
    if (v !== VERSION || typeof event !== "string" || !/^[\w.-]{1,64}$/.test(event)) return this.#fault("it is no message");
    if (typeof metadata !== "object" || metadata === null || Array.isArray(metadata)) return this.#fault("metadata");
    if (!Number.isInteger(seq) || seq <= this.#received) return this.#fault(`message ${seq} again`);
    this.#received = seq;
    this.#heardAt = performance.now();
    this.#hasWarned = false;
    const isHarmless = ["bridge.ready", "app.loading", "app.ready", "app.keepalive"].includes(event);
    if (!isHarmless && !this.#isController) return this.#fault("a page without control may not do that");
    if (!this.#perform(event, metadata)) this.#fault(`${event} has a field that is missing or not valid`);
  }

  /** @param {string} reason */
  #fault(reason) {
    this.#faults += 1;
    this.#send("bridge.error", { reason });
    if (this.#faults <= 3) this.#emitError("warning", reason, "bridgeConnectivity");
    if (this.#faults >= MOST_FAULTS) this.#end(4005, "too many messages could not be read");
  }

  #listen() {
    if (this.#isListening) return this.#fault("bridge.ready again");
    this.#isListening = true;
    this.#send("bridge.welcome", { controller: this.#isController });
    for (const event of REPLAYED) {
      const metadata = this.#reported.get(event);
      if (metadata) this.#send(event, metadata);
    }
    if (!this.#timeline) return;
    const { event, metadata } = this.#pages.snapshot;
    this.#send(event, metadata);
  }

  /**
   * Carries out a request of the page. Returns false if a field is missing or not valid.
   * @param {string} event
   * @param {Metadata} metadata
   * @returns {boolean}
   */
  #perform(event, metadata) {
    const viewer = this.#viewer;
    switch (event) {
      case "bridge.ready": this.#listen(); return true;
      case "app.loading": case "app.keepalive": return true;
      case "app.ready": this.#emit("ready", {}); return true;
      case "app.status":
        if (!["enabled", "hidden", "disabled"].includes(metadata.status)) return false;
        this.#report(event, metadata);
        if (metadata.status === "disabled") this.#end(4001, "the overlay was disabled");
        return true;
      case "app.error":
        if (!["fatal", "warning"].includes(metadata.type) || typeof metadata.message !== "string") return false;
        this.#emitError(metadata.type, metadata.message, "viewConnectivity");
        if (metadata.type === "fatal") this.#end(4002, metadata.message);
        return true;
      case "app.language":
        if (!/^[A-Za-z0-9-]{1,35}$/.test(metadata.language)) return false;
        this.#reported.set(event, { language: metadata.language });
        this.#emit("language", { language: metadata.language, available: metadata.available ?? [] });
        return true;
      case "stage.clicked":
        if (!["visible", "hidden"].includes(metadata.controls)) return false;
        this.#emit("stage", metadata);
        this.#report("player.controls", { controls: metadata.controls });
        return true;
      case "stage.swipe":
        if (!["left", "right", "up", "down"].includes(metadata.direction)) return false;
        this.#emit("swipe", metadata);
        return true;
      case "player.time":
        if (!Number.isInteger(metadata.timecode)) return false;
        try {
          viewer.seek(metadata.timecode);
        } catch {
          this.#warn("the seek failed: the stream has no window");
        }
        return true;
      case "player.speed":
        if (!Number.isFinite(metadata.speed)) return false;
        if (metadata.speed !== 1) this.#warn("a live stream is played at its own speed");
        this.#send("player.speed", { speed: 1 });
        return true;
      case "player.state":
        if (!["playing", "paused", "stopped", "seeking", "buffering"].includes(metadata.state)) return false;
        if (metadata.state === "playing") viewer.play();
        if (metadata.state === "paused") viewer.video.pause();
        if (metadata.state === "stopped") viewer.stop();
        return true;
      case "player.volume":
        if (!Number.isInteger(metadata.volume) || metadata.volume < 0 || metadata.volume > 100) return false;
        viewer.volume = metadata.volume / 100;
        return true;
      case "player.mute":
        if (typeof metadata.mute !== "boolean") return false;
        viewer.muted = metadata.mute;
        return true;
      case "player.videoscale":
        if (!scaleVideo(viewer.video, metadata)) return false;
        this.#report(event, metadata);
        return true;
      default:
        this.#emit("message", { event, metadata });
        return true;
    }
  }

  /** @param {string} reason */
  #warn(reason) {
    this.#send("easelive.error", { type: "warning", message: reason, component: "playerConnectivity" });
    this.#emitError("warning", reason, "playerConnectivity");
  }

  #checkLiveness() {
    if (!this.#isListening) return;
    this.#send("bridge.keepalive", {});
    if (this.#hasWarned || performance.now() - this.#heardAt < KEEP_ALIVE.warning) return;
    this.#hasWarned = true;
    this.#emitError("warning", "The page gives no sign of life.", "bridgeConnectivity");
  }

  /**
   * @param {"fatal" | "warning"} type
   * @param {string} message
   * @param {string} [component]
   */
  #emitError(type, message, component = "bridgeConnectivity") { this.#emit("error", { type, message, component }); }

  /**
   * @param {string} type
   * @param {Metadata} detail
   */
  #emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
}
