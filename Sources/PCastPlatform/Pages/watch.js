// The watch page. watch-start.js asks for the stream before this part has arrived.

import {
  badge, bitrate, describeEnd, describeNoAddress, show, showNoFigures, showQuality,
} from "/assets/pcast.js";
import { Captions } from "/assets/captions.js";
import { SeekBar } from "/assets/seek.js";
import { Plot } from "/assets/plots.js";
import { missingVideoCodecs } from "/assets/session.mjs";
import { Viewer } from "/assets/viewer.mjs";
import { parameters, playoutDelay, session, stream, token, transport } from "/assets/watch-start.js";

const video = document.getElementById("video");
const unmute = document.getElementById("unmute");
const allow = document.getElementById("allow");
if (parameters.has("embed")) document.body.classList.add("embedded");

const isFirefox = navigator.userAgent.includes("Firefox/");
/** Headline and explanation of why some kinds of media are missing; null if none is. */
let leftOut = null;
/** Whether an attempt has failed. Its message stays until media arrives. */
let hasFailed = false;
/** The microphone, which is open only so that Firefox reveals all local addresses. */
let microphone = null;
const plots = {
  rate: new Plot("rateplot", "frame rate"), received: new Plot("receivedplot", "received"),
  roundtrip: new Plot("roundtripplot", "round trip"), buffered: new Plot("bufferedplot", "buffered"),
  lost: new Plot("lostplot", "lost packets"),
};

if (stream) document.title = `${stream} · PCast`;
// The name of a stream is text from the address. "<" is escaped, so that the end tag of a script cannot end it.
const quotedStream = JSON.stringify(stream).replaceAll("<", "\\u003c");
document.getElementById("embed").textContent = `<video id="pcast" controls playsinline style="width:100%"></video>
<script type="module">
  import { subscribe } from "${location.origin}/pcast.mjs";
  subscribe({ stream: ${quotedStream}, token: "TOKEN", video: document.getElementById("pcast") });
<\/script>`; // escaped, because this file is within an element of the page

const captions = new Captions(video, document.getElementById("captions"), document.getElementById("cc"),
  () => (viewer.timeShift === "live" ? null : viewer.frame?.timecode ?? null));
const viewer = new Viewer({ stream, token, video, transport, playoutDelay }, session);
new SeekBar(viewer);
const on = (type, handle) => viewer.addEventListener(type, ({ detail }) => handle(detail));

// ?timeline=LEAGUE/GAME shows the example overlay with the events of the game over the video, and ?overlay without any.
const [league, game] = (parameters.get("timeline") ?? "").split("/");
const timeline = league && game ? viewer.timeline({ league, game }) : null;
const overlay = timeline || parameters.has("overlay") ? viewer.overlay({ timeline }) : null;
if (overlay) {
  // The captions are above the controls of the overlay, as long as these are visible.
  const showControls = (controls) => video.parentElement.classList.toggle("controlled", controls === "visible");
  showControls("visible");
  overlay.addEventListener("stage", ({ detail }) => showControls(detail.controls));
}

on("statechange", ({ state }) => {
  if (state === "connecting") begin();
  if (state === "interrupted") badge("interrupted", "fair");
  if (state === "live") goLive();
});
on("transport", ({ method }) => {
  if (method) show("codec", method === "native" ? "HLS, played by the browser" : "HLS, played by this page");
});
on("timeshift", ({ state, error }) => {
  if (state === "seeking") badge("seeking");
  if (state === "shifted") {
    badge("before live", "fair");
    hideMessage(); // the window may have the media that is missing in real time
  }
  if (state === "live" && viewer.state === "live") goLive();
  if (error) badge("cannot rewind", "fair");
});
on("dataquality", showQualityOfStream);
on("captions", (event) => captions.add(event));
on("autoplay", showUnmute);
on("volumechange", labelMute);
on("partial", ({ error }) => {
  const [headline, why] = describeUnplayable(error);
  const rest = viewer.missing.includes("video") ? "The audio plays." : "The video plays, without audio.";
  leftOut = [headline, `${why} ${rest}`];
  showLeftOut();
});
on("waiting", ({ error }) => showWaiting(error));
on("failed", ({ error }) => showFailure(error));
on("ended", ({ reason }) => {
  clear();
  badge("ended", "bad");
  showMessage("ended", "The stream has ended", describeEnd("viewer", reason));
});

/** The overlay has a button of its own at the same place. */
function showUnmute() { unmute.hidden = !video.muted || overlay !== null; }

function begin() {
  clear();
  if (!hasFailed && !leftOut) hideMessage();
  badge("connecting");
}

function goLive() {
  hasFailed = false;
  if (!viewer.missing.length) leftOut = null;
  showLeftOut();
  showUnmute();
  badge(viewer.transport === "hls" ? "live by HLS" : "live", "good");
  releaseMicrophone();
}

/** The viewer tries again by itself. */
function showWaiting(error) {
  hasFailed = true;
  clear();
  badge("waiting", "fair");
  switch (error.code) {
    case "not-playing":
      return showMessage("waiting", "Nothing is playing here yet", "The video appears as soon as the stream starts.");
    case "unreachable":
      return showMessage("waiting", "The platform cannot be reached", "Trying again by itself.");
    case "connection-lost":
      return showMessage("waiting", "The connection was lost", "Connecting again by itself.");
    case "no-address": return showNoAddress();
    default: return showMessage("waiting", "The platform refused", `${error.message} Trying again by itself.`);
  }
}

