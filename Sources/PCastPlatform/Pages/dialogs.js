// The dialogs of the dashboard.

import { count, nameOf } from "/assets/streams.js";

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
