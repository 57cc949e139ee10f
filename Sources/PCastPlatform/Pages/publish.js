import { missingVideoCodecs, publish } from "/pcast.mjs";
import { badge, bitrate, describeEnd, describeNoAddress, show, showNoFigures, showQuality, takeToken } from "/assets/pcast.js";
import { Plot } from "/assets/plots.js";

const element = (id) => document.getElementById(id);
const video = element("video");
const parameters = new URLSearchParams(location.search);
const token = takeToken();
let media = null;
/** The publisher; null before the button is pressed. */
let publisher = null;
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
  if (await capture()) await publisher?.replaceMedia(media);
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

function begin() {
  for (const id of ["publish", "codec", "layers"]) element(id).disabled = true;
  element("message").hidden = true;
  badge("connecting");
  const current = publish({
    token, media, codec: element("codec").value, layers: Number(element("layers").value),
  });
  publisher = current;
  const on = (type, handle) => current.addEventListener(type, ({ detail }) => { if (publisher === current) handle(detail); });
  on("publishing", ({ streamId, watch }) => {
    if (streamId) showLink(watch);
    showStop();
  });
  on("online", () => {
    badge("publishing", "good");
    element("message").hidden = true;
  });
  on("offline", () => badge("interrupted", "fair"));
  on("dataquality", (quality) => showQuality("publisher", quality));
  on("waiting", ({ error }) => showWaiting(error));
  on("ended", ({ reason }) => {
    stop();
    badge("ended", "bad");
    tell("The stream has ended", describeEnd("publisher", reason), "ended");
  });
  on("failed", ({ error }) => showFailure(error));
}

/** Returns headline and explanation of an error. */
function describe(error) {
  switch (error.code) {
    case "no-address": {
      const { headline, why } = describeNoAddress();
      return [headline, why];
    }
    case "stream-ended": return ["The stream has ended", describeEnd("publisher", error.reason)];
    case "session-lost": return ["The platform has lost the stream", ""];
    case "connection-lost": return ["The connection was lost", ""];
    default: return ["The platform cannot be reached", ""];
  }
}

/** The stream is published again by itself. The devices stay open. */
function showWaiting(error) {
  showNothing();
  badge("waiting", "fair");
  const [headline, why] = describe(error);
  // A message is not replaced, because a screen reader would read it at each attempt.
  if (element("message").hidden) tell(headline, `${why} Publishing again by itself.`.trim(), "waiting");
  showStop();
}

function showFailure(error) {
  stop();
  badge("failed", "bad");
  switch (error.code) {
    case "unauthorized":
      badge("refused", "bad");
      return tell(token ? "The token is not valid any more" : "Publishing needs a token",
        "Ask whoever runs the platform for a new link: /publish#token=…", "locked");
    case "unsupported":
      badge("refused", "bad");
      return tell("The platform cannot accept what this browser sends", error.message);
    case "unreachable":
      badge("refused", "bad");
      return tell("The platform cannot be reached", "Publish again when it is back.");
    case "no-address": case "connection-lost": return tell(...describe(error));
    default:
      badge("refused", "bad");
      return tell("The platform refused", error.message);
  }
}

function showLink(address) {
  element("watch").href = address;
  element("watch").textContent = address;
  element("link").hidden = false;
}

function showStop() {
  element("publish").hidden = true;
  element("stop").hidden = false;
}

function stop() {
  const current = publisher;
  publisher = null;
  current?.stop();
  showNothing();
  badge("not publishing");
  for (const id of ["publish", "codec", "layers"]) element(id).disabled = false;
  element("publish").hidden = false;
  element("stop").hidden = true;
}

/** Removes what concerns a stream that is over. */
function showNothing() {
  showNoFigures();
  showQuality("publisher", null);
  for (const plot of Object.values(plots)) plot.clear();
  element("link").hidden = true;
}

element("publish").addEventListener("click", begin);
element("stop").addEventListener("click", () => {
  stop();
  element("message").hidden = true;
});
for (const id of ["camera", "microphone"]) element(id).addEventListener("change", changeDevices);

const limits = { none: "nothing limits it", cpu: "limited by the processor", bandwidth: "limited by bandwidth" };
setInterval(async () => {
  const current = publisher;
  const statistics = await current?.statistics();
  if (!statistics || publisher !== current) return;
  const { width, height, frameRate, limitation, availableBitrate, roundTripTime, fractionLost } = statistics;
  show("size", width ? `${width} × ${height}` : null);
  show("limit", limits[limitation] ?? "");
  show("rate", frameRate?.toFixed(0));
  show("sent", bitrate(statistics.bitrate));
  show("room", bitrate(availableBitrate));
  show("roundtrip", roundTripTime === null ? null : `${roundTripTime.toFixed(0)} ms`);
  show("lost", fractionLost === null ? null : `${(fractionLost * 100).toFixed(1)} %`);
  show("resent", `${statistics.packetsRetransmitted}`);
  plots.rate.add(frameRate ?? 0);
  plots.sent.add(statistics.bitrate);
  plots.room.add(availableBitrate);
  plots.roundtrip.add(roundTripTime);
  plots.lost.add(fractionLost);
}, 1000);

addEventListener("pagehide", stop);
// Only a press of the button begins publishing, never the address: a link must not be able to publish a camera.
if ((await capture()) && parameters.has("start")) element("publish").focus();
