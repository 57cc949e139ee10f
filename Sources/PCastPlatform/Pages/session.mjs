// A WHIP or WHEP session (RFC 9725 and draft-ietf-wish-whep) over a peer connection: a part of /pcast.mjs.
// @ts-check

/**
 * The codes of errors:
 *
 * - `unauthorized`: the token is missing or not valid
 * - `not-playing`: the stream does not exist, or not yet
 * - `gone`: the stream has ended
 * - `unsupported`: the browser cannot receive, or send, the media of the stream
 * - `unreachable`: the platform cannot be reached
 * - `no-address`: the browser has found no local address for media
 * - `connection-lost`: the media path broke
 * - `session-lost`: the platform does not know the session any more, such as after a restart
 * - `stream-ended`: the stream has ended, with a reason after which it may resume
 * - `not-found`: the room, or the member, does not exist
 * - `conflict`: others change the member at the same time
 * - `rate-limited`: there are too many requests or messages, or a message is too large
 * - `refused`: the platform refused for another reason
 * - `failed`: the browser failed
 *
 * @typedef {"unauthorized" | "not-playing" | "gone" | "unsupported" | "unreachable" | "no-address" | "connection-lost"
 *   | "session-lost" | "stream-ended" | "not-found" | "conflict" | "rate-limited" | "refused"
 *   | "failed"} PCastErrorCode
 */

/**
 * A media section of an offer that the platform rejected.
 * @typedef {{ kind: string, reason: string, detail: string }} RejectedSection
 */

/**
 * The data quality: what arrives of the stream, and what limits it (docs/DATA-QUALITY.md).
 * @typedef {{ status: "all" | "audio-only" | "no-data", reason: string }} DataQuality
 */

/**
 * A mapping of RTP timestamps to times: the timestamp, its time in milliseconds since 1970, and the ticks per second.
 * @typedef {{ rtpTimestamp: number, time: number, clockRate: number }} CaptureClock
 */

/** An error with a code for programs and a message for people. */
export class PCastError extends Error {
  /**
   * @param {PCastErrorCode} code the code
   * @param {string} message the message
   * @param {{ status?: number, sections?: RejectedSection[], reason?: string | null }} details further properties
   */
  constructor(code, message, { status = 0, sections = [], reason = null } = {}) {
    super(message);
    this.name = "PCastError";
    /** @type {PCastErrorCode} The code. */
    this.code = code;
    /** The status of the HTTP response; 0 if there is none. */
    this.status = status;
    /** The media sections of the offer that the error is about. */
    this.sections = sections;
    /** The end reason of the stream; null if there is none. */
    this.reason = reason;
  }
}

/**
 * Returns the error of a response. The message is the detail of its problem report (RFC 9457) if there is one,
 * otherwise its text.
 * @param {Response} response
 */
async function responseError(response) {
  let text = await response.text();
  let sections = [];
  let protocolStatus = "";
  if (/^application\/problem\+json\b/i.test(response.headers.get("Content-Type") ?? "")) {
    try {
      const problem = JSON.parse(text);
      text = problem.detail ?? "";
      protocolStatus = problem.protocolStatus ?? "";
      if (Array.isArray(problem.sections)) sections = problem.sections;
    } catch { /* the text is used as it is */ }
  }
  /** @type {Record<number, PCastErrorCode>} */
  const codes = { 401: "unauthorized", 403: "unauthorized", 404: "not-playing", 410: "gone", 422: "unsupported" };
  const message = text.slice(0, 400) || `The platform answered with status ${response.status}.`;
  // WHEP answers 409 without a publisher, and also while the publisher reconnects, which is not the end of the stream.
  const code = protocolStatus === "no-stream-playing" ? "not-playing" : codes[response.status] ?? "refused";
  return new PCastError(code, message, { status: response.status, sections });
}

/** Whether this is Firefox, for which there are workarounds. */
export const isFirefox = navigator.userAgent.includes("Firefox/");

