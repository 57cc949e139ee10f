import {
  Figures, Refusal, Session, askForStereo, badge, bitrate, describeEnd, describeNoAddress, isFirefox,
  makeConnection, missingVideoCodecs, show, showNoFigures, showQuality, takeToken,
} from "/assets/pcast.js";
import { Plot } from "/assets/plots.js";

const element = (id) => document.getElementById(id);
const video = element("video");
const parameters = new URLSearchParams(location.search);
const token = takeToken();
let media = null;
let connection = null;
let session = null;
let figures = null;
let quality = null;
let attempts = 0;
let retryTimer = null;
/** Whether publishing has succeeded since the button was pressed, so that it is retried after a failure. */
let isReturning = false;
/** Whether the connection is created in a separate document; see makeConnection. */
let isApart = false;
const plots = {
  rate: new Plot("rateplot", "frame rate"), sent: new Plot("sentplot", "sent"),
  room: new Plot("roomplot", "available bandwidth"), roundtrip: new Plot("roundtripplot", "round trip"),
  lost: new Plot("lostplot", "packets lost"),
};

if (parameters.get("codec")) element("codec").value = parameters.get("codec").toUpperCase();
if (parameters.get("layers") === "3") element("layers").value = "3";
// An unsupported codec cannot be selected. Without H.264, the stream uses VP8.
for (const option of element("codec").options) {
  if (!missingVideoCodecs("send").includes(option.text)) continue;
  option.disabled = true;
  option.text += " (not in this browser)";
}
if (element("codec").selectedOptions[0]?.disabled) {
  element("codec").value = [...element("codec").options].find((option) => !option.disabled)?.value ?? "VP8";
}

function tell(headline, why = "", kind = "bad") {
  element("message").dataset.kind = kind;
  element("headline").textContent = headline;
  element("why").textContent = why;
  element("message").hidden = false;
}

/**
 * Opens camera and microphone, and returns whether it succeeded. Browsers permit it only in secure contexts; otherwise
 * the page shows a message.
 */
async function capture() {
  if (!navigator.mediaDevices) {
    const port = location.port ? `:${location.port}` : "";
    tell("The browser gives its camera to secure pages only",
      `Open this page over HTTPS, or, on the machine that runs the platform, as http://localhost${port}/publish. ` +
      "Watching needs no HTTPS.");
    return false;
  }
  media?.getTracks().forEach((track) => track.stop());
  try {
    media = await openDevices();
  } catch (error) {
    const reasons = {
      NotAllowedError: "Allow camera and microphone for this page in the browser's address bar.",
      NotFoundError: "No camera or microphone was found: plug one in and reload.",
      NotReadableError: "Another program uses the camera or the microphone: close it and reload.",
    };
    tell("The camera could not be opened", reasons[error.name] ?? error.message);
    element("publish").disabled = true;
    return false;
  }
  element("message").hidden = true;
  element("publish").disabled = false;
  video.srcObject = media;
  for (const track of media.getTracks()) {
    track.addEventListener("ended", () => tell("A device went away", "Choose another one, or plug it in and reload."));
  }
  await list();
  return true;
}

/** Returns the media of the selected camera and microphone, or of the only one that exists. */
async function openDevices() {
  const choose = (id) => (element(id).value ? { deviceId: { exact: element(id).value } } : {});
  const picture = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 }, ...choose("camera") };
  const sound = { channelCount: { ideal: 2 }, ...choose("microphone") };
  let missing = null;
  for (const wanted of [{ video: picture, audio: sound }, { video: picture }, { audio: sound }]) {
    try {
      return await navigator.mediaDevices.getUserMedia(wanted);
    } catch (error) {
      if (error.name !== "NotFoundError") throw error;
      missing = error;
    }
  }
  throw missing;
}

/** Opens the devices that are selected now. A published stream continues with them. */
async function changeDevices() {
  if (!(await capture()) || !connection) return;
  for (const { sender } of connection.getTransceivers()) {
    const track = media.getTracks().find((each) => each.kind === sender.track?.kind);
    if (track) await sender.replaceTrack(track);
  }
}

