/**
 * PCast in a browser: watch and publish streams, and use rooms and channels, on any page, without a build step and
 * without dependencies.
 *
 *     <video id="video" controls playsinline></video>
 *     <script type="module">
 *       import { subscribe } from "https://platform.example/pcast.mjs";
 *       const viewer = subscribe({ stream: "STREAM", token: "TOKEN", video: document.getElementById("video") });
 *       viewer.addEventListener("ended", ({ detail }) => console.log("ended:", detail.reason));
 *     </script>
 *
 * `docs/BROWSER.md` has an example of each feature. Types are written as JSDoc: an editor and a TypeScript compiler with
 * `checkJs` read them.
 *
 * @module
 */
// @ts-check

import { Client } from "./assets/client.mjs";
import { NamedStreams } from "./assets/named-streams.mjs";
import { Publisher } from "./assets/publisher.mjs";
import { Viewer } from "./assets/viewer.mjs";

/** @typedef {import("./assets/client.mjs").ConnectOptions} ConnectOptions */
/** @typedef {import("./assets/named-streams.mjs").NamedStreamsOptions} NamedStreamsOptions */
/** @typedef {import("./assets/publisher.mjs").PublishOptions} PublishOptions */
/** @typedef {import("./assets/viewer.mjs").SubscribeOptions} SubscribeOptions */

export { Overlay } from "./assets/overlay.mjs";
export { PCastError, missingVideoCodecs } from "./assets/session.mjs";
export { Timeline } from "./assets/timeline.mjs";
export { Client, NamedStreams, Publisher, Viewer };

/**
 * Subscribes to a stream. The viewer reports by events, and tries again by itself; `viewer.ready()` waits for the first
 * frame.
 * @param {SubscribeOptions} options
 * @returns {Viewer}
 */
export const subscribe = (options) => new Viewer(options);

/**
 * Publishes media as a stream. The publisher reports by events, and publishes again by itself after a failure.
 * @param {PublishOptions} options
 * @returns {Publisher}
 */
export const publish = (options) => new Publisher(options);

/**
 * Opens a session, in which a page enters rooms and channels: `connect().channel("demo")`.
 * @param {ConnectOptions} [options]
 * @returns {Client}
 */
export const connect = (options) => new Client(options);

/**
 * Receives the events of an application's declared streams, with a token that has the role `view`.
 * @param {NamedStreamsOptions} options
 * @returns {NamedStreams}
 */
export const namedStreams = (options) => new NamedStreams(options);
