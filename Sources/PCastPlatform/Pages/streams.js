// The live streams as cards with a preview, if there is capacity for it, metrics and actions.

import { bitrate } from "/assets/pcast.js";
import { Session } from "/assets/session.mjs";
import { HistoryPlot } from "/assets/plots.js";

const previewLimit = 6;
const grace = 2000;
/** The interval at which the still image of a card without a preview is renewed, in milliseconds. */
const stillInterval = 10_000;

/** The operations that the role of the user permits. */
export const permissions = { previews: true };

/** The cards with a running preview. */
const previews = new Set();

const qualityText = {
  "all none": "good", "all upload-limited": "limited by the publisher's uplink",
  "all network-limited": "limited by the viewers' links", "audio-only none": "audio only",
  "audio-only upload-limited": "audio only: the uplink is too slow",
  "audio-only network-limited": "audio only: the viewers' links are too slow",
  "no-data none": "no data", "no-data upload-limited": "no data: the uplink is too slow",
};
export const describeQuality = ({ status, reason }) => qualityText[`${status} ${reason}`] ?? `${status}, ${reason}`;
const level = ({ status, reason }) => (status === "no-data" ? "bad" : status !== "all" || reason !== "none" ? "fair" : "good");

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

/** Returns a duration such as 1:02:03 or 2:03. */
export function clock(milliseconds) {
  const seconds = Math.max(Math.floor(milliseconds / 1000), 0);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const shown = parts[0] ? parts : parts.slice(1);
  return shown.map((part, index) => (index ? `${part}`.padStart(2, "0") : `${part}`)).join(":");
}

/** Sets text only if it differs, so that screen readers do not repeat it and a selection remains. */
export function setText(element, text) { if (element.textContent !== text) element.textContent = text; }

/** Returns the name of a stream, which is its first tag, otherwise its identifier. */
export const nameOf = (stream) => stream.tags[0] ?? shorten(stream.streamId);
export const shorten = (id) => (id.length > 18 ? `${id.slice(0, 13)}…${id.slice(-4)}` : id);

/** Returns the content of a blob as a URL that the page's policy permits for images. */
function dataURL(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(blob);
  });
}

/** The card of a stream, which exists as long as the stream is live. */
export class StreamCard {
  #parts = {}; #ask; #session = null; #inSight = false; #leaving = null; #wanted = null; #plot;
  #historyAsked = false; #historyRead = false; #stream = null; #attempt = 0; #stillDue = 0;

  /**
   * @param ask sends a request, (method, path, body) => Promise of its response.
   * @param actions the actions of the buttons: {watch, link, viewers, end}, each with the stream.
   */
  constructor(ask, actions) {
    this.#ask = ask;
    this.element = document.getElementById("card").content.firstElementChild.cloneNode(true);
    const names = [
      "picture", "still", "over", "preview", "age", "watching", "name", "id", "tags", "publisher", "facts", "warnings", "bitrate", "quality", "historyplot",
      "watch", "link", "viewers", "end",
    ];
    for (const name of names) this.#parts[name] = this.element.querySelector(`.${name}`);
    this.#parts.video = this.element.querySelector("video");
    for (const name of ["watch", "link", "viewers", "end"]) {
      this.#parts[name].addEventListener("click", () => actions[name](this.#stream));
    }
    this.#parts.preview.addEventListener("click", () => this.#makeSpace());
    this.#parts.video.addEventListener("playing", () => { this.#over(""); });
    this.#plot = new HistoryPlot(this.#parts.historyplot, (sample) => this.#tell(sample));
    this.#over("Waiting for video");
  }