async function list() {
  const devices = await navigator.mediaDevices.enumerateDevices();
  for (const [id, kind] of [["camera", "videoinput"], ["microphone", "audioinput"]]) {
    const current = media.getTracks().find((track) => track.kind === kind.slice(0, 5))?.getSettings().deviceId;
    element(id).replaceChildren(...devices.filter((device) => device.kind === kind).map((device, index) => {
      const option = new Option(device.label || `${id} ${index + 1}`, device.deviceId);
      option.selected = device.deviceId === current;
      return option;
    }));
    element(id).disabled = !element(id).options.length;
  }
}

function preferCodec(transceiver) {
  const wanted = `video/${element("codec").value}`;
  const codecs = RTCRtpSender.getCapabilities("video")?.codecs ?? [];
  const first = codecs.filter((codec) => codec.mimeType === wanted);
  if (first.length) transceiver.setCodecPreferences([...first, ...codecs.filter((codec) => codec.mimeType !== wanted)]);
}

// Returns one layer or three simulcast layers, of which each subscriber receives the best one that its link carries.
// The rids and bit rates are those of PCast's own publisher.
function encodings() {
  if (element("layers").value === "1") return [{ maxBitrate: 2_500_000 }];
  return [
    { rid: "l", scaleResolutionDownBy: 4, maxBitrate: 200_000 },
    { rid: "m", scaleResolutionDownBy: 2, maxBitrate: 600_000 },
    { rid: "h", maxBitrate: 2_500_000 },
  ];
}

async function publish() {
  clearTimeout(retryTimer);
  element("publish").disabled = true;
  element("codec").disabled = true;
  element("layers").disabled = true;
  if (attempts === 0) element("message").hidden = true;
  badge("connecting");
  connection = makeConnection(isApart);
  for (const track of [...media.getVideoTracks(), ...media.getAudioTracks()]) {
    const transceiver = connection.addTransceiver(track, {
      direction: "sendonly", streams: [media],
      sendEncodings: track.kind === "video" ? encodings() : [{}],
    });
    if (track.kind === "video") preferCodec(transceiver);
  }
  const current = new Session(connection, "/whip", token);
  connection.addEventListener("connectionstatechange", () => connectionChanged(current));
  current.onEnded = (reason) => { if (session === current) noteEnd(reason); };
  current.onLost = () => { if (session === current) again("The platform has lost the stream"); };
  current.onNoAddress = () => { if (session === current) withoutAddress(); };
  current.onQuality = (row) => {
    if (session !== current) return;
    quality = row;
    showQuality("publisher", row);
  };
  session = current;
  figures = new Figures(connection);
  try {
    await current.open(askForStereo);
    if (session !== current) return;
    isReturning = true;
    showLink();
    element("publish").hidden = true;
    element("stop").hidden = false;
  } catch (error) {
    if (session === current) refuse(error);
  }
}

// Firefox may have found no address because it considers only the IP version of the page's address. A connection in a
// separate document uses both.
function withoutAddress() {
  isApart = isFirefox && !isApart;
  leave();
  if (isApart) return publish();
  const { headline, why } = describeNoAddress();
  if (isReturning) return again(headline, why);
  stop();
  badge("failed", "bad");
  tell(headline, why);
}

// The end reasons after which publishing is retried, as in Phenix's clients: the platform has lost the stream, or has
// no capacity at the moment.
const passing = [null, "failed", "maintenance", "capacity", "overload"];

function noteEnd(reason) {
  if (isReturning && passing.includes(reason)) return again("The stream has ended", describeEnd("publisher", reason));
  stop();
  badge("ended", "bad");
  tell("The stream has ended", describeEnd("publisher", reason), "ended");
}

/** Retries after a delay that grows with each attempt, until publishing is stopped. The devices stay open. */
function again(headline, why = "") {
  const isFirst = attempts === 0;
  leave();
  badge("waiting", "fair");
  // An unchanged message is not set again, because a screen reader would read it at each attempt.
  if (isFirst) tell(headline, `${why} Publishing again by itself.`.trim(), "waiting");
  element("publish").hidden = true;
  element("stop").hidden = false;
  attempts += 1;
  retryTimer = setTimeout(publish, isFirst ? 500 : Math.min(1000 * attempts, 10000));
}

