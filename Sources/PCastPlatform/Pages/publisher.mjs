// A publisher of a stream: a part of /pcast.mjs.
// @ts-check

import { PCastError, Session, isFirefox, makeConnection, reportConnectionState, requestStereo } from "./session.mjs";
import { StatisticsReader } from "./statistics.mjs";

/** @typedef {import("./session.mjs").DataQuality} DataQuality */

/**
 * The state of a publisher:
 *
 * - `connecting`: it asks the platform, or waits for the connection
 * - `publishing`: the platform receives media
 * - `interrupted`: the path is lost; the connection may come back by itself
 * - `waiting`: the stream was lost; it is published again by itself
 * - `ended`, `failed`, `stopped`: it is over
 *
 * @typedef {"connecting" | "publishing" | "interrupted" | "waiting" | "ended" | "failed" | "stopped"} PublisherState
 */

/**
 * @typedef {object} PublishOptions
 * @property {string} [url] the platform; the origin of this module by default
 * @property {string | null} [token] a token that may publish; not needed on a platform on loopback
 * @property {MediaStream} media the media, such as that of `navigator.mediaDevices.getUserMedia()`
 * @property {"H264" | "VP8" | "VP9" | "AV1" | "H265"} [codec] the preferred video codec; H264 by default
 * @property {1 | 3} [layers] 3 for simulcast, of which each viewer receives the best layer that its link carries
 * @property {boolean} [retries] whether it publishes again by itself after a failure; true by default
 * @property {(connection: RTCPeerConnection) => PublishingSession} [makeSession] creates the session of a connection;
 *   by default, one of WHIP. The rooms of this module use it.
 */

/**
 * What a publisher needs of its session with the platform.
 * @typedef {Pick<Session, "open" | "close" | "streamID" | "hasAddress" | "onEnded" | "onLost" | "onNoAddress"
 *   | "onQuality" | "onSecondCodec">} PublishingSession
 */

/** The end reasons after which publishing is retried, as in Phenix's clients. */
const PASSING = [null, "failed", "maintenance", "capacity", "overload"];

/**
 * A publisher of a stream. Create it with `publish()`. It does not stop the tracks of its media.
 *
 * Events, as `CustomEvent`s with these details:
 *
 * - `statechange` `{ state }`
 * - `publishing` `{ streamId, watch }`: the platform has accepted the stream; `watch` is the address of its page
 * - `online`, `offline`: the platform receives media; the path is lost
 * - `dataquality` {@link DataQuality}
 * - `waiting` `{ error, delay }`: the stream was lost; it is published again after `delay` milliseconds
 * - `failed` `{ error }`: the stream cannot be published
 * - `ended` `{ reason }`: the platform has ended the stream, with the reason of the protocol, or null
 */
export class Publisher extends EventTarget {
  #url;
  /** @type {string | null} */ #token;
  /** @type {string} */ #codec;
  /** @type {1 | 3} */ #layers;
  /** @type {boolean} */ #retries;
  /** @type {RTCPeerConnection | null} */ #connection = null;
  /** @type {PublishingSession | null} */ #session = null;
  /** @type {Session | null} The session of the second codec. */ #second = null;
  /** @type {string | null} The key of the request for it. */ #secondKey = null;
  /** @type {PublishOptions["makeSession"]} */ #makeSession;
  /** @type {StatisticsReader | null} */ #statistics = null;
  /** @type {DataQuality | null} */ #quality = null;
  /** @type {PublisherState} */ #state = "connecting";
  /** @type {number | undefined} */ #timer;
  #abort = new AbortController();
  #attempts = 0; #isApart = false; #muted = false;
  /** Whether publishing has succeeded, so that it is retried after a failure. */
  #isReturning = false;