  get stream() { return this.#stream; }

  /** Shows the state of the stream. `now` is the platform's time. */
  update(stream, now) {
    const parts = this.#parts;
    const isNew = !this.#stream;
    this.#stream = stream;
    this.element.dataset.stream = stream.streamId;
    setText(parts.name, nameOf(stream));
    setText(parts.id, stream.streamId);
    if (isNew) {
      parts.tags.replaceChildren(...stream.tags.slice(1).map((tag) => {
        const chip = document.createElement("span");
        chip.className = "chip";
        chip.textContent = tag;
        return chip;
      }));
      for (const [name, text] of [["watch", "Watch"], ["link", "Make a link for viewers of"], ["viewers", "Quality of the viewers of"], ["end", "End"]]) {
        parts[name].setAttribute("aria-label", `${text} ${nameOf(stream)}`);
      }
      parts.historyplot.setAttribute("aria-label", `Bitrate and quality of ${nameOf(stream)} in the last five minutes`);
    }
    setText(parts.age.lastElementChild, clock(now - stream.startTime));
    // The preview on this page does not count as a viewer.
    setText(parts.watching.lastElementChild, `${stream.viewers}`);
    parts.watching.title = `${count(stream.viewers, "viewer")}; ${stream.mostViewers} at the maximum`;
    setText(parts.publisher, this.#publisher(stream));
    setText(parts.facts, this.#facts(stream));
    parts.facts.title = stream.video ? `${stream.video.codecString}, ${stream.video.bitDepth} bits` : "";
    setText(parts.warnings, (stream.warnings ?? []).map(({ message }) => message).join(" "));
    parts.warnings.hidden = !stream.warnings?.length;
    // Missed samples are read from the platform.
    if (this.#historyRead && now - (this.#plot.last?.time ?? now) > 4000) this.#readHistory();
    if (stream.bitrate !== undefined && this.#historyRead) {
      const { roundTrip, loss, dataQuality } = stream;
      this.#plot.add([{ bitrate: stream.bitrate, roundTrip, loss, dataQuality, time: Math.floor(now / 1000) * 1000 }]);
    }
    if (!this.#chosen) this.#tell(null);
    if (!stream.hasMedia) this.#over("No media has arrived yet");
    this.#consider();
  }

  #chosen = null;

  #publisher({ publisher = {} }) {
    const protocol = { whip: "By WHIP", rtmp: "By RTMP", srt: "By SRT" }[publisher.protocol] ?? "By PCast";
    return publisher.address ? `${protocol} from ${publisher.address}` : protocol;
  }

  #facts(stream) {
    const facts = [
      stream.width ? `${stream.width} × ${stream.height}` : null,
      (stream.codecs ?? []).map((codec) => {
        const name = { H264: "H.264", H265: "H.265", opus: "Opus" }[codec] ?? codec;
        return codec === "opus" ? name : [name, stream.video?.profile, stream.video?.level].filter(Boolean).join(" ");
      }).join(" + "),
      stream.roundTrip === undefined ? null : `${stream.roundTrip} ms round trip`,
    ];
    return facts.filter(Boolean).join(" · ");
  }

  #tell(sample) {
    this.#chosen = sample;
    const figures = sample ?? this.#stream;
    if (!figures) return;
    const { dataQuality = { status: "all", reason: "none" } } = figures;
    setText(this.#parts.bitrate, figures.bitrate === undefined ? "–" : bitrate(figures.bitrate));
    const when = sample ? `${new Date(sample.time).toLocaleTimeString()} · ` : "";
    const lost = figures.loss >= 0.0005 ? ` · ${(figures.loss * 100).toFixed(1)} % lost` : "";
    setText(this.#parts.quality, `${when}${this.#stream?.hasMedia ? describeQuality(dataQuality) : "no data yet"}${lost}`);
    this.#parts.quality.className = `quality ${this.#stream?.hasMedia ? level(dataQuality) : "fair"}`;
  }

  // MARK: Preview

  /** Whether the card is visible, on a visible page. */
  set inSight(value) {
    if (value === this.#inSight) return;
    this.#inSight = value;
    if (value && !this.#historyAsked && this.#stream) this.#readHistory();
    clearTimeout(this.#leaving);
    if (value) this.#consider();
    // The preview ends after a delay, so that scrolling past does not restart it.
    else this.#leaving = setTimeout(() => this.#leave(), grace);
  }

  async #readHistory() {
    this.#historyAsked = true;
    this.#historyRead = false;
    try {
      const path = `/pcast/stream/${encodeURIComponent(this.#stream.streamId)}/history`;
      const { samples } = await this.#ask("GET", `${path}?after=${this.#plot.last?.time ?? 0}`);
      this.#plot.add(samples);
      this.#historyRead = true;
    } catch {
      this.#historyAsked = false; // it is retried when the card becomes visible again
    }
  }

  #consider() {
    if (this.#inSight && !this.#historyAsked && this.#stream) this.#readHistory();
    const wants = permissions.previews && this.#inSight && this.#stream?.hasMedia && !this.#session && !this.#wanted;
    const hasSpace = previews.has(this) || previews.size < previewLimit;
    this.#parts.preview.hidden = !wants || hasSpace;
    if (wants && !hasSpace) {
      this.#over("");
      if (Date.now() >= this.#stillDue) this.#loadStill();
    }
    this.#parts.still.hidden = !wants || hasSpace || !this.#parts.still.hasAttribute("src");
    if (wants && hasSpace && Date.now() >= this.#attempt) this.#show();
  }

  // Loads the last key frame of the stream, if the stream is packaged.
  async #loadStill() {
    this.#stillDue = Date.now() + stillInterval;
    try {
      const id = this.#stream.streamId;
      const { streamToken } = await this.#ask("POST", "/pcast/stream", { originStreamId: id, expiresIn: 60 });
      const response = await fetch(`/video/${encodeURIComponent(id)}/thumbnail.jpg`, {
        headers: { Authorization: `Bearer ${streamToken}` },
      });
      if (response.status === 404) this.#stillDue = Infinity;
      if (response.ok) this.#parts.still.src = await dataURL(await response.blob());
    } catch {
      // It is loaded again after the interval.
    }
  }

  // Ends the preview that has been running for the longest time.
  #makeSpace() {
    const [first] = previews;
    first?.#leave();
    this.#attempt = 0;
    this.#consider();
  }

  async #show() {
    previews.add(this);
    this.#over("Waiting for video");
    const wanted = this.#wanted = {};
    const connection = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
    connection.addTransceiver("video", { direction: "recvonly" });
    connection.addEventListener("track", ({ track }) => {
      this.#parts.video.srcObject = new MediaStream([track]);
      this.#parts.video.play().catch(() => {});
    });
    let session = null;
    try {
      const id = this.#stream.streamId;
      const { streamToken } = await this.#ask("POST", "/pcast/stream", { originStreamId: id, expiresIn: 60 });
      if (this.#wanted !== wanted) { connection.close(); return; }
      // The header field marks the request as one of the dashboard, so that it does not count as a viewer.
      session = new Session(
        connection, `/whep/${encodeURIComponent(id)}`, streamToken, { "PCast-Dashboard": "1" });
      // The list of streams says which ended. Events would take all six connections that browsers permit to a host.
      session.followsEvents = false;
      session.onEnded = () => { if (this.#session === session) this.#leave(5000); };
      this.#session = session;
      await session.open();
      await session.chooseLowest();
    } catch {
      connection.close();
      if (this.#wanted === wanted) {
        this.#leave(10_000);
        this.#over(this.#stream.codecs?.some((codec) => codec !== "opus") === false ? "Audio only" : "No video");
      }
    }
  }

  // Ends the preview. It cannot restart before the pause in milliseconds has passed.
  #leave(pause = 0) {
    this.#attempt = Date.now() + pause;
    this.#wanted = null;
    this.#session?.close();
    this.#session = null;
    previews.delete(this);
    this.#parts.video.srcObject = null;
    this.#over("Waiting for video");
  }

  #over(text) {
    setText(this.#parts.over, text);
    this.#parts.over.hidden = !text;
  }

  /**
   * Closes the card.
   * @param hasEnded whether the stream has ended, so that the platform has closed the preview.
   */
  close(hasEnded = false) {
    clearTimeout(this.#leaving);
    if (hasEnded) this.#session?.closeAfterEnd();
    this.#leave();
  }
}