function refuse(error) {
  const isPassing = error instanceof TypeError || (error instanceof Refusal && [429, 503].includes(error.status));
  if (isReturning && isPassing) return again("The platform cannot be reached");
  stop();
  badge("refused", "bad");
  if (error instanceof TypeError) return tell("The platform cannot be reached", "Publish again when it is back.");
  const needsToken = error instanceof Refusal && [401, 403].includes(error.status);
  if (needsToken) {
    tell(token ? "The token is not valid any more" : "Publishing needs a token",
      "Ask whoever runs the platform for a new link: /publish#token=…", "locked");
  } else {
    const isOfMedia = error instanceof Refusal && error.status === 422;
    tell(isOfMedia ? "The platform cannot accept what this browser sends" : "The platform refused", error.message);
  }
}

function showLink() {
  const stream = session.streamID;
  if (!stream) return;
  const address = `${location.origin}/watch/${encodeURIComponent(stream)}`;
  element("watch").href = address;
  element("watch").textContent = address;
  element("link").hidden = false;
}

function stop() {
  leave();
  isReturning = false;
  attempts = 0;
  badge("not publishing");
  element("publish").hidden = false;
  element("publish").disabled = false;
  element("codec").disabled = false;
  element("layers").disabled = false;
  element("stop").hidden = true;
}

/** Closes the current session. */
function leave() {
  clearTimeout(retryTimer);
  session?.close();
  session = null;
  connection = null;
  figures = null;
  quality = null;
  showNoFigures();
  showQuality("publisher", null);
  for (const plot of Object.values(plots)) plot.clear();
  element("link").hidden = true;
}

function connectionChanged(origin) {
  if (session !== origin) return;
  switch (connection.connectionState) {
    case "connected":
      attempts = 0;
      badge("publishing", "good");
      element("message").hidden = true;
      showQuality("publisher", quality);
      break;
    case "disconnected":
      badge("interrupted", "fair");
      // The platform may not be able to report it.
      showQuality("publisher", { status: "no-data", reason: "none" });
      break;
    case "failed":
      if (origin.hasAddress) again("The connection was lost");
      break;
  }
}

element("publish").addEventListener("click", publish);
element("stop").addEventListener("click", () => {
  stop();
  element("message").hidden = true;
});
for (const id of ["camera", "microphone"]) element(id).addEventListener("change", changeDevices);

const limits = { none: "nothing limits it", cpu: "limited by the processor", bandwidth: "limited by bandwidth" };
setInterval(async () => {
  if (!figures) return;
  const { reports, of, rate, roundTrip } = await figures.read();
  const layers = reports.filter((report) => report.type === "outbound-rtp" && report.kind === "video");
  const sound = of("outbound-rtp", "audio");
  if (!layers.length && !sound) return;
  const rates = [...layers, ...(sound ? [sound] : [])].map((report) => rate(report, "bytesSent"));
  const bytes = rates.some((each) => each === null) ? null : rates.reduce((sum, each) => sum + each, 0);
  const picture = layers.reduce((best, each) => ((each.frameWidth ?? 0) > (best?.frameWidth ?? -1) ? each : best), null);
  const room = reports.find((report) => report.type === "candidate-pair" && report.nominated)?.availableOutgoingBitrate;
  const losses = reports.filter((report) => report.type === "remote-inbound-rtp" && report.kind === "video");
  const lost = losses.length ? Math.max(...losses.map((report) => report.fractionLost ?? 0)) * 100 : null;
  show("size", picture?.frameWidth ? `${picture.frameWidth} × ${picture.frameHeight}` : null);
  show("limit", picture ? limits[picture.qualityLimitationReason] ?? "" : "");
  show("rate", picture ? (picture.framesPerSecond ?? 0).toFixed(0) : null);
  show("sent", bitrate(bytes));
  show("room", room === undefined ? null : bitrate(room / 8));
  show("roundtrip", roundTrip === undefined ? null : `${(roundTrip * 1000).toFixed(0)} ms`);
  show("lost", lost === null ? null : `${lost.toFixed(1)} %`);
  show("resent", `${layers.reduce((sum, each) => sum + (each.retransmittedPacketsSent ?? 0), 0)}`);
  plots.rate.add(picture?.framesPerSecond ?? 0);
  plots.sent.add(bytes);
  plots.room.add(room);
  plots.roundtrip.add(roundTrip);
  plots.lost.add(lost);
}, 1000);

addEventListener("pagehide", stop);
// Only a press of the button begins publishing, never the address: a link must not be able to publish a camera.
if ((await capture()) && parameters.has("start")) element("publish").focus();
