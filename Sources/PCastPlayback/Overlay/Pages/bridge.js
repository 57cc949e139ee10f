// The page's end of an overlay's bridge. No build step, no dependency:
//
//   import { connect } from "/bridge.js";
//   const bridge = connect();                          // program and token from the page's own address
//   bridge.on("player.time", ({ timecode }) => …);     // what the player reports
//   bridge.emit("player.time", { timecode });          // the same name the other way asks for a seek
//   bridge.loaded();                                   // this page shows what it has to show
//
// The address is /overlay/PROGRAM/#token=TOKEN. Without a token the page looks on, and cannot steer. The token is kept for
// the tab alone and taken out of the address.
//
// Events to the page: bridge.welcome {controller}, which says whether it may steer, player.ready, player.time {timecode, initialTimecode?, maxTimecode?} in milliseconds since 1970, or since the start of media without a time of day,
// player.state {state}, player.speed {speed}, player.volume {volume}, player.mute {mute}, player.controls {controls},
// player.videoscale {scaleX, scaleY, pivotX, pivotY, scaleDuration}, player.metadata {metadata}, app.status {status},
// app.language {language}, app.message {message}, easelive.error {type, message}, bridge.error {reason}, and whatever the
// application calls its own. From the page: player.time, player.state, player.speed, player.volume, player.mute,
// player.videoscale, stage.clicked {controls}, stage.swipe {direction}, app.language {language, available}, app.status,
// app.error {type, message}; anything else reaches the application as a message.
//
// Programs that were written for the bridge of a web view find window.WebViewBridge: send(text), onMessage, onError, and the
// event "WebViewBridge" of the document.

const VERSION = 1;
const KEY = "pcast.overlay.token";
/** Codes of a close after which nothing comes back: disabled, destroyed, malformed, wrong token. */
const FINAL = new Set([4001, 4002, 4005, 4008]);
const RETRY = { first: 300, most: 5000 };

export class Bridge {
  #url;
  #socket = null;
  #listeners = new Map();
  #sequence = 0;
  #epoch = 0;
  #retry = RETRY.first;
  #timer = 0;
  #isLoaded = false;
  #isOver = false;

  constructor(url) {
    this.#url = url;
    this.#open();
  }

  /** "connecting", "open", or "closed" when nothing comes back. */
  get state() {
    if (this.#isOver) return "closed";
    return this.#socket?.readyState === WebSocket.OPEN ? "open" : "connecting";
  }

  /**
   * Calls back with each event's metadata and, second, the whole message. "*" is every event, "state" the connection's.
   * What this page emits itself is heard only where fromSdkOnly is false: who answers a report with a request by the same
   * name would else answer itself.
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

  /** Says something; false where there is nobody to hear it. */
  emit(name, metadata = {}) {
    const message = { v: VERSION, event: name, metadata, seq: ++this.#sequence, epoch: this.#epoch };
    const isHeard = this.#socket?.readyState === WebSocket.OPEN;
    if (isHeard) this.#socket.send(JSON.stringify(message));
    this.#dispatch(name, metadata, message, false);
    return isHeard;
  }

  /** The page shows what it has to show. Said again by itself after the connection was lost. */
  loaded() {
    this.#isLoaded = true;
    if (this.#socket?.readyState === WebSocket.OPEN) this.emit("app.ready");
  }

  destroy() {
    this.#end();
    this.#socket?.close(1000);
  }

  #open() {
    const socket = new WebSocket(this.#url);
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
    // What was on its way when the player went elsewhere is of the past.
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

/** window.WebViewBridge, as a page of a web view has it. */
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

/** Connects this page to its overlay. */
export function connect({ program, token } = {}) {
  const name = program ?? location.pathname.split("/")[2];
  const secret = token ?? ownToken(name);
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const bridge = new Bridge(`${scheme}://${location.host}/bridge/${name}${secret ? `?token=${secret}` : ""}`);
  offerWebViewBridge(bridge);
  return bridge;
}
