// A player of a stream's HLS output, for browsers that cannot connect by WebRTC, and for the window of a stream: a part
// of /pcast.mjs.
// @ts-check

import { CURRENT_SHARE, GAP_TOLERANCE, Track, parseMultivariant } from "./hls-track.mjs";
import { PCastError } from "./session.mjs";

/**
 * How the browser plays HLS: `native` by its own player, `mse` by this module with Media Source Extensions, or null if it
 * cannot.
 * @typedef {"native" | "mse" | null} HLSMethod
 */

/** @typedef {import("./hls-track.mjs").Variant} Variant */

const TYPE = "application/vnd.apple.mpegurl";

/** The duration that is kept behind the playhead, in seconds. */
const BACK_BUFFER = 20;

/** The duration that is loaded ahead of the playhead, in seconds. */
const FORWARD_BUFFER = 20;

/** The duration that must be loaded before playback begins in the window, in seconds. */
const SHORTEST_BUFFER = 1;

/** The number of times of segments that are kept. */
const LONGEST_CLOCK = 1000;

/** The distance from the end at which the player skips forward, beyond that at which it started, in seconds. */
const LONGEST_DELAY = 3;

/** The interval at which the deviation from the playout delay is measured, in milliseconds. */
const SYNCHRONIZATION_INTERVAL = 100;

/** The change of the rate that corrects a deviation from the playout delay. */
const RATE_CHANGE = 0.05;

/**
 * The deviations from the playout delay in milliseconds: from which on it is corrected, at which the correction ends, from
 * which on early playback waits, and from which on late playback seeks.
 */
const DEVIATION = { corrected: 20, exact: 5, waits: 250, seeks: 1000 };

/** The difference of the clocks in milliseconds up to which frames from the future are accepted. */
const CLOCK_TOLERANCE = 100;

/** The shortest seek that corrects a deviation from the playout delay, in seconds. */
const SHORTEST_SEEK = 0.5;

/** The shares of the hold-back that must be loaded ahead to begin playback at a higher rate, and to continue it. */
const SHARE_AHEAD = { begin: 1.25, keep: 0.75 };

/** The share of the measured throughput that a variant may use. */
const USABLE_SHARE = 0.7;

/** The time without a change after which a better variant is selected, in seconds. */
const HOLD_TIME = 8;

/** @type {typeof MediaSource | undefined} */
const Source = /** @type {any} */ (globalThis).ManagedMediaSource ?? globalThis.MediaSource;

/**
 * Returns the times that all of several buffers have, in order.
 * @param {TimeRanges[]} buffers
 * @returns {{ start: number, end: number }[]}
 */
function commonRanges(buffers) {
  const lists = buffers.map((ranges) => Array.from(
    { length: ranges.length }, (_, index) => ({ start: ranges.start(index), end: ranges.end(index) })));
  return lists.reduce((common, list) => common.flatMap((one) => list
    .map((other) => ({ start: Math.max(one.start, other.start), end: Math.min(one.end, other.end) }))
    .filter(({ start, end }) => end > start)));
}

/**
 * A player of HLS in a video element.
 *
 * Events: `playing` when the first frame is shown, `landed` when that of the start or of a seek in the window is,
 * `ended` when the stream has ended, and `failed` `{ error }`.
 */
export class HLSPlayer extends EventTarget {
  #abort = new AbortController();
  #holdBack = 1;
  #hasStarted = false;
  /** The time of the last change of the variant, in seconds. */ #changed = -Infinity;
  /** @type {string | null} */ #objectURL = null;
  /** @type {string | null} The multivariant playlist, until the browser's own player has failed. */ #fallback = null;
  /** @type {Track[]} */ #tracks = [];
  /** @type {{ time: number, date: number }[]} Times of the element in seconds, and in milliseconds since 1970. */ #clock = [];
  /** @type {number | undefined} The timer of the synchronization. */ #timer;

