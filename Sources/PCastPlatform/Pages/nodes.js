// The nodes of the cluster and their streams on the dashboard.

import { bitrate } from "/assets/pcast.js";
import { count, setText, shorten } from "/assets/streams.js";

const element = (id) => document.getElementById(id);
const shownAtMost = 60;

/** The nodes of a cluster. */
export class NodeList {
  #ask; #showRows; #part; #onFailure;

  /**
   * @param {object} page the functions of the page: `ask` sends a request, `showRows` and `part` fill a list, and
   * `onFailure` shows an error.
   */
  constructor({ ask, showRows, part, onFailure }) {
    this.#ask = ask;
    this.#showRows = showRows;
    this.#part = part;
    this.#onFailure = onFailure;
  }

  /** Reads the list and shows it. */
  async read() {
    const list = await this.#ask("GET", "/pcast/nodes");
    element("cluster").hidden = false;
    element("clusterstate").hidden = list.connected;
    this.#showRows(element("nodes"), list.nodes, ({ name }) => name, (row, node) => this.#fillNode(row, node, list));
    const shown = list.streams.slice(0, shownAtMost);
    this.#showRows(
      element("nodestreams"), shown, ({ node, name }) => `${node}\n${name}`, (row, stream) => this.#fillStream(row, stream, list));
    const omitted = list.streamCount - shown.length;
    element("morenodestreams").hidden = omitted <= 0;
    setText(element("morenodestreams"), `${count(omitted, "further stream")} in the cluster`);
  }

  #fillNode(row, node, list) {
    this.#part(row, "name", node.name === list.node ? `${node.name} (this node)` : node.name, "name").title = node.address;
    const facts = [
      node.region, `${Math.round(node.processor * 100)} % CPU`, bitrate(node.egress),
      count(node.streams, "stream"), `${node.viewers.toLocaleString("en")} of ${count(node.capacity, "place")} for viewers and publishers`,
    ];
    this.#part(row, "facts", facts.filter(Boolean).join(" · "), "facts quiet small");
    this.#part(row, "state", node.draining ? "drains" : "", `tone ${node.draining ? "bad" : ""}`);
    const button = row.querySelector(":scope > button") ?? this.#makeDrainButton(row, node.name);
    button.hidden = node.draining;
  }

  #makeDrainButton(row, name) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "small operate";
    button.textContent = "Drain";
    button.setAttribute("aria-label", `Drain the node ${name}`);
    button.addEventListener("click", async () => {
      if (!confirm(`New clients of ${name} are sent to other nodes until it restarts. Drain it?`)) return;
      try {
        await this.#ask("POST", `/pcast/nodes/${encodeURIComponent(name)}/drain`);
        await this.read();
      } catch (error) {
        this.#onFailure(error);
      }
    });
    row.append(button);
    return button;
  }

  #fillStream(row, stream, list) {
    this.#part(row, "name", shorten(stream.name), "name").title = stream.streamId;
    const facts = [
      `published at ${stream.node}`, stream.pulled ? `pulled by ${list.node}` : "",
      stream.links ? `${count(stream.links, "node")} ${stream.links === 1 ? "pulls" : "pull"} it from ${list.node}` : "",
      stream.codecs.join(" + "),
    ];
    this.#part(row, "facts", facts.filter(Boolean).join(" · "), "facts quiet small");
  }
}