/**
 * Returns the names of PCast's video codecs that this browser cannot receive, or cannot send.
 * @param {"receive" | "send"} direction
 * @returns {string[]}
 */
export function missingVideoCodecs(direction) {
  const known = {
    "video/h264": "H.264", "video/vp8": "VP8", "video/vp9": "VP9", "video/av1": "AV1", "video/h265": "H.265",
  };
  const endpoint = direction === "receive" ? RTCRtpReceiver : RTCRtpSender;
  const found = (endpoint.getCapabilities?.("video")?.codecs ?? []).map((codec) => codec.mimeType.toLowerCase());
  return found.length ? Object.entries(known).filter(([type]) => !found.includes(type)).map(([, name]) => name) : [];
}

/** @type {HTMLIFrameElement | null} */
let blankFrame = null;

/**
 * Creates a peer connection.
 *
 * If a page captures no media, Firefox uses only the local address from which it would reach the page's server. For a
 * server on loopback, that is the address of the default route of the same IP version. In a document without a server
 * it uses the default routes of both IP versions; `isApart` creates the connection in such a document.
 * @param {boolean} isApart
 * @returns {RTCPeerConnection}
 */
export function makeConnection(isApart) {
  /** @type {RTCConfiguration} */
  const configuration = { bundlePolicy: "max-bundle" };
  if (!isApart) return new RTCPeerConnection(configuration);
  if (!blankFrame) {
    blankFrame = document.createElement("iframe");
    blankFrame.hidden = true;
    document.body.append(blankFrame);
  }
  const { RTCPeerConnection: Connection } = /** @type {any} */ (blankFrame.contentWindow);
  return new Connection(configuration);
}

/**
 * A publisher or viewer, as far as it reports the state of its connection.
 *
 * @typedef {object} ConnectionOwner
 * @property {() => DataQuality | null} quality returns the last data quality
 * @property {() => void} connected is called when media flows
 * @property {() => void} interrupted is called when the path is lost
 * @property {(error: PCastError) => void} failed is called when the connection is lost
 * @property {(type: string, detail: object) => void} emit sends an event to the page
 */

/**
 * Reports a change of a connection's state.
 *
 * @param {RTCPeerConnectionState} state
 * @param {ConnectionOwner} owner
 */
export function reportConnectionState(state, owner) {
  switch (state) {
    case "connected": {
      owner.connected();
      owner.emit("online", {});
      const quality = owner.quality();
      if (quality) owner.emit("dataquality", quality);
      break;
    }
    case "disconnected":
      owner.interrupted();
      owner.emit("offline", {});
      // The platform may not be able to report it.
      owner.emit("dataquality", { status: "no-data", reason: "none" });
      break;
    case "failed":
      owner.failed(new PCastError("connection-lost", "The connection was lost."));
      break;
  }
}

/**
 * A WHIP or WHEP session. It sends the offer, trickles candidates, restarts ICE when the path is lost, reports the end
 * of the session, and deletes its resource.
 */
export class Session {
  #connection; #endpoint; #token; #headers;
  /** @type {string | null} */ #resource = null;
  /** @type {string | null} */ #tag = null;
  /** @type {string | null} */ #layers = null;
  /** @type {EventSource | null} */ #events = null;
  /** @type {RTCIceCandidate[]} */ #waiting = [];
  /** @type {RTCIceServer[]} */ #relays = [];
  /** @type {number | undefined} */ #interruption;
  /** @type {number | undefined} */ #detour;
  /** @type {number | undefined} */ #addressTimer;
  /** @type {Promise<Response> | null} The response to the offer; null before it is sent. */ #response = null;
  #closed = false; #holdsCandidates = true; #isOver = false; #hasAddress = false; #isWithoutAddress = false;

  /**
   * Called once when the platform has ended the session, with the reason of the protocol, or null.
   * @type {(reason: string | null) => void}
   */
  onEnded = () => {};

