import { Figures, Refusal, Session, badge, bitrate, show, takeToken } from "/assets/pcast.js";

const element = (id) => document.getElementById(id);
const video = element("video");
const parameters = new URLSearchParams(location.search);
const token = takeToken();
let media = null;
let session = null;
let figures = null;

if (parameters.get("codec")) element("codec").value = parameters.get("codec").toUpperCase();

function tell(headline, why = "") {
  element("headline").textContent = headline;
  element("why").textContent = why;
  element("message").hidden = false;
}

/** Opens camera and microphone; without a secure context the browser offers neither, so the page says so. */
async function capture() {
  if (!navigator.mediaDevices) {
    const secure = `https://${location.host}`;
    tell("The browser gives cameras to secure pages only.",
      `Open this page over HTTPS (${secure}) or on this machine as http://localhost:${location.port || 80}/publish. ` +
      "Watching works without.");
    element("publish").disabled = true;
    return false;
  }
  media?.getTracks().forEach((track) => track.stop());
  const choose = (id) => (element(id).value ? { deviceId: { exact: element(id).value } } : {});
  try {
    media = await navigator.mediaDevices.getUserMedia({
      video: { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 }, ...choose("camera") },
      audio: { channelCount: { ideal: 2 }, ...choose("microphone") },
    });
  } catch (error) {
    const reasons = {
      NotAllowedError: "Allow camera and microphone for this page in the browser's address bar.",
      NotFoundError: "No camera or microphone was found: plug one in and reload.",
      NotReadableError: "Another program uses the camera or the microphone: close it and reload.",
    };
    tell("The camera could not be opened.", reasons[error.name] ?? error.message);
    element("publish").disabled = true;
    return false;
  }
  element("message").hidden = true;
  element("publish").disabled = false;
  video.srcObject = media;
  await list();
  return true;
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
  }
}

function preferCodec(transceiver) {
  const wanted = `video/${element("codec").value}`;
  const codecs = RTCRtpSender.getCapabilities("video")?.codecs ?? [];
  const first = codecs.filter((codec) => codec.mimeType === wanted);
  if (first.length) transceiver.setCodecPreferences([...first, ...codecs.filter((codec) => codec.mimeType !== wanted)]);
}

async function publish() {
  element("publish").disabled = true;
  badge("connecting");
  const connection = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
  for (const track of [...media.getVideoTracks(), ...media.getAudioTracks()]) {
    const transceiver = connection.addTransceiver(track, {
      direction: "sendonly", streams: [media],
      sendEncodings: track.kind === "video" ? [{ maxBitrate: 2_500_000 }] : [{}],
    });
    if (track.kind === "video") preferCodec(transceiver);
  }
  connection.addEventListener("connectionstatechange", () => connectionChanged(connection));
  session = new Session(connection, "/whip", token);
  figures = new Figures(connection);
  try {
    await session.open((sdp) => sdp.replace("useinbandfec=1", "useinbandfec=1;stereo=1;sprop-stereo=1"));
    showLink();
    element("publish").hidden = true;
    element("stop").hidden = false;
  } catch (error) {
    session.close();
    badge("refused", "bad");
    const needsToken = error instanceof Refusal && [401, 403].includes(error.status);
    tell(needsToken ? "Publishing needs a valid token." : "The platform refused.", error.message);
    element("publish").disabled = false;
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
  session?.close();
  session = null;
  figures = null;
  badge("not publishing");
  element("publish").hidden = false;
  element("publish").disabled = false;
  element("stop").hidden = true;
  element("link").hidden = true;
}

function connectionChanged(connection) {
  switch (connection.connectionState) {
    case "connected": badge("publishing", "good"); element("message").hidden = true; break;
    case "disconnected": badge("interrupted", "fair"); break;
    case "failed": stop(); badge("failed", "bad"); tell("The connection was lost.", "Publish again to go on."); break;
    case "closed": if (session) { stop(); badge("ended", "bad"); tell("The platform ended the stream."); } break;
  }
}

element("publish").addEventListener("click", publish);
element("stop").addEventListener("click", stop);
for (const id of ["camera", "microphone"]) element(id).addEventListener("change", capture);

setInterval(async () => {
  if (!figures) return;
  const { of, rate, roundTrip } = await figures.read();
  const picture = of("outbound-rtp", "video");
  if (!picture) return;
  show("size", picture.frameWidth ? `${picture.frameWidth} × ${picture.frameHeight}` : null);
  show("rate", picture.framesPerSecond?.toFixed(0));
  show("sent", bitrate((rate(picture, "bytesSent") ?? 0) + (rate(of("outbound-rtp", "audio"), "bytesSent") ?? 0)));
  show("roundtrip", roundTrip === undefined ? null : `${(roundTrip * 1000).toFixed(0)} ms`);
  show("resent", `${picture.retransmittedPacketsSent ?? 0}`);
  show("limit", picture.qualityLimitationReason);
}, 1000);

addEventListener("pagehide", () => session?.close());
if ((await capture()) && parameters.has("start")) publish();
