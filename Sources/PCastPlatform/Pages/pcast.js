// The code that all pages share: WHIP and WHEP (RFC 9725 and draft-ietf-wish-whep) in the browser, without a build
// step.

/**
 * Returns the token of the page, or null. It is in the fragment of the address, which browsers do not send; in older
 * links it is in the query. It is removed from the address, so that the history does not contain it.
 */
export function takeToken() {
  const address = new URL(location.href);
  const fragment = new URLSearchParams(address.hash.slice(1));
  const token = fragment.get("token") ?? address.searchParams.get("token");
  const key = "pcast-token:" + address.pathname;
  if (token) {
    address.searchParams.delete("token");
    fragment.delete("token");
    address.hash = fragment.toString();
    history.replaceState(null, "", address.href.replace(/#$/, ""));
  }
  try {
    if (token) sessionStorage.setItem(key, token);
    return token ?? sessionStorage.getItem(key);
  } catch {
    return token; // if another site embeds the page, the browser may refuse storage
  }
}

/** An error response of the platform, with a message for the user. */
export class Refusal extends Error {
  constructor(status, text, sections = []) {
    super(text || `the platform answered ${status}`);
    this.status = status;
    /** The media sections of the offer that the error is about, each with kind, reason and detail. */
    this.sections = sections;
  }
}

/**
 * Returns the error of a response. The message is the detail of its problem report (RFC 9457) if there is one,
 * otherwise its text.
 */
async function refusal(response) {
  let text = await response.text();
  let sections = [];
  if (/^application\/problem\+json\b/i.test(response.headers.get("Content-Type") ?? "")) {
    try {
      const problem = JSON.parse(text);
      text = problem.detail ?? "";
      if (Array.isArray(problem.sections)) sections = problem.sections;
    } catch { /* the text is used as it is */ }
  }
  return new Refusal(response.status, text.slice(0, 400), sections);
}

/** Whether this is Firefox, for which the pages have workarounds. */
export const isFirefox = navigator.userAgent.includes("Firefox/");

/** Returns the names of PCast's video codecs that this browser cannot receive, or cannot send. */
export function missingVideoCodecs(direction) {
  const known = { "video/h264": "H.264", "video/vp8": "VP8" };
  const endpoint = direction === "receive" ? RTCRtpReceiver : RTCRtpSender;
  const found = (endpoint.getCapabilities?.("video")?.codecs ?? []).map((codec) => codec.mimeType.toLowerCase());
  return found.length ? Object.entries(known).filter(([type]) => !found.includes(type)).map(([, name]) => name) : [];
}

let blankFrame = null;

/**
 * Creates a peer connection.
 *
 * If a page captures no media, Firefox uses only the local address from which it would reach the page's server. For a
 * server on loopback, that is the address of the default route of the same IP version. In a document without a server
 * it uses the default routes of both IP versions; `isApart` creates the connection in such a document.
 */
export function makeConnection(isApart) {
  const configuration = { bundlePolicy: "max-bundle" };
  if (!isApart) return new RTCPeerConnection(configuration);
  if (!blankFrame) {
    blankFrame = document.createElement("iframe");
    blankFrame.hidden = true;
    document.body.append(blankFrame);
  }
  return new blankFrame.contentWindow.RTCPeerConnection(configuration);
}

/** Returns headline and explanation for a browser that has found no local address for media. */
export function describeNoAddress() {
  const isLocal = /^(localhost|127\..*|\[::1\])$/.test(location.hostname);
  return {
    headline: "This browser has no network address for media",
    why: isLocal
      ? "Browsers do not use the loopback interface for media. Connect this computer to a network and try again."
      : "It found no address of this computer that it may use. A setting, an extension or a policy may forbid it to.",
  };
}

/**
 * A WHIP or WHEP session. It sends the offer, trickles candidates, restarts ICE when the path is lost, reports the end
 * of the session, and deletes its resource.
 */
export class Session {
  #connection; #endpoint; #token; #headers;
  #resource = null; #tag = null; #closed = false;
  #waiting = []; #holdsCandidates = true; #interruption = null; #events = null;
  #relays = []; #detour = null; #layers = null; #isOver = false; #addressTimer = null;
  #hasAddress = false; #isWithoutAddress = false;

  /** Called once when the platform has ended the session, with the reason of the protocol, or null. */
  onEnded = () => {};

  /** Called once when the platform does not know the session any more, such as after a restart. */
  onLost = () => {};

  /** Called once when the browser has found no local address for media. */
  onNoAddress = () => {};

  /** Called with the data quality, {status, reason}: first the current one, then each change. */
  onQuality = () => {};

  /** The identifier of the stream, from a header field of the response. */
  streamID = null;

  /** Creates a session. `headers` are additional header fields of its first request. */
  constructor(connection, endpoint, token, headers = {}) {
    this.#connection = connection;
    this.#headers = headers;
    this.#endpoint = endpoint;
    this.#token = token;
  }

  /** Joins in one round trip. The offer does not wait for candidates, because the platform does not need them. */
  async open(editOffer = (sdp) => sdp) {
    const connection = this.#connection;
    connection.addEventListener("icecandidate", (event) => {
      if (event.candidate?.candidate) this.#hasAddress = true;
      this.#trickle(event.candidate);
    });
    connection.addEventListener("connectionstatechange", () => this.#noteState());
    const offer = await connection.createOffer();
    offer.sdp = editOffer(offer.sdp);
    await connection.setLocalDescription(offer);
    // Candidates are found within milliseconds. Some browsers do not report that there are none.
    this.#addressTimer = setTimeout(() => this.#noteNoAddress(), 1500);
    const response = await fetch(this.#endpoint, {
      method: "POST",
      headers: { "Content-Type": "application/sdp", ...this.#headers, ...this.#authorization() },
      body: connection.localDescription.sdp,
      referrerPolicy: "no-referrer",
    });
    if (response.status !== 201) throw await refusal(response);
    this.#resource = new URL(response.headers.get("Location"), response.url).href;
    this.#tag = response.headers.get("ETag");
    this.streamID = response.headers.get("PCast-Stream-Id");
    this.#relays = iceServers(response.headers.get("Link"));
    this.#layers = linked(response, ":core:layer");
    this.#followEvents(linked(response, "server-sent-events"));
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
      if (response.status !== 200) throw await refusal(response);
      this.#tag = response.headers.get("ETag");
      const fragment = await response.text();
      let answer = connection.currentRemoteDescription.sdp;
      for (const name of ["ice-ufrag", "ice-pwd"]) {
        const value = attribute(fragment, name);
        answer = answer.replace(new RegExp(`^a=${name}:.*$`, "gm"), () => `a=${name}:${value}`);
      }
      await connection.setRemoteDescription({ type: "answer", sdp: answer });
    } catch (error) {
      if (connection.signalingState === "have-local-offer") {
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
    const { mediaId, layers = [] } = response.ok ? await response.json() : {};
    const lowest = layers.filter((layer) => layer.active).at(-1);
    if (layers.length < 2 || !lowest) return;
    await fetch(this.#layers, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...this.#authorization() },
      body: JSON.stringify({ mediaId, encodingId: lowest.encodingId }),
    });
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
    if (this.#resource) this.#delete();
  }

  // Receives the server-sent events of the session, from the URI in the response.
  #followEvents(address) {
    if (!address || this.#closed) return;
    this.#events = new EventSource(address);
    // The browser reconnects by itself when the connection breaks. It is closed only if the platform does not know the
    // session.
    this.#events.addEventListener("error", () => {
      if (!this.#closed && this.#events.readyState === EventSource.CLOSED) this.onLost();
    });
    this.#events.addEventListener("data-quality", (event) => {
      if (!this.#closed) this.onQuality(JSON.parse(event.data));
    });
    this.#events.addEventListener("ended", (event) => this.#noteEnd(JSON.parse(event.data).reason ?? null));
  }

  #noteEnd(reason) {
    if (this.#closed || this.#isOver) return;
    this.#isOver = true;
    this.#events?.close();
    this.onEnded(reason);
  }

  #delete() {
    fetch(this.#resource, { method: "DELETE", headers: this.#authorization(), keepalive: true }).catch(() => {});
  }

  // The state of the connection does not show that the peer closed DTLS, but the state of its transport does.
  #watchTransport() {
    const transport = this.#connection.getTransceivers().map((each) => each.receiver.transport).find(Boolean);
    transport?.addEventListener("statechange", () => {
      // The event with the reason arrives at about the same time, unless it is lost.
      if (transport.state === "closed") setTimeout(() => this.#noteEnd(null), 1500);
    });
  }

  #authorization() { return this.#token ? { Authorization: `Bearer ${this.#token}` } : {}; }

  #trickle(candidate) {
    if (this.#closed || !candidate?.candidate) return;
    if (this.#holdsCandidates) { this.#waiting.push(candidate); return; }
    const lines = [
      ...this.#credentials(),
      "m=audio 9 UDP/TLS/RTP/SAVPF 0", `a=mid:${candidate.sdpMid}`, `a=${candidate.candidate}`, "",
    ];
    fetch(this.#resource, {
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
    const local = this.#connection.localDescription.sdp;
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

/** Returns the URI of the response's Link field with a relation that contains the text; null if there is none. */
function linked(response, relation) {
  const link = (response.headers.get("Link") ?? "").split(/,(?=\s*<)/).find((each) => each.includes(relation));
  const address = /<([^>]*)>/.exec(link ?? "")?.[1];
  return address ? new URL(address, response.url).href : null;
}

const endings = {
  viewer: {
    ended: "The publisher ended the stream.", censored: "The stream was censored.",
    maintenance: "The platform is under maintenance.", capacity: "The platform has reached its capacity.",
    failed: "The connection to the publisher was lost.", overload: "The platform was overloaded.",
    "app-background": "The publisher's application went to the background.", "pcast-stop": "The publisher left.",
  },
  publisher: {
    ended: "The stream was ended on the platform.", censored: "The stream was censored.",
    maintenance: "The platform is under maintenance: publish again later.",
    capacity: "The platform has reached its capacity.", failed: "The connection to the platform was lost.",
    overload: "The platform was overloaded.", "app-background": "The page went to the background.",
    "pcast-stop": "The page was closed.",
  },
};

/** Returns the reason of a stream's end for the user. A reason of the application is returned as it is. */
export const describeEnd = (role, reason) => (reason === null ? "" : endings[role][reason] ?? reason);

/** Returns the ICE servers of Link fields with rel="ice-server" (RFC 9725, section 4.6). */
export function iceServers(header) {
  const links = (header ?? "").matchAll(/<((?:turn|stun)s?:[^>]+)>((?:\s*;\s*[a-z-]+="[^"]*")*)/gi);
  return [...links].flatMap(([, urls, list]) => {
    const values = Object.fromEntries(
      [...list.matchAll(/([a-z-]+)="([^"]*)"/gi)].map(([, name, value]) => [name, value]));
    const { rel, username, credential } = values;
    return rel === "ice-server" ? [{ urls, username, credential }] : [];
  });
}

const attribute = (text, name) => new RegExp(`^a=${name}:(.*)$`, "m").exec(text)?.[1].trim();

/** Adds stereo to an offer. Browsers play mono if the subscriber's own offer does not contain it. */
export function askForStereo(sdp) {
  const payload = /^a=rtpmap:(\d+) opus\/48000\/2/mi.exec(sdp)?.[1];
  if (!payload) return sdp;
  return sdp.replace(new RegExp(`^a=fmtp:${payload} (.*)$`, "m"), (line) =>
    line.includes("stereo=1") ? line : `${line.trimEnd()};stereo=1;sprop-stereo=1`);
}

/** Rates per second, computed from two readings of getStats. */
export class Figures {
  #connection; #previous = new Map();
  constructor(connection) { this.#connection = connection; }

  async read() {
    const reports = [...(await this.#connection.getStats()).values()];
    const of = (type, kind) => reports.find((report) => report.type === type && (!kind || report.kind === kind));
    const pair = reports.find((report) => report.type === "candidate-pair" && report.nominated);
    return { reports, of, rate: (report, field) => this.#rate(report, field), roundTrip: pair?.currentRoundTripTime };
  }

  #rate(report, field) {
    if (!report || report[field] === undefined) return null;
    const key = report.id + field;
    const last = this.#previous.get(key);
    this.#previous.set(key, { value: report[field], time: report.timestamp });
    if (!last || report.timestamp <= last.time) return null;
    return ((report[field] - last.value) * 1000) / (report.timestamp - last.time);
  }
}

const qualityWords = {
  viewer: {
    "all download-limited": "Your connection is slow: the quality is reduced.",
    "all publisher-limited": "The publisher's connection is slow: the quality is reduced.",
    "all network-limited": "Other viewers' connections are slow: the quality is reduced.",
    "audio-only none": "Audio only: the stream has no video.",
    "audio-only download-limited": "Your connection is too slow for video: audio only.",
    "audio-only publisher-limited": "The publisher's connection is too slow for video: audio only.",
    "audio-only network-limited": "Other viewers' connections are too slow for video: audio only.",
    "no-data none": "No data arrives: check your connection.",
    "no-data download-limited": "Your connection is too slow: no data arrives.",
    "no-data publisher-limited": "No data arrives from the publisher.",
    "no-data network-limited": "Other viewers' connections are too slow: the stream has no data.",
  },
  publisher: {
    "all upload-limited": "Your connection is slow: the quality is reduced.",
    "all network-limited": "Viewers' connections are slow: the quality is reduced.",
    "audio-only upload-limited": "Your connection is too slow for video: audio only.",
    "audio-only network-limited": "Viewers' connections are too slow for video: audio only.",
    "no-data none": "No data reaches the platform: check your connection.",
    "no-data upload-limited": "Your connection is too slow: no data arrives.",
  },
};
const statusWords = { "all": "Good", "audio-only": "Audio only", "no-data": "No data" };
const reasonWords = {
  "none": "", "upload-limited": "limited by the uplink",
  "download-limited": "limited by the downlink", "publisher-limited": "limited by the publisher",
  "network-limited": "limited by other viewers",
};

/** Shows the data quality in the statistics, and as a notice over the video while it is not good; null for none. */
export function showQuality(role, quality) {
  const figure = document.getElementById("quality");
  const notice = document.getElementById("notice");
  const text = quality && qualityWords[role][`${quality.status} ${quality.reason}`];
  const level = !quality || (quality.status !== "no-data" && quality.reason === "none")
    ? "" : quality.status === "no-data" ? "bad" : "fair";
  show("quality", quality && statusWords[quality.status]);
  const reason = quality && !(quality.reason === "none" && quality.status !== "all") ? reasonWords[quality.reason] : "";
  document.getElementById("reason").textContent = reason ?? "";
  figure.className = level;
  notice.className = `notice ${level}`;
  if (text && notice.textContent !== text) notice.textContent = text;
  notice.hidden = !text;
}

export const show = (id, text) => { document.getElementById(id).textContent = text ?? "–"; };
export const showNoFigures = () => {
  for (const figure of document.querySelectorAll(".figures dd")) figure.textContent = "–";
  for (const detail of document.querySelectorAll(".figures .detail")) detail.textContent = "";
};
export const bitrate = (bytes) => {
  if (bytes === null || bytes === undefined) return null;
  const kilobits = (bytes * 8) / 1000;
  return kilobits >= 1000 ? `${(kilobits / 1000).toFixed(2)} Mbit/s` : `${kilobits.toFixed(0)} kbit/s`;
};

/** Sets text and color of the status badge: good, fair, bad or none. */
export function badge(text, quality = "") {
  const element = document.getElementById("state");
  element.textContent = text;
  element.className = `badge ${quality}`;
}
