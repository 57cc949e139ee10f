import {
  Figures, Refusal, Session, askForStereo, badge, bitrate, describeEnd, describeNoAddress, isFirefox, makeConnection,
  missingVideoCodecs, show, showNoFigures, showQuality, takeToken,
} from "/assets/pcast.js";
import { Captions } from "/assets/captions.js";
import { Plot } from "/assets/plots.js";

const video = document.getElementById("video");
const unmute = document.getElementById("unmute");
const allow = document.getElementById("allow");
const stream = decodeURIComponent(location.pathname.split("/")[2] ?? "");
const parameters = new URLSearchParams(location.search);
const token = takeToken();
if (parameters.has("embed")) document.body.classList.add("embedded");

const captions = new Captions(video, document.getElementById("captions"), document.getElementById("cc"));
let session = null;
let figures = null;
let attempts = 0;
let retryTimer = null;
let quality = null;
let isReturning = false;
let lastReason = null;
/** The kinds of media to request. After a rejection, only those that the browser can receive. */
let kinds = ["video", "audio"];
/** Headline and explanation of why the other kinds are missing. */
let leftOut = null;
/** Whether the connection is created in a separate document; see makeConnection. */
let isApart = false;
/** The microphone, which is open only so that Firefox reveals all local addresses. */
let microphone = null;
const plots = {
  rate: new Plot("rateplot", "frame rate"), received: new Plot("receivedplot", "received"),
  roundtrip: new Plot("roundtripplot", "round trip"), buffered: new Plot("bufferedplot", "buffered"),
  lost: new Plot("lostplot", "lost packets"),
};

if (stream) document.title = `${stream} · PCast`;
document.getElementById("embed").textContent =
  `<iframe src="${location.origin}/watch/${encodeURIComponent(stream)}?embed${token ? "#token=TOKEN" : ""}" ` +
  `width="640" height="360" ` +
  `allow="autoplay; fullscreen" style="border:0"></iframe>`;
document.getElementById("embednote").hidden = !token;

async function join() {
  clearTimeout(retryTimer);
  session?.close();
  if (attempts === 0 && isComplete()) hideMessage();
  badge("connecting");
  const connection = makeConnection(isApart);
  for (const kind of kinds) {
    const transceiver = connection.addTransceiver(kind, { direction: "recvonly" });
    requestCaptureTime(transceiver);
  }
  const media = new MediaStream();
  connection.addEventListener("track", ({ track }) => { media.addTrack(track); video.srcObject = media; play(); });
  const current = new Session(connection, stream ? `/whep/${encodeURIComponent(stream)}` : "/whep", token);
  connection.addEventListener("connectionstatechange", () => connectionChanged(connection, current));
  current.onEnded = (reason) => { if (session === current) rejoin(reason); };
  current.onLost = () => { if (session === current) rejoin(null); };
  current.onNoAddress = () => { if (session === current) withoutAddress(); };
  current.onQuality = (row) => {
    if (session !== current) return;
    quality = row;
    tellQuality(row);
  };
  current.onCaptions = (event) => { if (session === current) captions.add(event); };
  session = current;
  try {
    await current.open(askForStereo);
    if (session === current) figures = new Figures(connection);
  } catch (error) {
    if (session === current) refuse(error);
  }
}

// The capture time lets the browser compute the latency. Not all browsers support it.
function requestCaptureTime(transceiver) {
  if (!transceiver.setHeaderExtensionsToNegotiate) return;
  const extensions = transceiver.getHeaderExtensionsToNegotiate();
  for (const extension of extensions) {
    if (extension.uri.endsWith("/abs-capture-time")) extension.direction = "sendrecv";
  }
  try { transceiver.setHeaderExtensionsToNegotiate(extensions); } catch { /* the extensions do not change */ }
}

async function play() {
  try { await video.play(); } catch { /* the browser requires a gesture, for which there is a button */ }
  unmute.hidden = !video.muted;
}

function connectionChanged(connection, origin) {
  if (session !== origin) return;
  switch (connection.connectionState) {
    case "connected":
      attempts = 0;
      isReturning = false;
      if (isComplete()) hideMessage();
      else showLeftOut();
      badge("live", "good");
      tellQuality(quality);
      releaseMicrophone();
      break;
    case "disconnected":
      badge("interrupted", "fair");
      // The platform may not be able to report it.
      showQuality("viewer", { status: "no-data", reason: "none" });
      break;
    case "failed":
      if (origin.hasAddress) again("The connection was lost", "Connecting again by itself.");
      break;
  }
}

