// A viewer of a stream: a part of /pcast.mjs.
// @ts-check

import { HLSPlayer } from "./hls.mjs";
import { Overlay } from "./overlay.mjs";
import { Playhead } from "./playhead.mjs";
import { PCastError, isFirefox, reportConnectionState, requestStereo } from "./session.mjs";
import { StatisticsReader } from "./statistics.mjs";
import { TimeShift } from "./time-shift.mjs";
import { Timeline } from "./timeline.mjs";
import { makeViewerSession } from "./viewer-session.mjs";

/** @typedef {import("./playhead.mjs").ShownFrame} ShownFrame */
/** @typedef {import("./session.mjs").DataQuality} DataQuality */
/** @typedef {import("./session.mjs").Session} Session */
/** @typedef {import("./time-shift.mjs").TimeShiftState} TimeShiftState */

/**
 * The state of a viewer:
 *
 * - `connecting`: it asks the platform, or waits for the connection
 * - `live`: media arrives
 * - `interrupted`: the path is lost; the connection may come back by itself
 * - `waiting`: the attempt failed; the next one follows by itself
 * - `ended`, `failed`, `stopped`: it is over; `retry()` begins again
 *
 * @typedef {"connecting" | "live" | "interrupted" | "waiting" | "ended" | "failed" | "stopped"} ViewerState
 */

/**
 * @typedef {object} SubscribeOptions
 * @property {string} [url] the platform; the origin of this module by default
 * @property {string | null} [stream] the identifier of the stream; not needed if the token names it
 * @property {string | null} [token] a token that may view; not needed on a platform on loopback
 * @property {HTMLVideoElement | null} [video] the element; a new one by default, which the page inserts
 * @property {boolean} [retries] whether it tries again by itself after a failure; true by default
 * @property {Transport} [transport] how the stream is played; `auto` by default
 * @property {number | null} [playoutDelay] the time from capture at which frames are shown by HLS, in milliseconds
 * @property {"presenter" | "most-recent" | "high-availability" | null} [awaits] connects to a channel, whose alias is
 *   `stream`, also before anybody presents; `presenter`, or the selection among presenters that the channel must have
 */

/**
 * How a stream is played: by WebRTC, by HLS, or by HLS if WebRTC cannot connect (`auto`). HLS needs a stream that is
 * packaged, and has a delay of about a second.
 * @typedef {"auto" | "webrtc" | "hls"} Transport
 */

/**
 * @typedef {object} TimelineOptions
 * @property {string} league the name of the league
 * @property {string} game the name of the game
 * @property {string | null} [token] a token that may view the timeline; that of the viewer by default
 * @property {boolean} [spoiler] whether events are delivered as soon as they are recorded; false by default
 */

/**
 * @typedef {object} OverlayOptions
 * @property {string} [url] the address of the page; the platform's example page by default
 * @property {Timeline | null} [timeline] the timeline that the page follows
 * @property {boolean} [controller] whether the page may control the viewer; true by default
 * @property {string} [language] the language of the application, `en` by default
 * @property {string} [colorScheme] the `color-scheme` of the page. If it differs from that of the page's document,
 *   browsers draw a ground below the page. `dark` for the example page, and `normal` for others by default.
 */

const BOTH = /** @type {const} */ (["video", "audio"]);

/**
 * A viewer of a stream. Create it with `subscribe()`.
 *
 * Events, as `CustomEvent`s with these details:
 *
 * - `statechange` `{ state }`
 * - `subscribed` `{ streamId }`: the platform has accepted the session
 * - `online`, `offline`: media arrives; the path is lost
 * - `transport` `{ transport, method }`: the stream is played by `webrtc` or `hls`; the method is that of
 *   {@link HLSPlayer.method}, or null for WebRTC
 * - `firstframe` `{ milliseconds }`: the first frame of a session is shown, so many milliseconds after its beginning
 * - `autoplay` `{ isPlaying, muted }`: the video was started; the browser may require a gesture for audio
 * - `dimensions` `{ width, height }`
 * - `volumechange` `{ muted, volume }`
 * - `timeshift` `{ state, error }`: the {@link TimeShiftState}, and the error after which the viewer returned to real time
 * - `dataquality` {@link DataQuality}
 * - `captions` `{ timestamp, cues: [{ captureTime, duration, text }] }`: cues that arrive, usually before their frames.
 *   All times are in milliseconds; capture times and the timestamp of the event are by the platform's clock
 * - `partial` `{ error, missing }`: the browser cannot receive some kinds of media, and plays the rest
 * - `waiting` `{ error, delay }`: the attempt failed; the next one follows after `delay` milliseconds
 * - `failed` `{ error }`: the stream cannot be viewed
 * - `ended` `{ reason }`: the stream has ended, with the reason of the protocol, or null
 */
