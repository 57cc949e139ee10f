// The stream keys of the dashboard: a list, and the dialogs that create, show, rotate and revoke them.

import { bitrate } from "/assets/pcast.js";
import { setText } from "/assets/streams.js";

const element = (id) => document.getElementById(id);

/** Returns the settings of encoders for a key, by the ports of the platform. */
export function settingsOf(key, { rtmpPort, rtmpsPort, srtPort }, host) {
  const settings = [];
  const options = "-c:v libx264 -tune zerolatency -bf 0 -g 60 -c:a aac";
  for (const [scheme, port, standard] of [["rtmp", rtmpPort, 1935], ["rtmps", rtmpsPort, 443]]) {
    if (port === undefined) continue;
    const server = `${scheme}://${host}${port === standard ? "" : `:${port}`}/ingest`;
    const name = scheme.toUpperCase();
    settings.push([`OBS, ${name}: server`, server], [`OBS, ${name}: stream key`, key]);
    settings.push([`FFmpeg, ${name}`, `ffmpeg -re -i FILE ${options} -f flv "${server}/${key}"`]);
  }
  if (srtPort !== undefined) {
    const server = `srt://${host}:${srtPort}?streamid=${key}`;
    settings.push(["OBS, SRT: server (without a stream key)", server]);
    settings.push(["FFmpeg, SRT", `ffmpeg -re -i FILE ${options} -f mpegts "${server}&pkt_size=1316"`]);
  }
  return settings;
}

/** The stream keys of the application. */
export class KeyList {
  #ask; #showRows; #part; #onFailure; #ports = {}; #name = null; #change = null;

  /**
   * @param {object} page the functions of the page: `ask` sends a request, `showRows` and `part` fill a list, and
   * `onFailure` shows an error.
   */
  constructor({ ask, showRows, part, onFailure }) {
    this.#ask = ask;
    this.#showRows = showRows;
    this.#part = part;
    this.#onFailure = onFailure;
    element("newkey").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#create();
    });
    // The page does not keep a key.
    element("keydialog").addEventListener("close", () => element("keysettings").replaceChildren());
    element("changekey").addEventListener("click", () => this.#confirmed());
  }

  /** Reads the list and shows it. It is hidden if the platform has no port for encoders. */
  async read() {
    const { keys, ingest = {} } = await this.#ask("GET", "/pcast/keys");
    this.#ports = ingest;
    element("streamkeys").hidden = !keys.length && !Object.keys(ingest).length;
    element("nokeys").hidden = keys.length > 0;
    this.#showRows(element("keys"), keys, ({ name }) => name, (row, key) => this.#fill(row, key));
  }

  #fill(row, { name, tags, capabilities, limits = {}, created, rotated }) {
    this.#part(row, "name", name, "name").title = name;
    const changed = rotated === undefined
      ? `created ${new Date(created).toLocaleString()}` : `rotated ${new Date(rotated).toLocaleString()}`;
    const { bitrate: bits, width, height, connections } = limits;
    const bounds = [
      bits === undefined ? null : `at most ${bitrate(bits)}`,
      width === undefined ? null : `at most ${width} wide`, height === undefined ? null : `at most ${height} high`,
      connections === undefined ? null : `${connections} publishers`,
    ].filter(Boolean);
    this.#part(row, "facts", [changed, ...tags, ...capabilities, ...bounds].join(" · "), "facts quiet small");
    if (!row.querySelector(":scope > .actions")) row.append(this.#makeActions(name));
  }

  #makeActions(name) {
    const actions = document.createElement("span");
    actions.className = "actions administer";
    for (const [kind, text, className, action] of [
      ["settings", "Settings…", "", () => this.#show(name)],
      ["rotate", "Rotate…", "", () => this.#confirm(name, "rotate")],
      ["revoke", "Revoke…", "danger", () => this.#confirm(name, "revoke")],
    ]) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = `${kind} small ${className}`;
      button.textContent = text;
      button.setAttribute("aria-label", `${text.replace("…", "")} of the stream key ${name}`);
      button.addEventListener("click", action);
      actions.append(button);
    }
    return actions;
  }

  #path(name) { return `/pcast/key/${encodeURIComponent(name)}`; }

  async #create() {
    const field = element("keyname");
    setText(element("keyfailure"), "");
    try {
      // An existing key would lose its tags.
      const { keys } = await this.#ask("GET", "/pcast/keys");
      if (keys.some(({ name }) => name === field.value)) {
        setText(element("keyfailure"), "There is a key with this name: choose another one.");
        return;
      }
      const { key } = await this.#ask("PUT", this.#path(field.value), { limits: this.#limits() });
      element("newkey").reset();
      this.#open(key);
      await this.read();
    } catch (error) {
      setText(element("keyfailure"), error.message || "The platform does not respond.");
    }
  }

  /** Returns the limits of the form. A field that is empty has none. */
  #limits() {
    const number = (id, factor = 1) => {
      const { value } = element(id);
      return value === "" ? undefined : Math.round(Number(value) * factor);
    };
    return {
      bitrate: number("keybitrate", 1e6), width: number("keywidth"), height: number("keyheight"),
      connections: number("keyconnections"),
    };
  }

  async #show(name) {
    try {
      this.#open((await this.#ask("GET", this.#path(name))).key);
    } catch (error) {
      this.#onFailure(error);
    }
  }

  #open({ name, streamKey }) {
    setText(element("keytitle"), `Settings of encoders with ${name}`);
    element("keysettings").replaceChildren(...settingsOf(streamKey, this.#ports, location.hostname).map(([label, text]) => {
      const row = document.createElement("label");
      row.append(label);
      const field = document.createElement("input");
      field.readOnly = true;
      field.value = text;
      const copy = document.createElement("button");
      copy.type = "button";
      copy.className = "small";
      copy.textContent = "Copy";
      copy.setAttribute("aria-label", `Copy: ${label}`);
      copy.addEventListener("click", async () => {
        copy.textContent = await this.#copy(field) ? "Copied" : "Copy it from the field";
      });
      row.append(field, copy);
      return row;
    }));
    element("keydialog").showModal();
  }

  // Pages without TLS cannot use the Clipboard API.
  async #copy(field) {
    try {
      await navigator.clipboard.writeText(field.value);
      return true;
    } catch {
      field.focus();
      field.select();
      return document.execCommand("copy");
    }
  }

  #confirm(name, change) {
    [this.#name, this.#change] = [name, change];
    const isRotation = change === "rotate";
    setText(element("changetitle"), isRotation ? "Rotate this stream key?" : "Revoke this stream key?");
    setText(element("changewhy"), isRotation
      ? "The key gets another secret. A stream that is published with the former one ends."
      : "The key is deleted, and a stream that is published with it ends.");
    setText(element("changename"), name);
    setText(element("changefailure"), "");
    setText(element("changekey"), isRotation ? "Rotate the key" : "Revoke the key");
    element("changedialog").showModal();
  }

  async #confirmed() {
    const button = element("changekey");
    button.disabled = true;
    try {
      if (this.#change === "rotate") {
        const { key } = await this.#ask("POST", `${this.#path(this.#name)}/rotation`);
        element("changedialog").close();
        this.#open(key);
      } else {
        await this.#ask("DELETE", this.#path(this.#name));
        element("changedialog").close();
      }
      await this.read();
    } catch (error) {
      setText(element("changefailure"), error.status === 404
        ? "There is no such key any more." : error.message || "The platform does not respond.");
    }
    button.disabled = false;
  }
}