function refuse(error) {
  if (error instanceof TypeError) return again("The platform cannot be reached", "Trying again by itself.");
  if (!(error instanceof Refusal)) return stop("bad", "failed", "This browser cannot play the stream", error.message);
  switch (error.status) {
    case 401: case 403:
      return stop("locked", "no access", token ? "The link is not valid any more" : "This stream needs a token",
        "Ask whoever runs the stream for a new link.");
    case 410: return over();
    case 404:
      if (isReturning) return over();
      return again("Nothing is playing here yet", "The picture appears as soon as the stream starts.");
    case 422: return playRest(error);
    default: return again("The platform refused", `${error.message} Trying again by itself.`);
  }
}

// Whether all kinds of media are requested.
const isComplete = () => kinds.length === 2;

// Names the media that the browser cannot receive, and plays the rest of the stream.
function playRest(error) {
  const unplayable = error.sections.map((section) => section.kind);
  const rest = kinds.filter((kind) => !unplayable.includes(kind));
  const [headline, why] = describeUnplayable(error, unplayable);
  if (!rest.length || rest.length === kinds.length) return stop("bad", "failed", headline, why);
  kinds = rest;
  leftOut = [headline, `${why} ${rest[0] === "audio" ? "The audio plays." : "The video plays, without audio."}`];
  showLeftOut();
  join();
}

// Shows the message in place of the video. If only audio is missing, it does not cover the video.
function showLeftOut() {
  if (kinds[0] === "video") return hideMessage();
  showMessage("partial", ...leftOut);
  unmute.hidden = !video.muted || !session;
}

function describeUnplayable(error, unplayable) {
  const missing = unplayable.includes("video") ? missingVideoCodecs("receive") : [];
  if (!missing.length) return ["This browser cannot play all of the stream", error.message];
  const plugIn = "Firefox decodes H.264 with its OpenH264 plug-in, which it downloads: connect this computer to the " +
    "internet, or use";
  return [
    `This browser cannot decode the video: it has no ${missing.join(" and no ")}`,
    `${isFirefox && missing.includes("H.264") ? plugIn : "Use"} another browser, such as Chromium.`,
  ];
}

// Firefox may have found no address because it considers only the IP version of the page's address. A connection in a
// separate document uses both.
function withoutAddress() {
  isApart = isFirefox && !isApart;
  if (isApart) return join();
  const { headline, why } = describeNoAddress();
  const mayAsk = isFirefox && !microphone && Boolean(navigator.mediaDevices);
  again(headline, mayAsk
    ? `${why} Without a default route, Firefox has an address only while this page may use the microphone.`
    : why, "bad");
  allow.hidden = !mayAsk;
}

// With permission to capture, Firefox uses all addresses of this host. The audio of the microphone is not used.
async function askForMicrophone() {
  try {
    microphone = await navigator.mediaDevices.getUserMedia({ audio: true });
  } catch {
    return; // the current message remains
  }
  isApart = false;
  attempts = 0;
  join();
}

function releaseMicrophone() {
  microphone?.getTracks().forEach((track) => track.stop());
  microphone = null;
}

function tellQuality(row) {
  showQuality("viewer", row);
  // A message explains already why media is missing.
  if (!isComplete()) document.getElementById("notice").hidden = true;
}

// A lost stream may resume with the same identifier when its publisher reconnects. The platform knows whether it does.
function rejoin(reason) {
  lastReason = reason;
  if (!stream || (reason !== null && reason !== "failed")) return over();
  leave();
  isReturning = true;
  kinds = ["video", "audio"];
  join();
}

function over() {
  const reason = lastReason;
  isReturning = false;
  lastReason = null;
  stop("ended", "ended", "The stream has ended", describeEnd("viewer", reason));
}

function stop(kind, state, headline, why) {
  leave();
  badge(state, "bad");
  showMessage(kind, headline, why);
}

function again(headline, why, kind = "waiting") {
  leave();
  badge("waiting", "fair");
  showMessage(kind, headline, why);
  attempts += 1;
  retryTimer = setTimeout(join, Math.min(1000 * attempts, 10000));
}

