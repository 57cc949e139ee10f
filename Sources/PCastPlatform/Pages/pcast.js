// What the pages share: WHIP and WHEP (RFC 9725 and draft-ietf-wish-whep) in the browser, without a build step.

/**
 * The token of this page. It stands in the fragment of the address, which no browser sends to a server or tells another
 * site; in its query where the link is of an older kind. It is taken from there once and removed, so that it stays out of
 * the history.
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
    return token; // embedded in a page of another site, the browser may refuse all storage
  }
}

/** An answer of the platform that is no success, with what to tell a person. */
export class Refusal extends Error {
  constructor(status, text, sections = []) {
    super(text || `the platform answered ${status}`);
    this.status = status;
    /** The media sections of the offer that it is about, each with kind, reason and detail. */
    this.sections = sections;
  }
}

/** The refusal that a response is: the detail of its problem report (RFC 9457) where it has one, else its text. */
async function refusal(response) {
  let text = await response.text();
  let sections = [];
  if (/^application\/problem\+json\b/i.test(response.headers.get("Content-Type") ?? "")) {
    try {
      const problem = JSON.parse(text);
      text = problem.detail ?? "";
      if (Array.isArray(problem.sections)) sections = problem.sections;
    } catch { /* as it came */ }
  }
  return new Refusal(response.status, text.slice(0, 400), sections);
}

/** Whether this is Firefox, which has ways of its own where a page meets them. */
export const isFirefox = navigator.userAgent.includes("Firefox/");

/** The video codecs of PCast that this browser cannot receive, or cannot send, by their names for people. */
export function missingVideoCodecs(direction) {
  const known = { "video/h264": "H.264", "video/vp8": "VP8" };
  const endpoint = direction === "receive" ? RTCRtpReceiver : RTCRtpSender;
  const found = (endpoint.getCapabilities?.("video")?.codecs ?? []).map((codec) => codec.mimeType.toLowerCase());
  return found.length ? Object.entries(known).filter(([type]) => !found.includes(type)).map(([, name]) => name) : [];
}

let blankFrame = null;

/**
 * A peer connection.
 *
 * Firefox lets a page that captures nothing use only the address by which it would reach the page's own server, and for
 * a server on loopback the one of the default route of the same family. In a document that no server sent it uses the
 * default routes of both families: `isApart` makes the connection in such a one.
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

/** Headline and explanation for a browser that has found no address of this computer that media can use. */
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
 * One WHIP or WHEP session: posts the offer, trickles candidates, restarts ICE when the path is lost, tells when the
 * platform ends it, and deletes its resource.
 */
export class Session {
  #connection; #endpoint; #token; #headers;
  #resource = null; #tag = null; #closed = false;
  #waiting = []; #holdsCandidates = true; #interruption = null; #events = null;
  #relays = []; #detour = null; #layers = null; #isOver = false; #addressTimer = null;
  #hasAddress = false; #isWithoutAddress = false;

  /** Called once when the platform has ended the session, with the reason as it is on the wire, or null. */
  onEnded = () => {};

  /** Called once when the platform does not know the session any more, as after a restart. */
  onLost = () => {};

  /** Called once when the browser has found no address of this computer that media can use. */
  onNoAddress = () => {};

  /** Called with the data quality, {status, reason}, as it is and at each change: the platform tells it. */
  onQuality = () => {};

  /** The stream's id: the platform tells it in a header of its own beside Location. */
  streamID = null;

  /** With headers of its own, where its first request has some. */
  constructor(connection, endpoint, token, headers = {}) {
    this.#connection = connection;
    this.#headers = headers;
    this.#endpoint = endpoint;
    this.#token = token;
  }

  /** Joins in one round trip: the offer does not wait for candidates, since the platform needs none of ours. */
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
    // Addresses are found within milliseconds. Without any, some browsers never say so.
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

  // Neither UDP nor TCP has led to the platform within a second: through its TURN server, by TLS. A browser asks it for
  // candidates with a restart, so that who does not need it pays nothing for it.
  #takeDetour() {
    if (this.#closed || !this.#relays.length || this.#connection.connectionState === "connected") return;
    this.#connection.setConfiguration({ ...this.#connection.getConfiguration(), iceServers: this.#relays });
    this.#relays = [];
    this.restart().catch(() => {});
  }

  /** Restarts ICE (RFC 9725, section 4.3.3): new credentials both ways, the same resource, stream and keys. */
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

