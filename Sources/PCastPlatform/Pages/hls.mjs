// A player of a stream's HLS output, for browsers that cannot connect by WebRTC: a part of /pcast.mjs.
// @ts-check

import { PCastError } from "./session.mjs";

/**
 * How the browser plays HLS: `native` by its own player, `mse` by this module with Media Source Extensions, or null if it
 * cannot.
 * @typedef {"native" | "mse" | null} HLSMethod
 */

/**
 * A part of a segment.
 * @typedef {object} Part
 * @property {string} uri
 * @property {number} duration in seconds
 * @property {boolean} independent whether decoding can begin with it
 * @property {boolean} gap whether it has no media
 */

/**
 * A segment with its parts, or as one file.
 * @typedef {object} Segment
 * @property {number} number the media sequence number
 * @property {string} map the URI of the initialization segment
 * @property {string | null} key the URI of the key of AES-128; null if the segment is not encrypted
 * @property {string | null} uri null while parts are added
 * @property {number} duration in seconds
 * @property {number} date the time of its beginning in milliseconds since 1970; NaN if unknown
 * @property {boolean} gap
 * @property {Part[]} parts
 */

/**
 * @typedef {object} MediaPlaylist
 * @property {Segment[]} segments the last one may be open
 * @property {number} holdBack the distance from the end at which players start, in seconds
 * @property {boolean} ended
 */

/**
 * @typedef {object} Variant
 * @property {string} uri
 * @property {number} bandwidth in bits per second
 * @property {string[]} codecs
 * @property {string | null} audio the group of its audio
 */

const TYPE = "application/vnd.apple.mpegurl";

/** The duration that is kept behind the playhead, in seconds. */
const BACK_BUFFER = 20;

/** The distance from the end at which the player skips forward, beyond that at which it started, in seconds. */
const LONGEST_DELAY = 3;

/** The distance from the end of a buffered range at which playback has reached it, in seconds. */
const GAP_TOLERANCE = 0.05;

/** The share of the measured throughput that a variant may use. */
const USABLE_SHARE = 0.7;

/** @type {typeof MediaSource | undefined} */
const Source = /** @type {any} */ (globalThis).ManagedMediaSource ?? globalThis.MediaSource;

/**
 * Returns the attributes of a tag.
 * @param {string} text
 * @returns {Record<string, string>}
 */
function attributes(text) {
  return Object.fromEntries([...text.matchAll(/([A-Z0-9-]+)=(?:"([^"]*)"|([^,]*))/g)].map(
    ([, name, quoted, plain]) => [name, quoted ?? plain]));
}

/**
 * Parses a multivariant playlist.
 * @param {string} text
 * @param {string} base
 */
export function parseMultivariant(text, base) {
  /** @type {Variant[]} */ const variants = [];
  /** @type {Record<string, string>} The URIs of audio by group. */ const audio = {};
  /** @type {Record<string, string> | null} */ let pending = null;
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("#EXT-X-MEDIA:")) {
      const { TYPE: type, "GROUP-ID": group, URI: uri } = attributes(line);
      if (type === "AUDIO" && uri) audio[group] ??= new URL(uri, base).href;
    } else if (line.startsWith("#EXT-X-STREAM-INF:")) {
      pending = attributes(line);
    } else if (pending && line && !line.startsWith("#")) {
      variants.push({
        uri: new URL(line, base).href, bandwidth: Number(pending.BANDWIDTH), codecs: (pending.CODECS ?? "").split(","),
        audio: pending.AUDIO ?? null,
      });
      pending = null;
    }
  }
  return { variants, audio };
}

/**
 * Parses a media playlist.
 * @param {string} text
 * @param {string} base
 * @returns {MediaPlaylist}
 */
