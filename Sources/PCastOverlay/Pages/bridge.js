// The client of an overlay's bridge. It needs no build step and has no dependencies:
//
//   import { connect } from "/bridge.js";
//   const bridge = connect();                                // program and token from the page's address
//   bridge.on("player.time", ({ timecode }) => …);           // reports of the player
//   bridge.emit("player.time", { timecode });                // the same name as a request: a seek
//   bridge.loaded();                                         // the page displays its content
//
// The address is /overlay/PROGRAM/#token=TOKEN. Without a token, the page cannot control the player. The token is
// stored in the tab's session storage and removed from the address.
//
// A page that lies over a viewer in a browser (/pcast.mjs) has #bridge=parent in its address. It exchanges the same
// messages with the page in which it is embedded, over a MessagePort in place of a WebSocket.
//
// A page that `pcast playout` renders exchanges them with its own window, from whatever server it is loaded.
//
// Events to the page: bridge.welcome {controller}, which reports whether the page may control the player, player.ready,
// player.time {timecode, initialTimecode?, maxTimecode?} in milliseconds since 1970, or since the beginning of media
// without wall-clock time,
// player.state {state}, player.speed {speed}, player.volume {volume}, player.mute {mute}, player.controls {controls},
// player.videoscale {scaleX, scaleY, pivotX, pivotY, scaleDuration}, player.metadata {metadata}, app.status {status},
// app.language {language}, app.message {message}, easelive.error {type, message}, bridge.error {reason}, and events
// that the application defines. Events from the page: player.time, player.state, player.speed, player.volume, player.mute,
// player.videoscale, stage.clicked {controls}, stage.swipe {direction}, app.language {language, available}, app.status,
// app.error {type, message}; any other event reaches the application as a message.
//
// Pages for Ease Live's web view can use window.WebViewBridge: send(text), onMessage, onError, and the event
// "WebViewBridge" of the document.

const VERSION = 1;
const KEY = "pcast.overlay.token";
/** The close codes that prevent a reconnect: disabled, destroyed, malformed message, wrong token. */
const FINAL = new Set([4001, 4002, 4005, 4008]);
const RETRY = { first: 300, most: 5000 };

/**
 * A connection with the page in which this page is embedded. For a page that `pcast playout` renders, its own window
 * answers. It has the interface of a WebSocket.
 */
class ParentSocket {
  readyState = WebSocket.CONNECTING;
  onopen = () => {};
  onmessage = () => {};
  onclose = () => {};
  #port = null;
  #accept = ({ source, data, ports: [port] }) => {
    if (source !== window.parent || data?.type !== "pcast-bridge" || !port) return;
    removeEventListener("message", this.#accept);
    this.#port = port;
    port.onmessage = (event) => {
      if (typeof event.data === "string") this.onmessage(event);
      else this.#end(event.data);
    };
    this.readyState = WebSocket.OPEN;
    this.onopen();
  };