  /** @param {PublishOptions} options */
  constructor({ url, token = null, media, codec = "H264", layers = 1, retries = true, makeSession }) {
    super();
    this.#url = new URL(url ?? import.meta.url, location.href).origin;
    [this.#token, this.#codec, this.#layers, this.#retries] = [token, codec, layers, retries];
    this.#makeSession = makeSession;
    /** The media. */
    this.media = media;
    addEventListener("pagehide", () => this.stop(), { signal: this.#abort.signal });
    // Events of the first attempt come after the caller has added its listeners.
    queueMicrotask(() => { if (!this.isOver) this.#open(); });
  }

  /** The state. */
  get state() { return this.#state; }

  /** Whether the publisher has ended, failed or was stopped. */
  get isOver() { return ["ended", "failed", "stopped"].includes(this.#state); }

  /** The identifier of the stream; null before `publishing`. */
  get streamId() { return this.#session?.streamID ?? null; }

  /** The data quality; null if it is not known. */
  get quality() { return this.#quality; }

  /** Whether silence is sent in place of the audio. */
  get muted() { return this.#muted; }
  set muted(isMuted) {
    this.#muted = isMuted;
    for (const track of this.media.getAudioTracks()) track.enabled = !isMuted;
  }

  /**
   * Replaces the media. The stream continues with the tracks of the same kinds.
   * @param {MediaStream} media
   */
  async replaceMedia(media) {
    this.media = media;
    this.muted = this.#muted;
    const connections = [this.#connection, this.#second?.connection];
    for (const { sender } of connections.flatMap((each) => each?.getTransceivers() ?? [])) {
      const track = media.getTracks().find((each) => each.kind === sender.track?.kind);
      if (track) await sender.replaceTrack(track);
    }
  }

  /** Ends the stream. */
  stop() {
    if (this.#state === "stopped") return;
    this.#finish("stopped", {});
  }

  /** Returns the statistics; null while no media is sent. */
  async statistics() { return (await this.#statistics?.publisher()) ?? null; }

  async #open() {
    this.#leave();
    this.#setState("connecting");
    const connection = makeConnection(this.#isApart);
    this.#connection = connection;
    for (const track of [...this.media.getVideoTracks(), ...this.media.getAudioTracks()]) {
      const isVideo = track.kind === "video";
      const transceiver = connection.addTransceiver(track, {
        direction: "sendonly", streams: [this.media], sendEncodings: isVideo ? this.#encodings() : [{}],
      });
      if (isVideo) preferCodec(transceiver, this.#codec);
    }
    const session = this.#makeSession?.(connection) ?? new Session(connection, this.#endpoint(), this.#token);
    const isCurrent = () => this.#session === session;
    connection.addEventListener("connectionstatechange", () => { if (isCurrent()) this.#noteConnection(connection); });
    session.onEnded = (reason) => { if (isCurrent()) this.#noteEnd(reason); };
    session.onLost = () => { if (isCurrent()) this.#again(new PCastError("session-lost", "The platform has lost the stream.")); };
    session.onNoAddress = () => { if (isCurrent()) this.#noteNoAddress(); };
    session.onQuality = (quality) => { if (isCurrent()) this.#noteQuality(quality); };
    session.onSecondCodec = ({ codec, key }) => { if (isCurrent()) this.#sendSecondCodec(codec, key); };
    this.#session = session;
    try {
      await session.open(requestStereo);
      if (!isCurrent()) return;
      this.#isReturning = true;
      this.#statistics = new StatisticsReader(connection);
      const streamId = session.streamID ?? "";
      this.#emit("publishing", { streamId, watch: `${this.#url}/watch/${encodeURIComponent(streamId)}` });
    } catch (error) {
      if (isCurrent()) this.#refuse(error);
    }
  }

  // One layer or three simulcast layers. The rids and bit rates are those of PCast's own publisher.
  #encodings() {
    if (this.#layers === 1) return [{ maxBitrate: 2_500_000 }];
    return [
      { rid: "l", scaleResolutionDownBy: 4, maxBitrate: 200_000 },
      { rid: "m", scaleResolutionDownBy: 2, maxBitrate: 600_000 },
      { rid: "h", maxBitrate: 2_500_000 },
    ];
  }

  // The address of the endpoint. All viewers decode H264, so that no second codec is needed with it.
  #endpoint() { return `${this.#url}/whip${this.#codec === "H264" ? "" : "?secondCodec=offered"}`; }

  /**
   * Sends the media in a second codec, too, in a connection of its own, or stops that.
   * @param {string} [codec]
   * @param {string} [key] the key of the platform's request
   */
  #sendSecondCodec(codec, key) {
    // The platform repeats its request when the browser has connected to the events again.
    if (key && key === this.#secondKey) return;
    this.#second?.close();
    [this.#second, this.#secondKey] = [null, key ?? null];
    if (!codec || !key) return;
    const connection = makeConnection(this.#isApart);
    for (const track of [...this.media.getVideoTracks(), ...this.media.getAudioTracks()]) {
      const isVideo = track.kind === "video";
      const transceiver = connection.addTransceiver(track, {
        direction: "sendonly", streams: [this.media], sendEncodings: [isVideo ? { maxBitrate: 2_500_000 } : {}],
      });
      if (isVideo) preferCodec(transceiver, codec);
    }
    const second = new Session(connection, `${this.#url}/whip?secondCodecKey=${encodeURIComponent(key)}`, this.#token);
    second.followsEvents = false;
    this.#second = second;
    // The platform stops waiting for a codec that does not come, and the first one continues.
    second.open(requestStereo).catch(() => second.close());
  }

  #leave() {
    clearTimeout(this.#timer);
    this.#second?.close();
    [this.#second, this.#secondKey] = [null, null];
    this.#session?.close();
    [this.#session, this.#connection, this.#statistics, this.#quality] = [null, null, null, null];
  }

  /** @param {RTCPeerConnection} connection */
  #noteConnection(connection) {
    reportConnectionState(connection.connectionState, {
      quality: () => this.#quality,
      connected: () => {
        this.#attempts = 0;
        this.#setState("publishing");
      },
      interrupted: () => this.#setState("interrupted"),
      failed: (error) => { if (this.#session?.hasAddress) this.#again(error); },
      emit: (type, detail) => this.#emit(type, detail),
    });
  }

  /** @param {DataQuality} quality */
  #noteQuality(quality) {
    this.#quality = quality;
    this.#emit("dataquality", quality);
  }

  /** @param {string | null} reason */
  #noteEnd(reason) {
    if (this.#isReturning && this.#retries && PASSING.includes(reason)) {
      return this.#again(new PCastError("stream-ended", "The stream has ended.", { reason }));
    }
    this.#finish("ended", { reason });
  }

  // Firefox may have found no address because it considers only the IP version of the page's address. A connection in a
  // separate document uses both.
  #noteNoAddress() {
    this.#isApart = isFirefox && !this.#isApart;
    if (this.#isApart) this.#open();
    else this.#again(new PCastError("no-address", "This browser has no network address for media."));
  }

  /** @param {unknown} problem */
  #refuse(problem) {
    const error = problem instanceof PCastError ? problem : problem instanceof TypeError
      ? new PCastError("unreachable", "The platform cannot be reached.") : new PCastError("failed", `${problem}`);
    const isPassing = error.code === "unreachable" || [429, 503].includes(error.status);
    if (isPassing) this.#again(error);
    else this.#finish("failed", { error });
  }

  /**
   * Publishes again after a delay that grows with each attempt, if publishing has succeeded before.
   * @param {PCastError} error
   */
  #again(error) {
    if (!this.#isReturning || !this.#retries) return this.#finish("failed", { error });
    const delay = this.#attempts === 0 ? 500 : Math.min(1000 * this.#attempts, 10_000);
    this.#leave();
    this.#attempts += 1;
    this.#timer = setTimeout(() => this.#open(), delay);
    this.#setState("waiting");
    this.#emit("waiting", { error, delay });
  }

  /**
   * @param {"ended" | "failed" | "stopped"} state
   * @param {object} detail
   */
  #finish(state, detail) {
    this.#leave();
    this.#abort.abort();
    this.#setState(state);
    this.#emit(state, detail);
  }

  /** @param {PublisherState} state */
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

/**
 * @param {RTCRtpTransceiver} transceiver
 * @param {string} codec
 */
function preferCodec(transceiver, codec) {
  const codecs = RTCRtpSender.getCapabilities("video")?.codecs ?? [];
  const isPreferred = (/** @type {{ mimeType: string }} */ each) => each.mimeType.toLowerCase() === `video/${codec}`.toLowerCase();
  if (!codecs.some(isPreferred)) return;
  transceiver.setCodecPreferences([...codecs.filter(isPreferred), ...codecs.filter((each) => !isPreferred(each))]);
}