export function parseMedia(text, base) {
  const resolve = (/** @type {string} */ uri) => new URL(uri, base).href;
  /** @type {Segment[]} */ const segments = [];
  let [number, holdBack, target, ended, map, gap, duration, date] = [0, 0, 2, false, "", false, 0, NaN];
  /** @type {string | null} */ let key = null;
  /** @type {Part[]} */ let parts = [];
  for (const line of text.split(/\r?\n/)) {
    const [, tag, value = ""] = line.match(/^#(EXT[A-Z-]*):?(.*)$/) ?? [];
    switch (tag) {
      case "EXT-X-TARGETDURATION": target = Number(value); break;
      case "EXT-X-MEDIA-SEQUENCE": number = Number(value); break;
      case "EXT-X-SERVER-CONTROL": holdBack = Number(attributes(value)["PART-HOLD-BACK"] ?? 0); break;
      case "EXT-X-MAP": map = resolve(attributes(value).URI); break;
      case "EXT-X-KEY": {
        const { METHOD: method, URI: uri } = attributes(value);
        key = method === "NONE" ? null : resolve(uri);
        break;
      }
      case "EXT-X-GAP": gap = true; break;
      case "EXT-X-ENDLIST": ended = true; break;
      case "EXTINF": duration = parseFloat(value); break;
      case "EXT-X-PROGRAM-DATE-TIME": date = Date.parse(value); break;
      case "EXT-X-PART": {
        const { URI: uri, DURATION: length, INDEPENDENT: independent, GAP: isGap } = attributes(value);
        parts.push({
          uri: resolve(uri), duration: Number(length), independent: independent === "YES", gap: isGap === "YES",
        });
        break;
      }
      default:
        if (!line || line.startsWith("#")) break;
        segments.push({ number, map, key, uri: resolve(line), duration, date, gap, parts });
        [number, gap, parts, date] = [number + 1, false, [], NaN];
    }
  }
  if (parts.length) segments.push({ number, map, key, uri: null, duration: 0, date, gap: false, parts });
  return { segments, holdBack: holdBack || 3 * target, ended };
}

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
 * Decrypts a segment or part: AES-128 in CBC mode, with the media sequence number as initialization vector (RFC 8216bis,
 * section 4.4.4.4).
 * @param {ArrayBuffer} bytes
 * @param {ArrayBuffer} key
 * @param {number} number the media sequence number
 */
export async function decrypt(bytes, key, number) {
  // Browsers have no subtle cryptography in pages without TLS from other hosts.
  if (!globalThis.crypto?.subtle) throw new Error("the media are encrypted, and the page is not loaded over HTTPS");
  const iv = new Uint8Array(16);
  new DataView(iv.buffer).setBigUint64(8, BigInt(number));
  const usable = await crypto.subtle.importKey("raw", key, "AES-CBC", false, ["decrypt"]);
  return crypto.subtle.decrypt({ name: "AES-CBC", iv }, usable, bytes);
}

/** A rendition that is loaded part by part into a source buffer. */
class Track {
  /** @type {string | null} The initialization segment that was appended last. */ #map = null;
  /** @type {{ number: number, part: number } | null} The next part to load. */ #position = null;
  #isFirst = true;
  /** The time at which the last complete segment ends, in milliseconds since 1970. */ #date = NaN;
  /** @type {{ uri: string, bytes: ArrayBuffer } | null} The key that was loaded last. */ #key = null;

  /**
   * @param {SourceBuffer} buffer
   * @param {string} uri
   * @param {AbortSignal} signal
   */
  constructor(buffer, uri, signal) {
    this.buffer = buffer;
    this.uri = uri;
    this.signal = signal;
    /** The measured throughput in bits per second; 0 before the first measurement. */
    this.throughput = 0;
  }

  /**
   * Loads until the stream ends. `onAppend` is called after each part.
   * @param {(holdBack: number, isSegmentEnd: boolean) => void} onAppend
   */
  async run(onAppend) {
    let query = "";
    for (;;) {
      const playlist = parseMedia(await (await this.#fetch(this.uri + query)).text(), this.uri);
      this.#position ??= this.#start(playlist);
      for (let piece = this.#take(playlist); piece; piece = this.#position && this.#take(playlist)) {
        await this.#append(piece.segment, piece.uris);
        onAppend(playlist.holdBack, piece.isSegmentEnd);
      }
      if (playlist.ended) return;
      query = this.#position ? `?_HLS_msn=${this.#position.number}&_HLS_part=${this.#position.part}` : "";
    }
  }

  /**
   * Continues with another variant from the next segment on. Call it at the end of a segment.
   * @param {string} uri
   */
  switchTo(uri) {
    if (uri === this.uri) return;
    [this.uri, this.#position] = [uri, null];
  }

  /**
   * Returns the position of the segment that follows the last one, or at the start of the independent part that is at
   * least the hold-back from the end. Variants number their segments differently, but the dates are the same.
   * @param {MediaPlaylist} playlist
   */
  #start({ segments, holdBack }) {
    if (!Number.isNaN(this.#date) && segments.length) {
      // The segment may not have begun in this variant.
      const following = segments.find(({ date }) => date > this.#date - 500);
      return { number: following?.number ?? segments[segments.length - 1].number + 1, part: 0 };
    }
    let distance = 0;
    for (const segment of [...segments].reverse()) {
      for (let part = segment.parts.length - 1; part >= 0; part -= 1) {
        distance += segment.parts[part].duration;
        if (distance >= holdBack && segment.parts[part].independent) return { number: segment.number, part };
      }
      if (!segment.parts.length) return { number: segment.number, part: 0 };
    }
    return { number: segments[0]?.number ?? 0, part: 0 };
  }

  /**
   * Returns the next part of a playlist, or a segment whose parts are not listed any more; null at its end.
   * @param {MediaPlaylist} playlist
   */
  #take(playlist) {
    const position = /** @type {{ number: number, part: number }} */ (this.#position);
    const first = playlist.segments[0]?.number ?? 0;
    // Segments that were removed meanwhile are skipped.
    if (position.number < first) [position.number, position.part] = [first, 0];
    const segment = playlist.segments.find(({ number }) => number === position.number);
    if (!segment) return null;
    if (!segment.parts.length) {
      if (!segment.uri) return null;
      this.#finish(segment);
      return { segment, uris: segment.gap ? [] : [segment.uri], isSegmentEnd: true };
    }
    const part = segment.parts[position.part];
    if (part) position.part += 1;
    const isSegmentEnd = segment.uri !== null && position.part >= segment.parts.length;
    if (isSegmentEnd) this.#finish(segment);
    if (!part) return isSegmentEnd ? { segment, uris: [], isSegmentEnd } : null;
    return { segment, uris: part.gap ? [] : [part.uri], isSegmentEnd };
  }

  /**
   * Moves the position behind a complete segment.
   * @param {Segment} segment
   */
  #finish({ number, date, duration }) {
    this.#position = { number: number + 1, part: 0 };
    this.#date = date + 1000 * duration;
  }

  /**
   * @param {Segment} segment
   * @param {string[]} uris
   */
  async #append({ number, map, key }, uris) {
    for (const uri of uris) {
      const began = performance.now();
      let bytes = await (await this.#fetch(uri)).arrayBuffer();
      // The first request includes the setup of the connection.
      const sample = (bytes.byteLength * 8000) / Math.max(performance.now() - began, 1);
      if (!this.#isFirst) this.throughput = this.throughput ? 0.8 * this.throughput + 0.2 * sample : sample;
      this.#isFirst = false;
      if (key) bytes = await decrypt(bytes, await this.#keyAt(key), number);
      if (map !== this.#map) {
        await this.#write(await (await this.#fetch(map)).arrayBuffer());
        this.#map = map;
      }
      await this.#write(bytes);
    }
  }

  /** @param {string} uri */
  async #keyAt(uri) {
    if (this.#key?.uri !== uri) this.#key = { uri, bytes: await (await this.#fetch(uri)).arrayBuffer() };
    return this.#key.bytes;
  }

  /** @param {ArrayBuffer} bytes */
  async #write(bytes) {
    await this.settled();
    this.buffer.appendBuffer(bytes);
    await this.settled();
  }

  /**
   * Removes media from before a time.
   * @param {number} time
   */
  removeBefore(time) {
    if (this.buffer.updating || !this.buffer.buffered.length || this.buffer.buffered.start(0) >= time - 1) return;
    this.buffer.remove(0, time);
  }

  /** Waits until the buffer accepts changes. */
  settled() {
    if (!this.buffer.updating) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const listeners = new AbortController();
      const { signal } = listeners;
      const settle = (/** @type {() => void} */ result) => () => { listeners.abort(); result(); };
      this.buffer.addEventListener("error", settle(() => reject(new Error("the media cannot be decoded"))), { signal });
      this.buffer.addEventListener("updateend", settle(() => resolve(undefined)), { signal });
    });
  }

  /** @param {string} uri */
  async #fetch(uri) {
    const response = await fetch(uri, { signal: this.signal });
    if (!response.ok) throw new Error(`${new URL(uri).pathname.split("/").pop()} was answered with ${response.status}`);
    return response;
  }
}

/**
 * A player of HLS in a video element.
 *
 * Events: `playing` when the first frame is shown, `ended` when the stream has ended, and `failed` `{ error }`.
 */
export class HLSPlayer extends EventTarget {
  #abort = new AbortController();
  #holdBack = 1;
  #hasStarted = false;
  /** @type {string | null} */ #objectURL = null;

  /** How this browser plays HLS. @returns {HLSMethod} */
  static get method() {
    if (document.createElement("video").canPlayType(TYPE)) return "native";
    return Source ? "mse" : null;
  }

  /**
   * @param {HTMLVideoElement} video
   * @param {string} platform the origin of the platform
   * @param {string} stream
   * @param {string | null} token
   */
  constructor(video, platform, stream, token) {
    super();
    this.video = video;
    this.token = token;
    this.uri = `${platform}/video/${encodeURIComponent(stream)}/index.m3u8`;
    const { signal } = this.#abort;
    video.addEventListener("playing", () => this.#emit("playing", {}), { signal, once: true });
    video.addEventListener("ended", () => this.#emit("ended", {}), { signal });
    video.addEventListener("error", () => this.#fail(new Error(video.error?.message ?? "unknown error")), { signal });
  }

  /**
   * Begins to play. It rejects with a {@link PCastError} if the platform refuses, such as `not-playing` for a stream that
   * is not packaged.
   */
  async start() {
    const headers = this.token ? { Authorization: `Bearer ${this.token}` } : undefined;
    // Opus needs no transcoding.
    const hasOpus = HLSPlayer.method === "mse" && Source?.isTypeSupported('audio/mp4; codecs="opus"');
    const uri = hasOpus ? `${this.uri}?audio=opus` : this.uri;
    const response = await fetch(uri, { headers, signal: this.#abort.signal });
    if (!response.ok) throw new PCastError(HLSPlayer.#code(response.status), await response.text());
    if (HLSPlayer.method === "native") {
      this.video.srcObject = null;
      this.video.src = this.token ? `${this.uri}?token=${encodeURIComponent(this.token)}` : this.uri;
      return;
    }
    this.#play(await response.text());
  }

  /** Ends the player. */
  stop() {
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
      if (!best || !Source) throw new Error("this browser supports none of the codecs");
      const alternatives = usable.filter((variant) => variant.audio === best.audio && isVideo(variant) === isVideo(best));
      const source = new Source();
      this.#objectURL = URL.createObjectURL(source);
      this.video.disableRemotePlayback = true; // ManagedMediaSource requires it
      this.video.srcObject = null;
      this.video.src = this.#objectURL;
      await new Promise((resolve) => source.addEventListener("sourceopen", resolve, { once: true }));
      const uris = [best.uri];
      if (best.audio && audio[best.audio] && isVideo(best)) uris.push(audio[best.audio]);
      const tracks = uris.map((uri, index) => {
        const codec = best.codecs[index];
        return new Track(source.addSourceBuffer(`${HLSPlayer.#container(codec)}; codecs="${codec}"`), uri,
          this.#abort.signal);
      });
      await Promise.all(tracks.map((track, index) => track.run((holdBack, isSegmentEnd) => {
        this.#holdBack = holdBack;
        this.#follow(tracks, false);
        // A segment of another variant begins with a key frame at the same time.
        if (index === 0 && isSegmentEnd) track.switchTo(HLSPlayer.#choose(alternatives, track));
      })));
      this.#follow(tracks, true);
      await Promise.all(tracks.map((track) => track.settled()));
      if (source.readyState === "open") source.endOfStream();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** @param {string} codec */
  static #container(codec) { return codec.startsWith("avc1") ? "video/mp4" : "audio/mp4"; }

  /**
   * Returns the URI of the best variant for the throughput.
   * @param {Variant[]} variants
   * @param {Track} track
   */
  static #choose(variants, track) {
    if (!track.throughput) return track.uri;
    const sorted = [...variants].sort((a, b) => b.bandwidth - a.bandwidth);
    const fitting = sorted.find(({ bandwidth }) => bandwidth <= USABLE_SHARE * track.throughput);
    return (fitting ?? sorted.at(-1))?.uri ?? track.uri;
  }

  /**
   * Starts, skips gaps, and stays near the end, each when all tracks have enough media to continue without a stall.
   * @param {Track[]} tracks
   * @param {boolean} isComplete whether no more media follow
   */
  #follow(tracks, isComplete) {
    const ranges = commonRanges(tracks.map(({ buffer }) => buffer.buffered));
    const last = ranges[ranges.length - 1];
    if (!last) return;
    const { currentTime } = this.video;
    const hasEnough = isComplete || last.end - last.start >= this.#holdBack;
    const isBehind = last.end - currentTime > this.#holdBack + LONGEST_DELAY;
    const isInside = ranges.some(
      ({ start, end }) => currentTime >= start - GAP_TOLERANCE && currentTime < end - GAP_TOLERANCE);
    const next = ranges.find(({ start }) => start > currentTime);
    if (hasEnough && (!this.#hasStarted || (isBehind && !isComplete))) {
      this.video.currentTime = Math.max(last.start, last.end - this.#holdBack);
      this.#hasStarted = true;
    } else if (this.#hasStarted && !isInside && next && (next !== last || hasEnough)) {
      this.video.currentTime = next.start;
    }
    for (const track of tracks) track.removeBefore(this.video.currentTime - BACK_BUFFER);
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