function leave() {
  clearTimeout(retryTimer);
  session?.close();
  session = null;
  figures = null;
  quality = null;
  captions.clear();
  showNoFigures();
  showQuality("viewer", null);
  for (const plot of Object.values(plots)) plot.clear();
}

// Unchanged text is not set again, because a screen reader would read it at each attempt.
function showMessage(kind, headline, why) {
  document.getElementById("message").dataset.kind = kind;
  document.getElementById("retry").textContent = kind === "waiting" ? "Try now" : "Try again";
  for (const [id, text] of [["headline", headline], ["why", why]]) {
    const element = document.getElementById(id);
    if (element.textContent !== text) element.textContent = text;
  }
  document.getElementById("message").hidden = false;
  allow.hidden = true;
  unmute.hidden = true;
}

function hideMessage() { document.getElementById("message").hidden = true; }

document.getElementById("retry").addEventListener("click", () => {
  attempts = 0;
  kinds = ["video", "audio"];
  join();
});
allow.addEventListener("click", askForMicrophone);
addEventListener("online", () => { if (attempts > 0) join(); });
unmute.addEventListener("click", () => { video.muted = false; unmute.hidden = true; labelMute(); play(); });
document.getElementById("mute").addEventListener("click", () => {
  video.muted = !video.muted;
  unmute.hidden = true;
  labelMute();
});
document.getElementById("volume").addEventListener("input", (event) => {
  video.volume = event.target.valueAsNumber;
  video.muted = video.volume === 0;
  unmute.hidden = true;
  labelMute();
});
document.getElementById("fullscreen").addEventListener("click", () => {
  const stage = video.parentElement;
  if (document.fullscreenElement) document.exitFullscreen();
  else if (stage.requestFullscreen) stage.requestFullscreen();
  else video.webkitEnterFullscreen?.(); // on iPhones only a video element can be full screen
});
function labelMute() {
  document.getElementById("mutelabel").textContent = video.muted ? "Sound on" : "Mute";
  document.getElementById("mute").classList.toggle("muted", video.muted);
}
labelMute();

// Returns the average delay in the jitter buffer during the last second in milliseconds; null if unknown.
function mean(report, rate) {
  const [delay, count] = [rate(report, "jitterBufferDelay"), rate(report, "jitterBufferEmittedCount")];
  return delay === null || !count ? null : (delay / count) * 1000;
}

let lostBefore = 0;
setInterval(async () => {
  if (!figures) return;
  const { reports, of, rate, roundTrip } = await figures.read();
  const picture = of("inbound-rtp", "video");
  const sound = of("inbound-rtp", "audio");
  if (!picture && !sound) return;
  const pictureRate = rate(picture, "bytesReceived");
  const soundRate = rate(sound, "bytesReceived");
  const bytes = pictureRate === null && soundRate === null ? null : (pictureRate ?? 0) + (soundRate ?? 0);
  const frames = picture?.framesPerSecond ?? (picture ? 0 : null);
  const lost = (picture?.packetsLost ?? 0) + (sound?.packetsLost ?? 0);
  const buffered = mean(picture ?? sound, rate);
  show("size", picture?.frameWidth ? `${picture.frameWidth} × ${picture.frameHeight}` : null);
  show("codec", reports.find((report) => report.id === picture?.codecId)?.mimeType.slice(6) ?? "");
  show("rate", frames?.toFixed(0));
  show("received", bitrate(bytes));
  show("roundtrip", roundTrip === undefined ? null : `${(roundTrip * 1000).toFixed(0)} ms`);
  show("buffered", buffered === null ? null : `${buffered.toFixed(0)} ms`);
  show("lost", `${lost}`);
  show("freezes", `${picture?.freezeCount ?? 0}`);
  show("frozen", picture?.totalFreezesDuration ? `${picture.totalFreezesDuration.toFixed(1)} s together` : "");
  plots.rate.add(frames);
  plots.received.add(bytes);
  plots.roundtrip.add(roundTrip);
  plots.buffered.add(buffered);
  plots.lost.add(Math.max(lost - lostBefore, 0));
  lostBefore = lost;
}, 1000);

addEventListener("pagehide", leave);
addEventListener("pageshow", (event) => { if (event.persisted) join(); });
join();