  /** How this browser plays HLS. @returns {HLSMethod} */
  static get method() {
    if (document.createElement("video").canPlayType(TYPE)) return "native";
    return Source ? "mse" : null;
  }

  /**
   * How this player plays. In the window, the times of frames are needed, which not every native player reports.
   * @type {HLSMethod}
   */
  #method;

  /**
   * @param {HTMLVideoElement} video
   * @param {string} uri the multivariant playlist
   * @param {string | null} token
   * @param {number | null} target the time at which playback begins in the window, in milliseconds since 1970; null for
   *   the end
   * @param {number | null} playoutDelay the time from capture at which frames are shown at the end, in milliseconds; null
   *   for the least
   */
  constructor(video, uri, token, target = null, playoutDelay = null) {
    super();
    this.video = video;
    this.token = token;
    this.uri = uri;
    this.target = target;
    this.playoutDelay = playoutDelay;
    this.#method = (target !== null || playoutDelay !== null) && Source ? "mse" : HLSPlayer.method;
    const { signal } = this.#abort;
    video.addEventListener("playing", () => this.#emit("playing", {}), { signal, once: true });
    // The first event of the element's own seek to the start is the landing, also while it is paused.
    video.addEventListener("seeked", () => { if (this.#hasStarted) this.#emit("landed", {}); }, { signal });
    video.addEventListener("loadedmetadata", () => this.#startNatively(), { signal });
    video.addEventListener("ended", () => this.#emit("ended", {}), { signal });
    video.addEventListener("error", () => this.#failed(), { signal });
    if (playoutDelay !== null) this.#timer = setInterval(() => this.#synchronize(), SYNCHRONIZATION_INTERVAL);
  }

  /**
   * Begins to play. It rejects with a {@link PCastError} if the platform refuses, such as `not-playing` for a stream that
   * is not packaged.
   */
  async start() {
    const headers = this.token ? { Authorization: `Bearer ${this.token}` } : undefined;
    // Opus needs no transcoding.
    const hasOpus = this.#method === "mse" && Source?.isTypeSupported('audio/mp4; codecs="opus"');
    const uri = hasOpus ? `${this.uri}${this.uri.includes("?") ? "&" : "?"}audio=opus` : this.uri;
    const response = await fetch(uri, { headers, signal: this.#abort.signal });
    if (!response.ok) throw new PCastError(HLSPlayer.#code(response.status), await response.text());
    this.video.srcObject = null;
    if (this.#method === "native") {
      if (Source) this.#fallback = await response.text();
      this.video.src = this.token ? `${this.uri}?token=${encodeURIComponent(this.token)}` : this.uri;
      return;
    }
    this.#play(await response.text());
  }

  // MARK: The window

  /** Whether it plays in the window, at any distance from its end. */
  get isShifted() { return this.target !== null; }

  /**
   * The times of the window's ends in milliseconds since 1970; null before they are known.
   * @returns {{ start: number, end: number } | null}
   */
  get window() {
    if (this.#method !== "native") return this.#tracks[0]?.window ?? null;
    const { seekable } = this.video;
    const [start, end] = seekable.length
      ? [this.timecode(seekable.start(0)), this.timecode(seekable.end(seekable.length - 1))] : [null, null];
    return start === null || end === null ? null : { start, end };
  }

  /**
   * Returns the time in milliseconds since 1970 of a time of the element; null if it is not known.
   * @param {number} time in seconds
   * @returns {number | null}
   */
  timecode(time) {
    const entry = this.#clock.findLast((one) => one.time <= time + GAP_TOLERANCE) ?? this.#clock[0];
    if (entry) return entry.date + 1000 * (time - entry.time);
    // Only browsers with a player of their own have this function.
    const start = /** @type {any} */ (this.video).getStartDate?.()?.getTime();
    return Number.isFinite(start) ? start + 1000 * time : null;
  }

  /**
   * Returns the time of the element of a time in milliseconds since 1970; null if it is not known.
   * @param {number} date
   * @returns {number | null}
   */
  #time(date) {
    const entry = this.#clock.findLast((one) => one.date <= date) ?? this.#clock[0];
    if (entry) return entry.time + (date - entry.date) / 1000;
    const origin = this.timecode(0);
    return origin === null ? null : (date - origin) / 1000;
  }

  /**
   * Seeks, if the media at the time is loaded or the browser loads it.
   * @param {number} date in milliseconds since 1970
   * @returns {boolean} whether it seeks
   */
  seek(date) {
    const time = this.#hasStarted ? this.#time(date) : null;
    if (time === null) return false;
    const isLoaded = this.#method === "native" || this.#commonRanges()
      .some(({ start, end }) => time >= start && time < end - SHORTEST_BUFFER);
    if (!isLoaded) return false;
    this.target = date;
    this.video.currentTime = time;
    return true;
  }

  #startNatively() {
    if (this.#method !== "native" || this.target === null) return;
    this.#hasStarted = true;
    const time = this.#time(this.target);
    if (time !== null) this.video.currentTime = time;
  }

  /** Waits until the media that is loaded ahead has been played in part. @param {Track} track */
  async #awaitSpace({ buffer }) {
    const { signal } = this.#abort;
    for (;;) {
      const { buffered } = buffer;
      const end = buffered.length ? buffered.end(buffered.length - 1) : 0;
      if (!this.#hasStarted || end - this.video.currentTime <= FORWARD_BUFFER) return;
      await new Promise((resolve) => {
        const listeners = new AbortController();
        signal.addEventListener("abort", () => listeners.abort());
        for (const type of ["timeupdate", "seeking"]) {
          this.video.addEventListener(type, () => { listeners.abort(); resolve(undefined); }, { signal: listeners.signal });
        }
      });
    }
  }

  // MARK: The playout delay

  /**
   * The time of the element that is due with the playout delay; null without one, in the window, and if media is from the
   * future, because the clocks of the platform and of this computer disagree.
   */
  get #due() {
    const [now, newest] = [Date.now(), this.#clock.at(-1)];
    if (this.playoutDelay === null || this.target !== null || !newest || newest.date > now + CLOCK_TOLERANCE) return null;
    return this.#time(now - this.playoutDelay);
  }

  /**
   * Corrects a deviation from the playout delay: early playback waits, and late playback seeks. A small deviation is
   * corrected by a slightly different rate, which is hardly noticeable because the pitch does not change.
   */
  #synchronize() {
    const { video } = this;
    const due = this.#due;
    if (due === null || !this.#hasStarted || video.paused || video.seeking) {
      if (due === null && this.#hasStarted) this.#setRate(1);
      return;
    }
    const late = 1000 * (due - video.currentTime);
    const range = this.#commonRanges().find(({ start, end }) => video.currentTime >= start - GAP_TOLERANCE && video.currentTime < end);
    const ahead = range ? range.end - video.currentTime : 0;
    const share = video.playbackRate > 1 ? SHARE_AHEAD.keep : SHARE_AHEAD.begin;
    const mayHurry = ahead >= this.#holdBack * share;
    // A delay that is too short leads to the usual distance from the end.
    const target = Math.min(due, video.currentTime + ahead - this.#holdBack);
    if (late > DEVIATION.seeks && target - video.currentTime > SHORTEST_SEEK) {
      this.#setRate(1);
      video.currentTime = target;
    } else if (late < -DEVIATION.waits) {
      this.#setRate(0);
    } else if (late > DEVIATION.corrected && mayHurry) {
      this.#setRate(1 + RATE_CHANGE);
    } else if (late < -DEVIATION.corrected) {
      this.#setRate(1 - RATE_CHANGE);
    } else {
      // A correction continues until the deviation is small.
      const continues = Math.abs(late) > DEVIATION.exact && late * (video.playbackRate - 1) > 0;
      if (!continues || (late > 0 && !mayHurry)) this.#setRate(1);
    }
  }

  /** @param {number} rate */
  #setRate(rate) { if (this.video.playbackRate !== rate) this.video.playbackRate = rate; }

  /** Returns the times that all tracks have. */
  #commonRanges() { return commonRanges(this.#tracks.map(({ buffer }) => buffer.buffered)); }

  /** Ends the player. */
  stop() {
    clearInterval(this.#timer);
    if (this.playoutDelay !== null) this.#setRate(1);
    this.#abort.abort();
    this.video.removeAttribute("src");
    this.video.load();
    if (this.#objectURL) URL.revokeObjectURL(this.#objectURL);
  }

  /**
   * @param {number} status
   * @returns {import("./session.mjs").PCastErrorCode}
   */
  static #code(status) {
    if (status === 401) return "unauthorized";
    return status === 404 || status === 503 ? "not-playing" : "refused";
  }

  /** @param {string} text */
  async #play(text) {
    try {
      const { variants, audio } = parseMultivariant(text, this.uri);
      const isSupported = (/** @type {Variant} */ { codecs }) =>
        codecs.every((codec) => Source?.isTypeSupported(`${HLSPlayer.#container(codec)}; codecs="${codec}"`));
      const usable = variants.filter(isSupported);
      // Variants are ordered by their bit rate.
      const isVideo = (/** @type {Variant} */ { codecs }) => codecs.some((codec) => HLSPlayer.#container(codec) === "video/mp4");
      const best = usable.find(isVideo) ?? usable[0];
      if (!best || !Source) {
        const codecs = [...new Set(variants.flatMap((variant) => variant.codecs))].join(", ");
        throw new Error(`this browser supports none of the codecs: ${codecs}`);
      }
      const alternatives = usable.filter((variant) => variant.audio === best.audio && isVideo(variant) === isVideo(best));
      const source = new Source();
      this.#objectURL = URL.createObjectURL(source);
      this.video.disableRemotePlayback = true; // ManagedMediaSource requires it
      this.video.src = this.#objectURL;
      await new Promise((resolve) => source.addEventListener("sourceopen", resolve, { once: true }));
      const uris = [best.uri];
      if (best.audio && audio[best.audio] && isVideo(best)) uris.push(audio[best.audio]);
      const tracks = uris.map((uri, index) => {
        const codec = best.codecs[index];
        return new Track(source.addSourceBuffer(`${HLSPlayer.#container(codec)}; codecs="${codec}"`), uri,
          this.#abort.signal, this.target ?? (this.playoutDelay === null ? null : Date.now() - this.playoutDelay));
      });
      this.#tracks = tracks;
      tracks[0].onTime = (time, date) => this.#noteTime(time, date);
      for (const track of tracks) track.hasSpace = () => this.#awaitSpace(track);
      const select = (/** @type {Track} */ track, /** @type {boolean} */ canRise) => {
        const { uri, bandwidth } = this.#choose(alternatives, track, canRise);
        const isLowest = alternatives.every((variant) => variant.bandwidth >= bandwidth);
        track.bandwidth = isLowest ? 0 : bandwidth;
        return uri;
      };
      tracks[0].bandwidth = alternatives.length > 1 ? best.bandwidth : 0;
      tracks[0].lower = () => select(tracks[0], false);
      await Promise.all(tracks.map((track, index) => track.run((holdBack, isSegmentEnd) => {
        this.#holdBack = holdBack;
        this.#follow(tracks, false);
        // A segment of another variant begins with a key frame at the same time.
        if (index === 0 && isSegmentEnd) track.switchTo(select(track, true));
      })));
      this.#follow(tracks, true);
      await Promise.all(tracks.map((track) => track.settled()));
      if (source.readyState === "open") source.endOfStream();
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * @param {number} time
   * @param {number} date
   */
  #noteTime(time, date) {
    this.#clock = this.#clock.filter((one) => one.time < time - GAP_TOLERANCE).slice(1 - LONGEST_CLOCK);
    this.#clock.push({ time, date });
  }

  /** @param {string} codec */
  static #container(codec) { return /^(avc1|hvc1|av01|vp09)/.test(codec) ? "video/mp4" : "audio/mp4"; }

  /**
   * Returns the best variant for the throughput. The current one is kept with a smaller margin, and left for a better one
   * only some time after the last change.
   * @param {Variant[]} variants
   * @param {Track} track
   * @param {boolean} canRise
   */
  #choose(variants, track, canRise) {
    const sorted = [...variants].sort((a, b) => b.bandwidth - a.bandwidth);
    const current = sorted.find(({ uri }) => uri === track.uri) ?? sorted[0];
    const throughput = track.throughput.bitrate;
    if (!throughput) return current;
    const now = performance.now() / 1000;
    const fitting = sorted.find(({ bandwidth }) => bandwidth <= USABLE_SHARE * throughput) ?? sorted[sorted.length - 1];
    const isHigher = fitting.bandwidth > current.bandwidth;
    if (isHigher && (!canRise || now - this.#changed < HOLD_TIME)) return current;
    if (!isHigher && current.bandwidth <= CURRENT_SHARE * throughput) return current;
    if (fitting !== current) this.#changed = now;
    return fitting;
  }

  /**
   * Starts, skips gaps, and stays near the end, each when all tracks have enough media to continue without a stall.
   * @param {Track[]} tracks
   * @param {boolean} isComplete whether no more media follow
   */
  #follow(tracks, isComplete) {
    const ranges = this.#commonRanges();
    const last = ranges[ranges.length - 1];
    if (!last) return;
    const { currentTime } = this.video;
    const due = this.#due;
    if (this.target !== null && !this.#hasStarted) return this.#startInWindow(this.target, ranges, isComplete);
    const hasEnough = isComplete || last.end - last.start >= this.#holdBack;
    const isBehind = this.target === null && due === null && last.end - currentTime > this.#holdBack + LONGEST_DELAY;
    const isInside = ranges.some(
      ({ start, end }) => currentTime >= start - GAP_TOLERANCE && currentTime < end - GAP_TOLERANCE);
    const next = ranges.find(({ start }) => start > currentTime);
    if (hasEnough && (!this.#hasStarted || (isBehind && !isComplete))) {
      this.video.currentTime = Math.max(last.start, Math.min(last.end - this.#holdBack, due ?? Infinity));
      this.#hasStarted = true;
    } else if (this.#hasStarted && !isInside && next && (next !== last || hasEnough)) {
      this.video.currentTime = next.start;
    }
    for (const track of tracks) track.removeBefore(this.video.currentTime - BACK_BUFFER);
  }

  /**
   * Starts in the window when enough media is loaded at the target, or after it if there is a gap.
   * @param {number} target
   * @param {{ start: number, end: number }[]} ranges
   * @param {boolean} isComplete
   */
  #startInWindow(target, ranges, isComplete) {
    const time = this.#time(target);
    const range = ranges.find(({ end }) => time !== null && end > time);
    if (time === null || !range) return;
    const start = Math.max(time, range.start);
    if (!isComplete && range.end - start < SHORTEST_BUFFER) return;
    this.#hasStarted = true;
    this.video.currentTime = start;
  }

  /** Continues with Media Source Extensions after the browser's own player, such as that of Chromium for encrypted media. */
  #failed() {
    const text = this.#fallback;
    this.#fallback = null;
    if (text) {
      this.#method = "mse";
      this.#play(text);
    } else {
      this.#fail(new Error(this.video.error?.message ?? "unknown error"));
    }
  }

  /** @param {unknown} error */
  #fail(error) {
    if (this.#abort.signal.aborted) return;
    const message = error instanceof Error ? error.message : `${error}`;
    this.#emit("failed", { error: new PCastError("failed", `The stream cannot be played by HLS: ${message}.`) });
  }

  /**
   * @param {string} type
   * @param {object} detail
   */
  #emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
}
