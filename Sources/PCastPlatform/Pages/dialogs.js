// The dialogs of the dashboard.

import { clock, count, describeQuality, nameOf, setText, shorten } from "/assets/streams.js";

const element = (id) => document.getElementById(id);

/** The dialog that confirms the end of a stream and asks for the reason. */
export class EndDialog {
  #stream = null;

  /** @param end ends the stream: (stream, reason) => Promise. */
  constructor(end) {
    const dialog = element("enddialog");
    const chosen = () => dialog.querySelector("input[name=reason]:checked").value;
    dialog.addEventListener("change", () => {
      element("endtext").disabled = chosen() !== "";
      if (chosen() === "") element("endtext").focus();
    });
    dialog.addEventListener("input", () => { element("endfailure").textContent = ""; });
    // Enter activates the button of the dialog and not the first one of the form.
    element("endtext").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      element("endnow").click();
    });
    element("endnow").addEventListener("click", async () => {
      const reason = chosen() || element("endtext").value.trim();
      if (!reason) {
        element("endfailure").textContent = "Enter a reason, or choose another one.";
        element("endtext").focus();
        return;
      }
      element("endnow").disabled = true;
      element("endfailure").textContent = "";
      try {
        await end(this.#stream, reason);
        dialog.close();
      } catch (error) {
        element("endfailure").textContent = error.status === 404
          ? "The stream has already ended." : error.message || "The platform does not respond.";
      }
      element("endnow").disabled = false;
    });
  }

  open(stream) {
    this.#stream = stream;
    element("endtitle").textContent = `End ${nameOf(stream)}?`;
    element("endviewers").textContent = stream.viewers ? count(stream.viewers, "viewer") : "all viewers";
    element("endid").textContent = stream.streamId;
    element("endfailure").textContent = "";
    element("endtext").value = "";
    element("endtext").disabled = true;
    element("enddialog").querySelector("input[value=ended]").checked = true;
    element("enddialog").showModal();
  }
}

/** The dialog that creates links for subscribers with a selected lifetime. */
export class LinkDialog {
  #stream = null;

  /** @param make (stream, seconds) => Promise of the link. */
  constructor(make) {
    element("makelink").addEventListener("click", async () => {
      element("makelink").disabled = true;
      try {
        const seconds = Number(element("lifetime").value);
        const link = await make(this.#stream, seconds);
        element("made").hidden = false;
        element("link").value = link;
        const isCopied = await this.#copy(link);
        const until = new Date(Date.now() + seconds * 1000);
        const day = until.toDateString() === new Date().toDateString() ? "" : `${until.toLocaleDateString()}, `;
        const time = until.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
        this.#tell(`${isCopied ? "Copied to the clipboard" : "Copy it from the field"}; it is valid until ${day}${time}.`, "good");
      } catch (error) {
        this.#tell(error.status === 410 ? "The stream has already ended."
          : error.message || "The platform does not respond.", "bad");
      }
      element("makelink").disabled = false;
    });
    // The page does not keep a created link.
    element("linkdialog").addEventListener("close", () => { element("link").value = ""; });
  }

  open(stream) {
    this.#stream = stream;
    element("linktitle").textContent = `A link to ${nameOf(stream)}`;
    element("linkid").textContent = stream.streamId;
    element("made").hidden = true;
    element("link").value = "";
    this.#tell("", "");
    element("linkdialog").showModal();
  }

  #tell(text, tone) {
    element("linkstate").textContent = text;
    element("linkstate").className = `small ${tone}`;
  }

  // Pages without TLS cannot use the Clipboard API.
  async #copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      element("link").focus();
      element("link").select();
      return document.execCommand("copy");
    }
  }
}

/** The dialog with the viewers of a stream, and the reasons why their quality is poor. */
export class ViewersDialog {
  #read; #page; #stream = null; #timer = null;

  /**
   * @param read reads the viewers of a stream: (stream) => Promise.
   * @param {object} page the functions of the page: `showRows` and `part` fill a list.
   */
  constructor(read, page) {
    this.#read = read;
    this.#page = page;
    element("viewersdialog").addEventListener("close", () => clearTimeout(this.#timer));
  }

  open(stream) {
    this.#stream = stream;
    element("viewerstitle").textContent = `Viewers of ${nameOf(stream)}`;
    element("viewersid").textContent = stream.streamId;
    element("viewerlist").replaceChildren();
    element("viewersstate").textContent = "";
    element("viewersdialog").showModal();
    this.#show();
  }

  // Shows the viewers, and reads them again while the dialog is open.
  async #show() {
    clearTimeout(this.#timer);
    const stream = this.#stream;
    try {
      const { viewers, total, hlsViewers } = await this.#read(stream);
      if (stream !== this.#stream || !element("viewersdialog").open) return;
      const parts = [total > viewers.length ? `The ${viewers.length} of ${total} viewers with the poorest quality.` : "",
        total ? "" : "There are no viewers in real time.", hlsViewers ? `${count(hlsViewers, "viewer")} by HLS.` : ""];
      setText(element("viewersstate"), parts.filter(Boolean).join(" "));
      this.#page.showRows(element("viewerlist"), viewers, ({ viewId }) => viewId, (row, viewer) => this.#fill(row, viewer));
    } catch (error) {
      if (stream !== this.#stream) return;
      setText(element("viewersstate"), error.status === 404
        ? "The stream has ended." : error.message || "The platform does not respond.");
    }
    if (element("viewersdialog").open) this.#timer = setTimeout(() => this.#show(), 2000);
  }

  #fill(row, viewer) {
    const { viewId, address, age, layer, roundTrip, loss, cause, qualitySince, dataQuality } = viewer;
    const { part } = this.#page;
    part(row, "name", address ?? shorten(viewId), "name").title = viewId;
    const isGood = dataQuality.status === "all" && dataQuality.reason === "none";
    const since = !isGood && qualitySince ? ` since ${new Date(qualitySince).toLocaleTimeString()}` : "";
    const words = cause ? cause.message.charAt(0).toUpperCase() + cause.message.slice(1) : isGood ? "Good" : describeQuality(dataQuality);
    part(row, "cause", `${words}${since}`, `cause ${isGood && !cause ? "good" : dataQuality.status === "no-data" ? "bad" : "fair"}`);
    const facts = [
      `watching for ${clock(age)}`, layer === undefined ? null : `layer ${layer}`,
      roundTrip === undefined ? null : `${roundTrip} ms round trip`,
      loss === undefined ? null : `${(loss * 100).toFixed(1)} % lost`,
    ];
    part(row, "facts", facts.filter(Boolean).join(" · "), "facts quiet small");
  }
}