  /** Whether the browser has found an address of this computer that media can use. */
  get hasAddress() { return this.#hasAddress; }

  /** Whether the platform has let it in. */
  get isOpen() { return this.#resource !== null && !this.#closed; }

  /** Has the platform send the lowest layer of the video and no better one, where there are several. */
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

  /** Ends the session at the platform; harmless when it has ended already, or twice. */
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

  // Server-sent events of the session's own, at the address that the answer links to.
  #followEvents(address) {
    if (!address || this.#closed) return;
    this.#events = new EventSource(address);
    // A connection that breaks is made again by the browser; refused is what nobody knows.
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

  // The connection's own state does not tell that the other side said goodbye; its DTLS transport's does.
  #watchTransport() {
    const transport = this.#connection.getTransceivers().map((each) => each.receiver.transport).find(Boolean);
    transport?.addEventListener("statechange", () => {
      // Why, the events tell at about the same time, unless they do not get through.
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

  // A browser says so when nothing has come for some seconds: the network may be another one. It is asked again, then
  // through the TURN server too, until it answers or the browser gives up.
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

/** The address that an answer's Link header gives for a relation that ends like that. */
function linked(response, relation) {
  const link = (response.headers.get("Link") ?? "").split(/,(?=\s*<)/).find((each) => each.includes(relation));
  const address = /<([^>]*)>/.exec(link ?? "")?.[1];
  return address ? new URL(address, response.url).href : null;
}

const endings = {
  viewer: {
    ended: "The publisher has finished.", censored: "It was taken off the air: censored.",
    maintenance: "The platform is under maintenance.", capacity: "The platform has no room for it any more.",
    failed: "The connection to the publisher was lost.", overload: "The platform had too much to do.",
    "app-background": "The publisher's application went to the background.", "pcast-stop": "The publisher has left.",
  },
  publisher: {
    ended: "Somebody has ended it at the platform.", censored: "It was taken off the air: censored.",
    maintenance: "The platform is under maintenance: publish again later.",
    capacity: "The platform has no room for it any more.", failed: "The connection to the platform was lost.",
    overload: "The platform had too much to do.", "app-background": "The page went to the background.",
    "pcast-stop": "The page has left.",
  },
};

/** Why a stream has ended, for a person; the application's own words as they are. */
export const describeEnd = (role, reason) => (reason === null ? "" : endings[role][reason] ?? reason);

/** The servers of Link headers with rel="ice-server" (RFC 9725, section 4.6). */
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

/** Asks for stereo: what the viewer's own offer does not ask for, browsers play in mono. */
export function askForStereo(sdp) {
  const payload = /^a=rtpmap:(\d+) opus\/48000\/2/mi.exec(sdp)?.[1];
  if (!payload) return sdp;
  return sdp.replace(new RegExp(`^a=fmtp:${payload} (.*)$`, "m"), (line) =>
    line.includes("stereo=1") ? line : `${line.trimEnd()};stereo=1;sprop-stereo=1`);
}

/** Bits a second and more, from two readings of getStats. */
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
    "audio-only none": "Sound only: there is no picture to be had.",
    "audio-only download-limited": "Your connection is too slow for the picture: sound only.",
    "audio-only publisher-limited": "The publisher's connection is too slow for the picture: sound only.",
    "audio-only network-limited": "Other viewers' connections are too slow for the picture: sound only.",
    "no-data none": "Nothing arrives here: look at your connection.",
    "no-data download-limited": "Your connection lets nothing through.",
    "no-data publisher-limited": "Nothing arrives from the publisher.",
    "no-data network-limited": "Other viewers' connections are too slow: nothing is left of the stream.",
  },
  publisher: {
    "all upload-limited": "Your connection is slow: the quality is reduced.",
    "all network-limited": "Viewers' connections are slow: the quality is reduced.",
    "audio-only upload-limited": "Your connection is too slow for the picture: sound only.",
    "audio-only network-limited": "Viewers' connections are too slow for the picture: sound only.",
    "no-data none": "Nothing reaches the platform: look at your connection.",
    "no-data upload-limited": "Your connection lets nothing through.",
  },
};
const statusWords = { "all": "All of it", "audio-only": "Sound only", "no-data": "Nothing" };
const reasonWords = {
  "none": "nothing is held back", "upload-limited": "limited by the way out",
  "download-limited": "limited by the way here", "publisher-limited": "limited by the publisher",
  "network-limited": "limited by other viewers",
};

/** Shows the data quality as a figure, and over the picture while something is wrong; null for none. */
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

/** Sets the badge's text and colour: good, fair, bad or none. */
export function badge(text, quality = "") {
  const element = document.getElementById("state");
  element.textContent = text;
  element.className = `badge ${quality}`;
}