  /**
   * Whether server-sent events are received. They need a connection of their own, and browsers permit six to a host by
   * HTTP/1.1.
   */
  followsEvents = true;

  /** Called once when the platform does not know the session any more, such as after a restart. */
  onLost = () => {};

  /** Called once when the browser has found no local address for media. */
  onNoAddress = () => {};

  /**
   * Called with the data quality: first the current one, then each change.
   * @type {(quality: DataQuality) => void}
   */
  onQuality = () => {};

  /**
   * Called with captions of the stream.
   * @type {(captions: { timestamp: number, cues: { captureTime: number, duration: number, text: string }[] }) => void}
   */
  onCaptions = () => {};

  /**
   * Called when the platform asks a publisher for a second codec, which it sends in a session of its own with the key, and
   * without a codec when nobody needs it any more.
   * @type {(request: { codec?: string, key?: string }) => void}
   */
  onSecondCodec = () => {};

  /**
   * The identifier of the stream, from a header field of the response.
   * @type {string | null}
   */
  streamID = null;

  /**
   * The window of the stream, in which a viewer can seek; null if there is none.
   * @type {StreamWindow | null}
   */
  window = null;

  /**
   * @param {RTCPeerConnection} connection the connection, with its transceivers
   * @param {string} endpoint the address of the WHIP or WHEP endpoint
   * @param {string | null} token the token; null for none
   * @param {Record<string, string>} [headers] additional header fields of the first request
   */
  constructor(connection, endpoint, token, headers = {}) {
    this.#connection = connection;
    this.#headers = headers;
    this.#endpoint = endpoint;
    this.#token = token;
  }

  /** The connection. */
  get connection() { return this.#connection; }

  /**
   * Sends the offer. A page may do so before it is ready for media; `open()` continues with the response. The offer does
   * not wait for candidates, because the platform does not need them.
   * @param {(sdp: string) => string} [editOffer]
   */
  offer(editOffer = (sdp) => sdp) {
    this.#response = this.#send(editOffer);
    this.#response.catch(() => {}); // `open()` reports it
  }

  /**
   * @param {(sdp: string) => string} editOffer
   * @returns {Promise<Response>}
   */
  async #send(editOffer) {
    const connection = this.#connection;
    connection.addEventListener("icecandidate", (event) => {
      if (event.candidate?.candidate) this.#hasAddress = true;
      this.#trickle(event.candidate);
    });
    connection.addEventListener("connectionstatechange", () => this.#noteState());
    const offer = await connection.createOffer();
    const sdp = editOffer(offer.sdp ?? "");
    await connection.setLocalDescription({ type: "offer", sdp });
    // Candidates are found within milliseconds. Some browsers do not report that there are none.
    this.#addressTimer = setTimeout(() => this.#noteNoAddress(), 1500);
    return fetch(this.#endpoint, {
      method: "POST",
      // With this type the platform reports why it rejects an offer, instead of making a counter-offer. The browser's
      // offer has all that the browser can receive.
      headers: {
        "Content-Type": "application/sdp", "Accept": "application/sdp, application/problem+json",
        ...this.#headers, ...this.#authorization(),
      },
      body: connection.localDescription?.sdp,
      referrerPolicy: "no-referrer",
    });
  }

