// The playlists of a stream's HLS output, and the loading of a rendition: a part of /pcast.mjs.
// @ts-check

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

/** The distance from the end of a buffered range at which playback has reached it, in seconds. */
export const GAP_TOLERANCE = 0.05;

/** The share of the measured throughput that the current variant may use. */
export const CURRENT_SHARE = 0.95;

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
 * Returns the times that a buffer has.
 * @param {SourceBuffer} buffer
 */
function bufferedRanges({ buffered }) {
  return Array.from({ length: buffered.length }, (_, index) => ({ start: buffered.start(index), end: buffered.end(index) }));
}

/**
 * Returns the first time that was added to a buffer; null if none was.
 * @param {{ start: number, end: number }[]} before
 * @param {{ start: number, end: number }[]} after
 */
function firstAdded(before, after) {
  for (const { start, end } of after) {
    const known = before.find((range) => range.start <= start + GAP_TOLERANCE && range.end > start);
    if (!known) return start;
    if (known.end < end - GAP_TOLERANCE / 10) return known.end;
  }
  return null;
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

/**
 * The throughput of the last parts, each from its first byte to its last: the lower one of those over two and eight seconds.
 * A part counts for at least its duration, because the parts of a fast link arrive in a small share of the time.
 */
export class ThroughputEstimate {
  /** The bytes of a download that counts alone. Smaller ones are measured together. */ static #MINIMUM_SIZE = 16384;
  /** The shortest time of a download in seconds. */ static #MINIMUM_SPAN = 0.01;
  /** The number of downloads that are kept. */ static #CAPACITY = 64;
  static #WINDOWS = [2, 8];

  /** @type {{ bytes: number, span: number, weight: number }[]} */ #samples = [];
  #small = { bytes: 0, span: 0, weight: 0 };

  /**
   * Adds a download.
   * @param {number} bytes the bytes that arrived after the first ones
   * @param {number} span the time in which they arrived, in seconds
   * @param {number} duration the duration of the media, in seconds
   */
  add(bytes, span, duration) {
    this.#small.bytes += bytes;
    this.#small.span += span;
    this.#small.weight += duration;
    if (this.#small.bytes < ThroughputEstimate.#MINIMUM_SIZE) return;
    const sample = this.#small;
    this.#small = { bytes: 0, span: 0, weight: 0 };
    sample.span = Math.max(sample.span, ThroughputEstimate.#MINIMUM_SPAN);
    sample.weight = Math.max(sample.weight, sample.span);
    this.#samples.push(sample);
    if (this.#samples.length > ThroughputEstimate.#CAPACITY) this.#samples.shift();
  }

  /**
   * Replaces all measurements by a download that was cancelled because it was slow.
   * @param {number} bytes
   * @param {number} span in seconds
   */
  replace(bytes, span) {
    this.#samples = [{ bytes: Math.max(bytes, 1), span, weight: span }];
    this.#small = { bytes: 0, span: 0, weight: 0 };
  }

  /** In bits per second; 0 before the first measurement. */
  get bitrate() {
    const rates = ThroughputEstimate.#WINDOWS.map((window) => {
      let [time, bytes, span] = [0, 0, 0];
      for (let index = this.#samples.length - 1; index >= 0 && time < window; index -= 1) {
        const sample = this.#samples[index];
        time += sample.weight;
        bytes += sample.bytes;
        span += sample.span;
      }
      return span ? (8 * bytes) / span : 0;
    });
    return Math.min(...rates);
  }
}

/** A rendition that is loaded part by part into a source buffer. */
export class Track {
  /** @type {string | null} The initialization segment that was appended last. */ #map = null;
  /** @type {{ number: number, part: number } | null} The next part to load. */ #position = null;
  /** The time at which the last complete segment ends, in milliseconds since 1970. */ #date = NaN;
  /** @type {{ uri: string, bytes: ArrayBuffer } | null} The key that was loaded last. */ #key = null;

  /**
   * @param {SourceBuffer} buffer
   * @param {string} uri
   * @param {AbortSignal} signal
   * @param {number | null} target the time at which playback begins, in milliseconds since 1970; null for the end
   */
  constructor(buffer, uri, signal, target) {
    this.buffer = buffer;
    this.uri = uri;
    this.signal = signal;
    this.target = target;
    /**
     * The times of the playlist's ends in milliseconds since 1970; null before it is loaded.
     * @type {{ start: number, end: number } | null}
     */
    this.window = null;
    /**
     * Called with a time in the buffer in seconds, and the same time in milliseconds since 1970.
     * @type {(time: number, date: number) => void}
     */
    this.onTime = () => {};
    /**
     * Waits until the buffer has space.
     * @type {() => Promise<void>}
     */
    this.hasSpace = () => Promise.resolve();
    this.throughput = new ThroughputEstimate();
    /** The bit rate of the variant; 0 if there is no lower one. */
    this.bandwidth = 0;
    /** Returns the URI of a lower variant, after a part arrived too slowly. @type {() => string} */
    this.lower = () => this.uri;
  }

  /**
   * Loads until the stream ends. `onAppend` is called after each part.
   * @param {(holdBack: number, isSegmentEnd: boolean) => void} onAppend
   */
  async run(onAppend) {
    let query = "";
    for (;;) {
      const playlist = parseMedia(await (await this.#fetch(this.uri + query)).text(), this.uri);
      this.#note(playlist);
      this.#position ??= this.#start(playlist);
      for (let piece = this.#take(playlist); piece; piece = this.#position && this.#take(playlist)) {
        await this.hasSpace();
        if (!(await this.#append(piece))) {
          // The segment is loaded again from the lower variant.
          this.switchTo(this.lower());
          break;
        }
        onAppend(playlist.holdBack, piece.isSegmentEnd);
      }
      if (playlist.ended) return;
      query = this.#position ? `?_HLS_msn=${this.#position.number}&_HLS_part=${this.#position.part}` : "";
    }
  }

  /**
   * Sets the window of a playlist.
   * @param {MediaPlaylist} playlist
   */
  #note({ segments }) {
    const dated = segments.filter(({ date }) => !Number.isNaN(date));
    const last = dated.at(-1);
    if (!last) return;
    const duration = last.uri === null ? last.parts.reduce((sum, part) => sum + part.duration, 0) : last.duration;
    this.window = { start: dated[0].date, end: last.date + 1000 * duration };
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
   * Returns the position of the segment that follows the last one, the segment with the target, or the start of the
   * independent part that is at least the hold-back from the end. Variants number their segments differently, but the
   * dates are the same.
   * @param {MediaPlaylist} playlist
   */
  #start({ segments, holdBack }) {
    if (!Number.isNaN(this.#date) && segments.length) {
      // The segment may not have begun in this variant.
      const following = segments.find(({ date }) => date > this.#date - 500);
      return { number: following?.number ?? segments[segments.length - 1].number + 1, part: 0 };
    }
    const { target } = this;
    if (target !== null) {
      const segment = segments.findLast(({ date }) => date <= target) ?? segments[0];
      return { number: segment?.number ?? 0, part: 0 };
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
      const { gap, uri, duration, date } = segment;
      return { segment, uris: gap ? [] : [uri], duration, isSegmentEnd: true, date };
    }
    const part = segment.parts[position.part];
    const earlier = segment.parts.slice(0, position.part).reduce((sum, { duration }) => sum + duration, 0);
    const date = segment.date + 1000 * earlier;
    if (part) position.part += 1;
    const isSegmentEnd = segment.uri !== null && position.part >= segment.parts.length;
    if (isSegmentEnd) this.#finish(segment);
    if (!part) return isSegmentEnd ? { segment, uris: [], duration: 0, isSegmentEnd, date } : null;
    return { segment, uris: part.gap ? [] : [part.uri], duration: part.duration, isSegmentEnd, date };
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
   * Appends a part or a segment. Returns false if a part arrives so slowly that a lower variant replaces its segment. The last
   * part of a segment is not replaced.
   * @param {{ segment: Segment, uris: string[], duration: number, isSegmentEnd: boolean, date: number }} piece with the time of
   *   its beginning in milliseconds since 1970, or NaN if it is unknown
   */
  async #append({ segment: { number, map, key }, uris, duration, isSegmentEnd, date }) {
    for (const uri of uris) {
      let bytes = await this.#load(uri, duration, !isSegmentEnd && this.bandwidth > 0);
      if (!bytes) return false;
      if (key) bytes = await decrypt(bytes, await this.#keyAt(key), number);
      if (map !== this.#map) {
        await this.#write(await (await this.#fetch(map)).arrayBuffer());
        this.#map = map;
      }
      const before = bufferedRanges(this.buffer);
      await this.#write(bytes);
      const time = firstAdded(before, bufferedRanges(this.buffer));
      if (time !== null && !Number.isNaN(date)) this.onTime(time, date);
    }
    return true;
  }

  /**
   * Loads a file and measures it. If it may be left, returns null if it arrives more slowly than it is played, and than its
   * variant needs.
   * @param {string} uri
   * @param {number} duration in seconds
   * @param {boolean} mayLeave
   */
  async #load(uri, duration, mayLeave) {
    const reader = /** @type {ReadableStream<Uint8Array>} */ ((await this.#fetch(uri)).body).getReader();
    /** @type {Uint8Array[]} */ const chunks = [];
    let [count, began, span] = [0, 0, 0];
    for (;;) {
      const { done, value } = await reader.read();
      if (done || !value) break;
      const now = performance.now() / 1000;
      if (!chunks.length) began = now;
      chunks.push(value);
      count += value.length;
      span = now - began;
      if (mayLeave && span > Math.max(2 * duration, 0.4) && 8 * count < CURRENT_SHARE * this.bandwidth * span) {
        this.throughput.replace(count, span);
        await reader.cancel();
        return null;
      }
    }
    const bytes = new Uint8Array(count);
    let offset = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, offset);
      offset += chunk.length;
    }
    // What was read first arrived before the time that is measured, unless all came at once.
    const first = chunks.length ? chunks[0].length : 0;
    this.throughput.add(first > count / 2 ? count : count - first, span, duration);
    return bytes.buffer;
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