function showFailure(error) {
  clear();
  switch (error.code) {
    case "unauthorized":
      badge("no access", "bad");
      return showMessage("locked", token ? "The link is not valid any more" : "This stream needs a token",
        "Ask whoever runs the stream for a new link.");
    case "unsupported":
      badge("failed", "bad");
      return showMessage("bad", ...describeUnplayable(error));
    default:
      badge("failed", "bad");
      return showMessage("bad", "This browser cannot play the stream", error.message);
  }
}

/** Names the media that is missing, in place of the video. If only audio is missing, nothing covers the video. */
function showLeftOut() {
  if (leftOut && viewer.missing.includes("video")) showMessage("partial", ...leftOut);
  else hideMessage();
}

function describeUnplayable(error) {
  const isVideo = error.sections.some((section) => section.kind === "video");
  // The message names the codec of the stream.
  const missing = isVideo
    ? missingVideoCodecs("receive").filter((name) => error.message.includes(name.replace(".", ""))) : [];
  if (!missing.length) return ["This browser cannot play all of the stream", error.message];
  const plugIn = "Firefox decodes H.264 with its OpenH264 plug-in, which it downloads: connect this computer to the " +
    "internet, or use";
  // Chromium and Firefox decode H.265 on few systems only.
  const advice = missing.includes("H.265")
    ? "Use a browser with H.265, such as Safari, or ask whoever runs the stream to offer H.264 too."
    : `${isFirefox && missing.includes("H.264") ? plugIn : "Use"} another browser, such as Chromium.`;
  return [`This browser cannot decode the video: it has no ${missing.join(" and no ")}`, advice];
}

function showNoAddress() {
  const { headline, why } = describeNoAddress();
  const mayAsk = isFirefox && !microphone && Boolean(navigator.mediaDevices);
  showMessage("bad", headline, mayAsk
    ? `${why} Without a default route, Firefox has an address only while this page may use the microphone.`
    : why);
  allow.hidden = !mayAsk;
}

// With permission to capture, Firefox uses all addresses of this host. The audio of the microphone is not used.
async function askForMicrophone() {
  try {
    microphone = await navigator.mediaDevices.getUserMedia({ audio: true });
  } catch {
    return; // the current message remains
  }
  retry();
}

function releaseMicrophone() {
  microphone?.getTracks().forEach((track) => track.stop());
  microphone = null;
}

function showQualityOfStream(quality) {
  showQuality("viewer", quality);
  // A message explains already why media is missing.
  if (leftOut) document.getElementById("notice").hidden = true;
}

function retry() {
  [hasFailed, leftOut] = [false, null];
  viewer.retry();
}

/** Removes the metrics of a session that is over. */
function clear() {
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

document.getElementById("retry").addEventListener("click", retry);
allow.addEventListener("click", askForMicrophone);
unmute.addEventListener("click", () => {
  viewer.muted = false;
  viewer.play();
});
document.getElementById("mute").addEventListener("click", () => { viewer.muted = !viewer.muted; });
document.getElementById("volume").addEventListener("input", (event) => {
  viewer.volume = event.target.valueAsNumber;
  viewer.muted = viewer.volume === 0;
});
document.getElementById("screenshot").addEventListener("click", async () => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await viewer.screenshot());
  link.download = `${stream || "stream"}.png`;
  link.click();
  URL.revokeObjectURL(link.href);
});
document.getElementById("fullscreen").addEventListener("click", () => {
  const stage = video.parentElement;
  if (document.fullscreenElement) document.exitFullscreen();
  else if (stage.requestFullscreen) stage.requestFullscreen();
  else video.webkitEnterFullscreen?.(); // on iPhones only a video element can be full screen
});
function labelMute() {
  document.getElementById("mutelabel").textContent = video.muted ? "Unmute" : "Mute";
  document.getElementById("mute").classList.toggle("muted", video.muted);
  if (!video.muted) unmute.hidden = true;
}
labelMute();

let lostBefore = 0;
setInterval(async () => {
  const statistics = await viewer.statistics();
  if (!statistics) return;
  const { width, height, frameRate, jitterBufferDelay, roundTripTime, packetsLost, freezeDuration } = statistics;
  show("size", width ? `${width} × ${height}` : null);
  show("codec", statistics.codec ?? "");
  show("rate", frameRate?.toFixed(0));
  show("received", bitrate(statistics.bitrate));
  show("roundtrip", roundTripTime === null ? null : `${roundTripTime.toFixed(0)} ms`);
  show("buffered", jitterBufferDelay === null ? null : `${jitterBufferDelay.toFixed(0)} ms`);
  show("lost", `${packetsLost}`);
  show("freezes", `${statistics.freezeCount}`);
  show("frozen", freezeDuration ? `${(freezeDuration / 1000).toFixed(1)} s together` : "");
  plots.rate.add(frameRate);
  plots.received.add(statistics.bitrate);
  plots.roundtrip.add(roundTripTime);
  plots.buffered.add(jitterBufferDelay);
  plots.lost.add(Math.max(packetsLost - lostBefore, 0));
  lostBefore = packetsLost;
}, 1000);
