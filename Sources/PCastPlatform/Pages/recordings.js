// The recordings of the dashboard: a list, a player, and the dialog that confirms a deletion.

import { clock, setText, shorten } from "/assets/streams.js";

const element = (id) => document.getElementById(id);
const shownAtMost = 50;

const endReasons = {
  "disk-full": "ended: the disk was full", "disk-failed": "ended: the disk failed", "disk-too-slow": "ended: the disk was too slow",
};

/** Returns a size such as 1.2 GB. */
export function size(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const value = bytes / 1000 ** power;
  return `${value.toFixed(value < 10 && power > 0 ? 1 : 0)} ${units[power]}`;
}

/** The newest recordings of the application. */
export class RecordingList {
  #ask; #showRows; #part; #onFailure; #deleted = null;

  /**
   * @param {object} page the functions of the page: `ask` sends a request, `showRows` and `part` fill a list, and
   * `onFailure` shows an error.
   */
  constructor({ ask, showRows, part, onFailure }) {
    this.#ask = ask;
    this.#showRows = showRows;
    this.#part = part;
    this.#onFailure = onFailure;
    const video = element("recording");
    video.addEventListener("error", () => {
      if (video.hasAttribute("src")) setText(element("playfailure"), "This browser cannot play the recording: download it.");
    });
    // The platform stops reading the file when the dialog closes.
    element("playdialog").addEventListener("close", () => {
      video.removeAttribute("src");
      video.load();
    });
    element("deletenow").addEventListener("click", () => this.#delete());
  }

  /** Reads the list and shows it. */
  async read() {
    const { recordings } = await this.#ask("GET", `/pcast/recordings?order=newest&length=${shownAtMost}`);
    element("recorded").hidden = !recordings.length;
    this.#showRows(element("recordings"), recordings, ({ streamId }) => streamId, (row, recording) => this.#fill(row, recording));
  }

  #fill(row, recording) {
    const { streamId, startTime, endTime, duration, size: bytes, reason } = recording;
    const isRunning = endTime === undefined;
    this.#part(row, "name", shorten(streamId), "name").title = streamId;
    const start = new Date(startTime).toLocaleString();
    this.#part(row, "facts", `${start} · ${clock(duration)} · ${size(bytes)}`, "facts quiet small");
    const state = isRunning ? "recording" : endReasons[reason] ?? "complete";
    this.#part(row, "state", state, `tone ${isRunning ? "own" : reason ? "bad" : ""}`);
    const actions = row.querySelector(":scope > .actions") ?? this.#makeActions(row, streamId);
    for (const button of actions.children) button.disabled = duration === 0;
    actions.querySelector(".delete").disabled = isRunning;
  }

  #makeActions(row, stream) {
    const actions = document.createElement("span");
    actions.className = "actions";
    const add = (name, text, className, action) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = `${name} small ${className}`;
      button.textContent = text;
      button.setAttribute("aria-label", `${text} the recording of ${stream}`);
      button.addEventListener("click", () => action(stream));
      actions.append(button);
    };
    add("play", "Play", "", (id) => this.#play(id));
    add("download", "Download", "", (id) => this.#download(id));
    add("delete", "Delete…", "danger administer", (id) => this.#confirm(id));
    row.append(actions);
    return actions;
  }

  /** Returns the address of a recording as an MP4 file, which requires no token. */
  async #address(stream) {
    const { recording } = await this.#ask("GET", `/pcast/recordings/${encodeURIComponent(stream)}`);
    return recording.downloadUri;
  }

  async #play(stream) {
    try {
      const address = await this.#address(stream);
      setText(element("playid"), stream);
      setText(element("playfailure"), "");
      element("recording").src = address;
      element("playdialog").showModal();
      await element("recording").play().catch(() => {}); // the user can start it with the controls
    } catch (error) {
      this.#onFailure(error);
    }
  }

  async #download(stream) {
    try {
      const link = document.createElement("a");
      link.href = await this.#address(stream);
      link.download = `${stream}.mp4`;
      link.click();
    } catch (error) {
      this.#onFailure(error);
    }
  }

  #confirm(stream) {
    this.#deleted = stream;
    setText(element("deleteid"), stream);
    setText(element("deletefailure"), "");
    element("deletedialog").showModal();
  }

  async #delete() {
    const button = element("deletenow");
    button.disabled = true;
    try {
      await this.#ask("DELETE", `/pcast/recordings/${encodeURIComponent(this.#deleted)}`);
      element("deletedialog").close();
      await this.read();
    } catch (error) {
      setText(element("deletefailure"), { 404: "There is no such recording.", 410: "It was deleted already.",
        409: "The stream is still recorded: end it first." }[error.status] ?? (error.message || "The platform does not respond."));
    }
    button.disabled = false;
  }
}