export class Viewer extends EventTarget {
  #url;
  /** @type {string | null} */ #stream;
  /** @type {string | null} */ #token;
  /** @type {boolean} */ #retries;
  #abort = new AbortController();
  /** @type {Session | null} */ #session = null;
  /** @type {Session | null} The session of the first attempt, whose offer was sent before. */ #first;
  /** @type {HLSPlayer | null} The player of a stream by HLS. */ #player = null;
  /** @type {TimeShift} The playback of the window of a stream by WebRTC. */ #shift;
  /** @type {TimeShiftState} */ #timeShift = "live";
  /** @type {Transport} */ #transport; /** @type {number | null} */ #playoutDelay; /** @type {string | null} */ #awaits;
  /** @type {MediaStream | null} */ #media = null;
  /** @type {StatisticsReader | null} */ #statistics = null;
  /** @type {Playhead} */ #playhead;
  /** @type {DataQuality | null} */ #quality = null;
  /** @type {ViewerState} */ #state = "connecting";
  /** @type {number | undefined} */ #timer;
  /** @type {string | null} */ #lastReason = null;
  /** @type {readonly ("video" | "audio")[]} The kinds of media to request. */ #kinds = BOTH;
  /** @type {Set<(frame: ShownFrame) => void>} */ #frameObservers = new Set();
  /** @type {Set<{ close(): void }>} */ #companions = new Set();
  /** The time of capture of the newest frame minus the time of this page, in milliseconds. */
  #edge = performance.timeOrigin;
  #began = 0; #attempts = 0; #isReturning = false; #isApart = false; #awaitsFrame = true; #hasFrame = false;