  /**
   * Joins in one round trip, with the offer that `offer()` has sent if it was called.
   * @param {(sdp: string) => string} [editOffer]
   * @throws {PCastError} if the platform rejects the offer; a TypeError if it cannot be reached
   */
  async open(editOffer) {
    const connection = this.#connection;
    if (!this.#response) this.offer(editOffer);
    if (this.#isWithoutAddress) this.onNoAddress(); // it was noted before this call
    const response = await /** @type {Promise<Response>} */ (this.#response);
    if (response.status !== 201) throw await responseError(response);
    this.#resource = new URL(response.headers.get("Location") ?? "", response.url).href;
    this.#tag = response.headers.get("ETag");
    this.streamID = response.headers.get("PCast-Stream-Id");
    this.#relays = iceServers(response.headers.get("Link"));
    this.#layers = linked(response, ":core:layer");
    this.#followEvents(linked(response, "server-sent-events"));
    this.window = windowOf(response, this.#token);
    const answer = await response.text();
    if (this.#closed) { this.#delete(); return; }
    await connection.setRemoteDescription({ type: "answer", sdp: answer });
    this.#watchTransport();
    this.#release();
    if (this.#relays.length) this.#detour = setTimeout(() => this.#takeDetour(), 1000);
  }

  // Neither UDP nor TCP has reached the platform within a second, so its TURN server over TLS is used. It is added by
  // an ICE restart, so that clients that do not need it have no extra cost.
  #takeDetour() {
    if (this.#closed || !this.#relays.length || this.#connection.connectionState === "connected") return;
    this.#connection.setConfiguration({ ...this.#connection.getConfiguration(), iceServers: this.#relays });
    this.#relays = [];
    this.restart().catch(() => {});
  }

  /** Restarts ICE (RFC 9725, section 4.3.3) with new credentials on both sides. Resource, stream and keys remain. */
  async restart() {
    const connection = this.#connection;
    if (this.#closed || !this.#resource || connection.signalingState !== "stable") return;
    this.#holdsCandidates = true;
    try {
      await connection.setLocalDescription(await connection.createOffer({ iceRestart: true }));
      const response = await fetch(this.#resource, {
        method: "PATCH",
        headers: { "Content-Type": "application/trickle-ice-sdpfrag", "If-Match": "*", ...this.#authorization() },
        body: [...this.#credentials(), ""].join("\r\n"),
      });
      if (response.status !== 200) throw await responseError(response);
      this.#tag = response.headers.get("ETag");
      const fragment = await response.text();
      let answer = connection.currentRemoteDescription?.sdp ?? "";
      for (const name of ["ice-ufrag", "ice-pwd"]) {
        const value = attribute(fragment, name);
        answer = answer.replace(new RegExp(`^a=${name}:.*$`, "gm"), () => `a=${name}:${value}`);
      }
      await connection.setRemoteDescription({ type: "answer", sdp: answer });
    } catch (error) {
      if (/** @type {string} */ (connection.signalingState) === "have-local-offer") {
        await connection.setLocalDescription({ type: "rollback" }).catch(() => {});
      }
      throw error;
    } finally {
      this.#release();
    }
  }

  /** Whether the browser has found a local address for media. */
  get hasAddress() { return this.#hasAddress; }

  /** Whether the platform has accepted the session. */
  get isOpen() { return this.#resource !== null && !this.#closed; }

  /** Selects the lowest layer of the video, if there are several. */
  async chooseLowest() {
    if (!this.#layers || this.#closed) return;
    const response = await fetch(this.#layers, { headers: this.#authorization() });
    const { mediaId, layers = [] } = response.ok ? await response.json() : /** @type {any} */ ({});
    const lowest = layers.filter((/** @type {any} */ layer) => layer.active).at(-1);
    if (layers.length < 2 || !lowest) return;
    await fetch(this.#layers, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...this.#authorization() },
      body: JSON.stringify({ mediaId, encodingId: lowest.encodingId }),
    });
  }

  /**
   * Returns the time of capture for one RTP timestamp of the video, by the platform's clock; null if it is not known.
   * @returns {Promise<CaptureClock | null>}
   */
  async captureClock() {
    if (!this.#resource || this.#closed) return null;
    // The name of the resource is its secret. Without further header fields, the request needs no preflight.
    const response = await fetch(`${this.#resource}/clock`);
    return response.status === 200 ? await response.json() : null;
  }

  /** Ends the session. Further calls have no effect. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#interruption);
    clearTimeout(this.#detour);
    clearTimeout(this.#addressTimer);
    this.#events?.close();
    this.#connection.close();
    // The resource of a session that is over is gone.
    if (this.#resource && !this.#isOver) this.#delete();
  }

  /** Closes the session of a stream that has ended. */
  closeAfterEnd() {
    this.#isOver = true;
    this.close();
  }

  /**
   * Receives the server-sent events of the session, from the URI in the response.
   * @param {string | null} address
   */
  #followEvents(address) {
    if (!address || this.#closed || !this.followsEvents) return;
    const events = this.#events = new EventSource(address);
    // The browser reconnects by itself when the connection breaks. It is closed only if the platform does not know the
    // session.
    events.addEventListener("error", () => {
      if (this.#closed || events.readyState !== EventSource.CLOSED) return;
      this.#isOver = true;
      this.onLost();
    });
    events.addEventListener("data-quality", (event) => {
      if (!this.#closed) this.onQuality(JSON.parse(event.data));
    });
    events.addEventListener("captions", (event) => {
      if (!this.#closed) this.onCaptions(JSON.parse(event.data));
    });
    events.addEventListener("second-codec", (event) => {
      if (!this.#closed) this.onSecondCodec(JSON.parse(event.data));
    });
    events.addEventListener("ended", (event) => this.#noteEnd(JSON.parse(event.data).reason ?? null));
  }

  /** @param {string | null} reason */
  #noteEnd(reason) {
    if (this.#closed || this.#isOver) return;
    this.#isOver = true;
    this.#events?.close();
    this.onEnded(reason);
  }

  #delete() {
    const resource = /** @type {string} */ (this.#resource);
    fetch(resource, { method: "DELETE", headers: this.#authorization(), keepalive: true }).catch(() => {});
  }

  // The state of the connection does not show that the peer closed DTLS, but the state of its transport does.
  #watchTransport() {
    const transport = this.#connection.getTransceivers().map((each) => each.receiver.transport).find(Boolean);
    transport?.addEventListener("statechange", () => {
      // The event with the reason arrives at about the same time, unless it is lost.
      if (transport.state === "closed") setTimeout(() => this.#noteEnd(null), 1500);
    });
  }

  /** @returns {Record<string, string>} */
  #authorization() { return this.#token ? { Authorization: `Bearer ${this.#token}` } : {}; }

  /** @param {RTCIceCandidate | null} candidate */
  #trickle(candidate) {
    if (this.#closed || !candidate?.candidate) return;
    if (this.#holdsCandidates) { this.#waiting.push(candidate); return; }
    const lines = [
      ...this.#credentials(),
      "m=audio 9 UDP/TLS/RTP/SAVPF 0", `a=mid:${candidate.sdpMid}`, `a=${candidate.candidate}`, "",
    ];
    fetch(/** @type {string} */ (this.#resource), {
      method: "PATCH",
      headers: {
        "Content-Type": "application/trickle-ice-sdpfrag",
        ...(this.#tag ? { "If-Match": this.#tag } : {}), ...this.#authorization(),
      },
      body: lines.join("\r\n"),
    }).catch(() => {});
  }

  #release() {
    this.#holdsCandidates = false;
    const ufrag = attribute(this.#connection.localDescription?.sdp ?? "", "ice-ufrag");
    for (const candidate of this.#waiting.splice(0)) {
      if (!candidate.usernameFragment || candidate.usernameFragment === ufrag) this.#trickle(candidate);
    }
  }

  #credentials() {
    const local = this.#connection.localDescription?.sdp ?? "";
    return ["ice-ufrag", "ice-pwd"].map((name) => `a=${name}:${attribute(local, name)}`);
  }

  #noteNoAddress() {
    clearTimeout(this.#addressTimer);
    if (this.#closed || this.#hasAddress || this.#isWithoutAddress) return;
    if (this.#connection.connectionState === "connected") return;
    this.#isWithoutAddress = true;
    this.onNoAddress();
  }

  // The browser reports "disconnected" after some seconds without packets, for example because the network has changed.
  // ICE is then restarted, also with the TURN server, until packets arrive or the browser gives up.
  #noteState() {
    clearTimeout(this.#interruption);
    if (this.#connection.connectionState === "failed" && !this.#hasAddress) return this.#noteNoAddress();
    if (!["disconnected", "failed"].includes(this.#connection.connectionState)) return;
    const again = () => {
      if (this.#closed || this.#connection.connectionState === "connected") return;
      if (this.#relays.length) this.#takeDetour();
      else this.restart().catch(() => {});
      this.#interruption = setTimeout(again, 3000);
    };
    this.#interruption = setTimeout(again, 500);
  }
}

/**
 * Returns the URI of the response's Link field with a relation that contains the text; null if there is none.
 * @param {Response} response
 * @param {string} relation
 */
function linked(response, relation) {
  const link = (response.headers.get("Link") ?? "").split(/,(?=\s*<)/).find((each) => each.includes(relation));
  const address = /<([^>]*)>/.exec(link ?? "")?.[1];
  return address ? new URL(address, response.url).href : null;
}

/**
 * The window of a stream.
 * @typedef {object} StreamWindow
 * @property {string} uri the multivariant playlist
 * @property {number} start the start of the stream, in milliseconds since 1970
 * @property {number} duration the duration of the window in milliseconds
 */

/**
 * Returns the window that a response's Link field describes; null if there is none. The token is added to a URI that ends
 * with an empty parameter for it.
 * @param {Response} response
 * @param {string | null} token
 * @returns {StreamWindow | null}
 */
function windowOf(response, token) {
  const address = linked(response, ":pcast:time-shift");
  const [, list] = /pcast:time-shift"([^<]*)/.exec(response.headers.get("Link") ?? "") ?? [];
  const value = (/** @type {string} */ name) => Number(new RegExp(`${name}="(\\d+)"`).exec(list ?? "")?.[1] ?? NaN);
  const [start, duration] = [value("start"), value("duration")];
  if (!address || !Number.isFinite(start + duration)) return null;
  const needsToken = address.endsWith("?token=");
  const uri = !needsToken ? address : token ? address + encodeURIComponent(token) : address.slice(0, -"?token=".length);
  return { uri, start, duration };
}

/**
 * Returns the ICE servers of Link fields with rel="ice-server" (RFC 9725, section 4.6).
 * @param {string | null} header
 * @returns {RTCIceServer[]}
 */
export function iceServers(header) {
  const links = (header ?? "").matchAll(/<((?:turn|stun)s?:[^>]+)>((?:\s*;\s*[a-z-]+="[^"]*")*)/gi);
  return [...links].flatMap(([, urls, list]) => {
    const values = Object.fromEntries(
      [...list.matchAll(/([a-z-]+)="([^"]*)"/gi)].map(([, name, value]) => [name, value]));
    const { rel, username, credential } = values;
    return rel === "ice-server" ? [{ urls, username, credential }] : [];
  });
}

/**
 * Returns the value of the first attribute of a name in a session description.
 * @param {string} text
 * @param {string} name
 */
const attribute = (text, name) => new RegExp(`^a=${name}:(.*)$`, "m").exec(text)?.[1].trim();

/**
 * Adds stereo to an offer. Browsers play mono if the subscriber's own offer does not contain it.
 * @param {string} sdp
 */
export function requestStereo(sdp) {
  const payload = /^a=rtpmap:(\d+) opus\/48000\/2/mi.exec(sdp)?.[1];
  if (!payload) return sdp;
  return sdp.replace(new RegExp(`^a=fmtp:${payload} (.*)$`, "m"), (line) =>
    line.includes("stereo=1") ? line : `${line.trimEnd()};stereo=1;sprop-stereo=1`);
}