  constructor() {
    addEventListener("message", this.#accept);
    // The message has no secret, so any page may receive it.
    window.parent.postMessage({ type: "pcast-bridge", version: VERSION }, "*");
  }

  send(text) { this.#port.postMessage(text); }

  close() { this.#end({ code: 1000, reason: "" }); }

  #end(why) {
    if (this.readyState === WebSocket.CLOSED) return;
    removeEventListener("message", this.#accept);
    this.readyState = WebSocket.CLOSED;
    this.#port?.close();
    this.onclose(why);
  }
}

export class Bridge {
  #connect;
  #socket = null;
  #listeners = new Map();
  #sequence = 0;
  #epoch = 0;
  #retry = RETRY.first;
  #timer = 0;
  #isLoaded = false;
  #isOver = false;

  /** Creates a bridge. `connect` returns a WebSocket, or an object with its interface, for each connection. */
  constructor(connect) {
    this.#connect = connect;
    this.#open();
  }

  /** The state of the connection: "connecting", "open", or "closed" if there is no reconnect. */
  get state() {
    if (this.#isOver) return "closed";
    return this.#socket?.readyState === WebSocket.OPEN ? "open" : "connecting";
  }

  /**
   * Adds a callback for events of a name. It receives the metadata and the whole message. The name "*" is for all
   * events, and "state" is for the connection. Events that this page emits itself are included only if fromSdkOnly is
   * false. Otherwise a page that responds to a report with a request of the same name would respond to itself.
   */
  on(name, callback, fromSdkOnly = true) {
    const listeners = this.#listeners.get(name) ?? [];
    this.#listeners.set(name, [...listeners, { callback, fromSdkOnly }]);
    return this;
  }

  off(name, callback) {
    const rest = (this.#listeners.get(name) ?? []).filter((listener) => callback && listener.callback !== callback);
    this.#listeners.set(name, rest);
    return this;
  }

  /** Sends an event. Returns false if there is no connection. */
  emit(name, metadata = {}) {
    const message = { v: VERSION, event: name, metadata, seq: ++this.#sequence, epoch: this.#epoch };
    const isHeard = this.#socket?.readyState === WebSocket.OPEN;
    if (isHeard) this.#socket.send(JSON.stringify(message));
    this.#dispatch(name, metadata, message, false);
    return isHeard;
  }

  /** Reports that the page displays its content. It is reported again automatically after a reconnect. */
  loaded() {
    this.#isLoaded = true;
    if (this.#socket?.readyState === WebSocket.OPEN) this.emit("app.ready");
  }

  destroy() {
    this.#end();
    this.#socket?.close(1000);
  }

  #open() {
    const socket = this.#connect();
    this.#socket = socket;
    this.#tellState();
    socket.onopen = () => {
      this.#retry = RETRY.first;
      this.#sequence = 0;
      this.#epoch = 0;
      this.emit("bridge.ready");
      if (this.#isLoaded) this.emit("app.ready");
      this.#tellState();
    };
    socket.onmessage = ({ data }) => this.#take(data);
    socket.onclose = ({ code, reason }) => {
      if (this.#isOver) return;
      if (FINAL.has(code)) this.#end();
      else this.#timer = setTimeout(() => this.#open(), this.#retry);
      this.#retry = Math.min(this.#retry * 2, RETRY.most);
      this.#tellState({ code, reason });
    };
  }

  #end() {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #tellState(why = {}) {
    this.#dispatch("state", { state: this.state, ...why }, null, true);
  }

  #take(text) {
    const message = JSON.parse(text);
    if (message.v !== VERSION) return;
    // A time from before a seek is outdated.
    if (message.event === "player.time" && message.epoch < this.#epoch) return;
    this.#epoch = Math.max(this.#epoch, message.epoch);
    if (message.event === "bridge.keepalive") this.emit("app.keepalive");
    this.#dispatch(message.event, message.metadata, message, true);
  }

  #dispatch(name, metadata, message, isFromSdk) {
    for (const key of message ? [name, "*"] : [name]) {
      for (const { callback, fromSdkOnly } of this.#listeners.get(key) ?? []) {
        if (isFromSdk || !fromSdkOnly) callback(metadata, message);
      }
    }
  }
}

function ownToken(program) {
  const key = `${KEY}.${program}`;
  const match = /(?:^#|&)token=([A-Za-z0-9._~-]+)/.exec(location.hash);
  if (match) {
    sessionStorage.setItem(key, match[1]);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem(key) ?? "";
}

/** Sets window.WebViewBridge, the interface of Ease Live's web view. */
function offerWebViewBridge(bridge) {
  const webView = {
    onMessage: null,
    onError: null,
    send(text) {
      try {
        if (typeof text !== "string") throw new TypeError("send takes a string");
        const { event, metadata } = JSON.parse(text);
        if (typeof event !== "string") throw new TypeError("a message has an event");
        bridge.emit(event, metadata ?? {});
      } catch (error) {
        webView.onError?.(error);
      }
    },
  };
  bridge.on("*", (_, message) => webView.onMessage?.(JSON.stringify(message)));
  window.WebViewBridge = webView;
  document.dispatchEvent(new Event("WebViewBridge"));
}

/** Returns a function that connects this page: to the page in which it is embedded, or to the server of the player. */
function connection(program, token) {
  const isEmbedded = window.parent !== window && new URLSearchParams(location.hash.slice(1)).get("bridge") === "parent";
  const isRendered = window.parent === window && typeof window.pcastBridge?.deliver === "function";
  if (isEmbedded || isRendered) return () => new ParentSocket();
  const name = program ?? location.pathname.split("/")[2];
  const secret = token ?? ownToken(name);
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const address = `${scheme}://${location.host}/bridge/${name}${secret ? `?token=${secret}` : ""}`;
  return () => new WebSocket(address);
}

/** Connects this page to its overlay and returns the bridge. */
export function connect({ program, token } = {}) {
  const bridge = new Bridge(connection(program, token));
  offerWebViewBridge(bridge);
  return bridge;
}