  /**
   * @param {SubscribeOptions} options
   * @param {Session | null} [session] a session of the same stream and token for the first attempt, whose offer the page
   *   has sent before this module had arrived
   */
  constructor({
    url, stream = null, token = null, video = null, retries = true, transport = "auto", playoutDelay = null,
    awaits = null,
  }, session = null) {
    super();
    [this.#first, this.#playoutDelay, this.#awaits] = [session, playoutDelay, awaits];
    this.#url = new URL(url ?? import.meta.url, location.href).origin;
    [this.#stream, this.#token, this.#retries, this.#transport] = [stream, token, retries, transport];
    /** The element that shows the stream. */
    this.video = video ?? document.createElement("video");
    this.video.playsInline = true;
    this.#playhead = new Playhead(this.video, (frame) => this.#noteFrame(frame));
    this.#shift = new TimeShift(this.video, this.#playhead, (state, error) => this.#noteTimeShift(state, error));
    const { signal } = this.#abort;
    this.video.addEventListener("volumechange", () => {
      this.#emit("volumechange", { muted: this.muted, volume: this.volume });
    }, { signal });
    this.video.addEventListener("resize", () => {
      if (this.video.videoWidth) this.#emit("dimensions", { width: this.video.videoWidth, height: this.video.videoHeight });
    }, { signal });
    addEventListener("online", () => { if (this.#attempts > 0) this.#join(); }, { signal });
    // The platform learns that the page is left, and a page that comes back from the history joins again.
    addEventListener("pagehide", () => { if (!this.isOver) this.#leave(); }, { signal });
    addEventListener("pageshow", (event) => { if (event.persisted && !this.isOver) this.#join(); }, { signal });
    // Events of the first attempt come after the caller has added its listeners.
    queueMicrotask(() => { if (!this.isOver) this.#join(); });
  }

  // MARK: State

  /** The state. */
  get state() { return this.#state; }

  /** Whether the viewer has ended, failed or was stopped. */
  get isOver() { return ["ended", "failed", "stopped"].includes(this.#state); }

  /** How the stream is played. @returns {"webrtc" | "hls"} */
  get transport() { return this.#player ? "hls" : "webrtc"; }

  /** The state of the time shift. */
  get timeShift() { return this.#timeShift; }

  /**
   * The window in which the viewer can seek, in milliseconds since 1970; null if the stream has none, or if it is not
   * known yet.
   * @returns {{ start: number, end: number } | null}
   */
  get seekableRange() {
    const window = this.#session?.window;
    if (!window || !HLSPlayer.method || this.#state !== "live") return this.#player?.window ?? null;
    const end = performance.now() + this.#edge;
    const start = Math.max(window.start, end - window.duration, this.#shift.player?.window?.start ?? 0);
    return end > start ? { start, end } : null;
  }

  /** The platform. */
  get url() { return this.#url; }

  /** The identifier of the session's own stream; null before `subscribed`. */
  get streamId() { return this.#session?.streamID ?? null; }

  /** The data quality; null if it is not known. */
  get quality() { return this.#quality; }

  /** The kinds of media that the browser cannot receive, or does not receive; see `partial`. */
  get missing() { return BOTH.filter((kind) => !this.#kinds.includes(kind)); }

  /** The size of the frames in pixels; null before the first one. */
  get dimensions() {
    const { videoWidth: width, videoHeight: height } = this.video;
    return width ? { width, height } : null;
  }

  /** The frame that is shown, with the time at which it was captured; null if there is none or its time is not known. */
  get frame() { return this.#hasFrame ? this.#playhead.frame : null; }

  /** Whether a frame of this session is shown. */
  get hasFrame() { return this.#hasFrame; }

  /** Whether the audio is muted. */
  get muted() { return this.video.muted; }
  set muted(isMuted) { this.video.muted = isMuted; }

  /** The volume, 0 to 1. */
  get volume() { return this.video.volume; }
  set volume(volume) { this.video.volume = volume; }

  // MARK: Use

  /**
   * Resolves when the first frame is shown; for a stream without video, when media arrives. It rejects with a
   * {@link PCastError} if the viewer is over before that.
   * @returns {Promise<void>}
   */
  ready() {
    return new Promise((resolve, reject) => {
      const abort = new AbortController();
      const check = (/** @type {Event | null} */ event) => {
        const isFlowing = this.#hasFrame || (this.#state === "live" && !this.#media?.getVideoTracks().length);
        if (!isFlowing && !this.isOver) return;
        abort.abort();
        if (isFlowing) return resolve();
        const { error, reason = null } = /** @type {CustomEvent | null} */ (event)?.detail ?? {};
        reject(error ?? new PCastError("gone", `The stream has ended: ${reason ?? this.#state}.`, { reason }));
      };
      for (const type of ["firstframe", "online", "ended", "failed", "stopped"]) {
        this.addEventListener(type, check, { signal: abort.signal });
      }
      check(null);
    });
  }

  /**
   * Plays the video. If the browser does not permit audio without a gesture of the user, the video is muted.
   * @returns {Promise<void>}
   */
  async play() {
    let isPlaying = true;
    try {
      await this.video.play();
    } catch (error) {
      // Another call of load() or pause() may have interrupted it, which needs no reaction.
      if (/** @type {Error} */ (error).name === "NotAllowedError" && !this.video.muted) {
        this.video.muted = true;
        return this.play();
      }
      isPlaying = !this.video.paused;
    }
    this.#emit("autoplay", { isPlaying, muted: this.muted });
  }

  /**
   * Shows the frame that was captured at a time, and plays from there by HLS. The time is clamped to the window. While the
   * video is paused, it stays paused.
   * @param {number} timecode in milliseconds since 1970
   * @throws {PCastError} if the stream has no window
   */
  seek(timecode) {
    const range = this.seekableRange;
    if (!range || !Number.isFinite(timecode)) {
      throw new PCastError("unsupported", "The stream has no window in which this browser can seek.");
    }
    const target = Math.min(Math.max(timecode, range.start), range.end);
    const uri = this.#session?.window?.uri;
    if (uri) {
      this.#shift.seek(uri, target, () => this.play());
      return;
    }
    this.#noteTimeShift("seeking", null);
    if (!this.#player?.isShifted || !this.#player.seek(target)) this.#joinByHLS(null, target);
  }

  /** Returns to real time, or to the end of a stream by HLS. It has no effect if the time is not shifted. */
  seekToLive() {
    if (this.#timeShift === "live") return;
    if (!this.#player) return this.#shift.end();
    this.#joinByHLS(null);
    this.#noteTimeShift("live", null);
  }

  /** Ends the viewer. Its timelines and overlays end, too. */
  stop() {
    if (this.#state === "stopped") return;
    this.#leave();
    this.#first?.close();
    for (const companion of this.#companions) companion.close();
    this.#companions.clear();
    this.#playhead.stop();
    this.#abort.abort();
    this.video.srcObject = null;
    this.#setState("stopped");
    this.#emit("stopped", {});
  }

  /** Joins at once, also after an end or a failure, with all kinds of media. It has no effect after `stop()`. */
  retry() {
    if (this.#state === "stopped") return;
    [this.#attempts, this.#kinds, this.#isApart] = [0, BOTH, false];
    this.#join();
  }

  /**
   * Returns the frame that is shown as an image.
   * @param {{ type?: string, quality?: number }} options the media type, `image/png` by default, and the quality of
   *   lossy types, 0 to 1
   * @returns {Promise<Blob>}
   * @throws {PCastError} if no frame is shown
   */
  async screenshot({ type = "image/png", quality } = {}) {
    const { videoWidth: width, videoHeight: height } = this.video;
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    if (width) canvas.getContext("2d")?.drawImage(this.video, 0, 0, width, height);
    /** @type {Blob | null} */
    const blob = width ? await new Promise((resolve) => canvas.toBlob(resolve, type, quality)) : null;
    if (!blob) throw new PCastError("failed", "There is no frame: take a screenshot after “firstframe”.");
    return blob;
  }

  /** Returns the statistics; null while no media arrives. */
  async statistics() { return (await this.#statistics?.viewer()) ?? null; }

  /**
   * Follows the timeline of a game. Its events are delivered when the video reaches them.
   * @param {TimelineOptions} options
   * @returns {Timeline}
   */
  timeline({ league, game, token = this.#token, spoiler = false }) {
    const timeline = new Timeline({ url: this.#url, league, game, token, spoiler });
    const stop = this.observeFrames(({ timecode }) => timeline.move(timecode));
    if (this.frame) timeline.move(this.frame.timecode);
    this.#companions.add({ close() { stop(); timeline.close(); } });
    return timeline;
  }

  /**
   * Puts an overlay page over the video.
   * @param {OverlayOptions} options all are optional
   * @returns {Overlay}
   */
  overlay({ url, timeline = null, controller = true, language = "en", colorScheme } = {}) {
    const overlay = new Overlay(this, {
      url: url ?? `${this.#url}/overlay/?transparent`, timeline, controller, language,
      colorScheme: colorScheme ?? (url === undefined ? "dark" : "normal"),
    });
    this.#companions.add(overlay);
    overlay.addEventListener("close", () => this.#companions.delete(overlay));
    return overlay;
  }

  /**
   * Adds a function that receives each frame that is shown, before the page is painted with it. The first frames of a
   * session are left out, until their time is known.
   * @param {(frame: ShownFrame) => void} observer
   * @returns {() => void} a function that removes it
   */
  observeFrames(observer) {
    this.#frameObservers.add(observer);
    this.#playhead.isFollowed = true;
    return () => {
      this.#frameObservers.delete(observer);
      this.#playhead.isFollowed = this.#frameObservers.size > 0;
    };
  }

  // MARK: Joining

  async #join() {
    this.#leave();
    this.#setState("connecting");
    this.#began = performance.now();
    if (this.#transport === "hls") return this.#joinByHLS(null);
    this.#awaitsFrame = true;
    const session = this.#first ?? makeViewerSession({
      url: this.#url, stream: this.#stream, token: this.#token, kinds: this.#kinds, isApart: this.#isApart,
      awaits: this.#awaits,
    });
    this.#first = null;
    const { connection } = session;
    const isCurrent = () => this.#session === session;
    const media = new MediaStream();
    const receiver = connection.getReceivers().find(({ track }) => track.kind === "video");
    if (receiver) this.#playhead.follow(receiver, () => session.captureClock());
    connection.addEventListener("track", ({ track }) => {
      if (!isCurrent()) return;
      media.addTrack(track);
      this.#media = media;
      if (this.#shift.player) return;
      this.video.srcObject = media;
      this.play();
    });
    connection.addEventListener("connectionstatechange", () => { if (isCurrent()) this.#noteConnection(connection); });
    session.onEnded = (reason) => { if (isCurrent()) this.#rejoin(reason); };
    session.onLost = () => { if (isCurrent()) this.#rejoin(null); };
    session.onNoAddress = () => { if (isCurrent()) this.#noteNoAddress(); };
    session.onQuality = (quality) => { if (isCurrent()) this.#noteQuality(quality); };
    session.onCaptions = (captions) => { if (isCurrent()) this.#emit("captions", captions); };
    this.#session = session;
    try {
      await session.open(requestStereo);
      if (!isCurrent()) return;
      this.#statistics = new StatisticsReader(connection);
      this.#emit("subscribed", { streamId: session.streamID });
    } catch (error) {
      if (isCurrent()) this.#refuse(error);
    }
  }

  /**
   * Plays the stream by HLS after WebRTC could not connect.
   * @param {PCastError} error the error of WebRTC
   */
  #fallBack(error) {
    if (this.#transport !== "auto" || !this.#stream || !HLSPlayer.method) return this.#again(error);
    this.#leave();
    this.#joinByHLS(error);
  }

  /**
   * @param {PCastError | null} cause the error of WebRTC, which is reported if the stream is not packaged
   * @param {number | null} target the time at which playback begins; null for the end
   */
  async #joinByHLS(cause, target = null) {
    if (!this.#stream || !HLSPlayer.method) {
      return this.#fail(new PCastError("unsupported", "This browser cannot play HLS, or the stream is not named."));
    }
    this.#player?.stop();
    const uri = `${this.#url}/video/${encodeURIComponent(this.#stream)}/index.m3u8`;
    const player = new HLSPlayer(this.video, uri, this.#token, target, this.#playoutDelay);
    const isCurrent = () => this.#player === player;
    this.#player = player;
    this.#playhead.followPlaylist((time) => player.timecode(time));
    player.addEventListener("landed", () => { if (isCurrent() && player.isShifted) this.#noteTimeShift("shifted", null); });
    player.addEventListener("playing", () => {
      if (!isCurrent()) return;
      [this.#attempts, this.#isReturning, this.#hasFrame] = [0, false, true];
      this.#setState("live");
      this.#emit("online", {});
      this.#emit("transport", { transport: "hls", method: HLSPlayer.method });
      this.#emit("firstframe", { milliseconds: performance.now() - this.#began });
    });
    player.addEventListener("ended", () => { if (isCurrent()) this.#end(); });
    player.addEventListener("failed", (event) => {
      if (isCurrent()) this.#again(/** @type {CustomEvent} */ (event).detail.error);
    });
    try {
      await player.start();
      if (isCurrent()) this.play();
    } catch (problem) {
      if (!isCurrent()) return;
      const isMissing = problem instanceof PCastError && problem.code === "not-playing";
      if (cause && isMissing) this.#again(cause);
      else this.#refuse(problem);
    }
  }

  /**
   * @param {TimeShiftState} state
   * @param {PCastError | null} error
   */
  #noteTimeShift(state, error) {
    if (this.#timeShift === state && !error) return;
    if (state === "live" && !this.#player && this.#media && this.video.srcObject !== this.#media) {
      this.video.srcObject = this.#media;
      this.play();
    }
    this.#timeShift = state;
    this.#emit("timeshift", { state, error });
  }

  #leave() {
    clearTimeout(this.#timer);
    this.#session?.close();
    this.#player?.stop();
    this.#player = null;
    this.#media = null;
    this.#shift.end();
    [this.#session, this.#media, this.#statistics, this.#quality, this.#hasFrame] = [null, null, null, null, false];
  }

  /** @param {RTCPeerConnection} connection */
  #noteConnection(connection) {
    reportConnectionState(connection.connectionState, {
      quality: () => this.#quality,
      connected: () => {
        [this.#attempts, this.#isReturning] = [0, false];
        this.#setState("live");
        this.#emit("transport", { transport: "webrtc", method: null });
      },
      interrupted: () => this.#setState("interrupted"),
      failed: (error) => { if (this.#session?.hasAddress) this.#fallBack(error); },
      emit: (type, detail) => this.#emit(type, detail),
    });
  }

  /** @param {DataQuality} quality */
  #noteQuality(quality) {
    this.#quality = quality;
    this.#emit("dataquality", quality);
  }

  /** @param {ShownFrame | null} frame */
  #noteFrame(frame) {
    const isPlaylist = (this.#player ?? this.#shift.player) !== null && !this.video.srcObject;
    // A frame of a session that is over.
    if (!isPlaylist && (!this.#media || this.video.srcObject !== this.#media)) return;
    this.#hasFrame = true;
    if (frame && !isPlaylist) this.#edge = frame.timecode - performance.now();
    if (frame) for (const observer of this.#frameObservers) observer(frame);
    if (!this.#awaitsFrame || isPlaylist) return;
    this.#awaitsFrame = false;
    this.#emit("firstframe", { milliseconds: performance.now() - this.#began });
  }

  // MARK: Failures

  /** @param {unknown} problem */
  #refuse(problem) {
    if (problem instanceof TypeError) return this.#again(new PCastError("unreachable", "The platform cannot be reached."));
    if (!(problem instanceof PCastError)) return this.#fail(new PCastError("failed", `${problem}`));
    switch (problem.code) {
      case "unauthorized": return this.#fail(problem);
      case "gone": return this.#end();
      case "not-playing": return this.#isReturning ? this.#end() : this.#again(problem);
      case "unsupported": return this.#playRest(problem);
      default: return this.#again(problem);
    }
  }

  /**
   * Plays the kinds of media that the browser can receive.
   * @param {PCastError} error
   */
  #playRest(error) {
    const rejected = error.sections.map((section) => section.kind);
    const rest = this.#kinds.filter((kind) => !rejected.includes(kind));
    if (!rest.length || rest.length === this.#kinds.length) return this.#fail(error);
    this.#kinds = rest;
    this.#emit("partial", { error, missing: this.missing });
    this.#join();
  }

  // Firefox may have found no address because it considers only the IP version of the page's address. A connection in a
  // separate document uses both.
  #noteNoAddress() {
    this.#isApart = isFirefox && !this.#isApart;
    if (this.#isApart) this.#join();
    else this.#fallBack(new PCastError("no-address", "This browser has no network address for media."));
  }

  /**
   * Joins again after the end of a session. A lost stream may resume with the same identifier when its publisher
   * reconnects. The platform knows whether it does.
   * @param {string | null} reason
   */
  #rejoin(reason) {
    this.#lastReason = reason;
    if (!this.#stream || (reason !== null && reason !== "failed")) return this.#end();
    [this.#isReturning, this.#kinds] = [true, BOTH];
    this.#emit("offline", {});
    this.#join();
  }

  #end() {
    const reason = this.#lastReason;
    [this.#isReturning, this.#lastReason] = [false, null];
    this.#leave();
    this.#setState("ended");
    this.#emit("ended", { reason });
  }

  /** @param {PCastError} error */
  #fail(error) {
    this.#leave();
    this.#setState("failed");
    this.#emit("failed", { error });
  }

  /** @param {PCastError} error */
  #again(error) {
    if (!this.#retries) return this.#fail(error);
    this.#leave();
    this.#attempts += 1;
    const delay = Math.min(1000 * this.#attempts, 10_000);
    this.#timer = setTimeout(() => this.#join(), delay);
    this.#setState("waiting");
    this.#emit("waiting", { error, delay });
  }

  /** @param {ViewerState} state */
  #setState(state) {
    if (this.#state === state) return;
    this.#state = state;
    this.#emit("statechange", { state });
  }

  /**
   * @param {string} type
   * @param {object} detail
   */
  #emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
}
