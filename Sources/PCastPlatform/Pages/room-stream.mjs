// A stream that is published in a room: a part of /pcast.mjs.
// @ts-check

import { PCastError } from "./session.mjs";
import { accepted } from "./wire.mjs";

/** @typedef {import("./client.mjs").Client} Client */
/** @typedef {import("./client.mjs").TokenSource} TokenSource */
/** @typedef {import("./publisher.mjs").Publisher} Publisher */
/** @typedef {import("./rooms.mjs").MemberRole} MemberRole */
/** @typedef {import("./rooms.mjs").Room} Room */
/** @typedef {import("./rooms.mjs").RoomStream} RoomStream */
/** @typedef {import("./session.mjs").DataQuality} DataQuality */

/**
 * Returns the identifier of an announced stream; null if its address has another form.
 * @param {RoomStream | undefined} stream
 */
export const streamIdOf = (stream) => /^pcast:\/\/[^/]+\/([^?]+)/.exec(stream?.uri ?? "")?.[1] ?? null;

/** A stream that is published in a room and announced to its members. Create it with `room.publish()`. */
export class RoomPublication {
  #room; #role; #formerRole; #type;
  /** @type {string | null} The stream that the room knows. */ #announced = null;
  #muted = { audio: false, video: false };

  /**
   * @param {Room} room
   * @param {Publisher} publisher
   * @param {{ role: MemberRole, formerRole: MemberRole, type: RoomStream["type"] }} options
   */
  constructor(room, publisher, { role, formerRole, type }) {
    /** The publisher, which publishes again after a failure. Its events are those of `publish()`. */
    this.publisher = publisher;
    [this.#room, this.#role, this.#formerRole, this.#type] = [room, role, formerRole, type];
  }

  /**
   * Resolves when the stream is announced. Streams that replace it are announced later.
   * @returns {Promise<void>}
   * @throws {PCastError}
   */
  begin() {
    return new Promise((resolve, reject) => {
      const fail = (/** @type {PCastError} */ error) => {
        this.publisher.stop();
        reject(error);
      };
      this.publisher.addEventListener("publishing", async (event) => {
        const { streamId } = /** @type {CustomEvent} */ (event).detail;
        try {
          await this.#announce(streamId);
          resolve();
        } catch (error) {
          if (!this.#announced) fail(/** @type {PCastError} */ (error));
        }
      });
      for (const type of ["ended", "failed", "stopped"]) {
        this.publisher.addEventListener(type, (event) => {
          this.#withdraw().catch(() => {});
          const { error, reason = null } = /** @type {CustomEvent} */ (event).detail;
          reject(error ?? new PCastError("gone", "The stream has ended.", { reason }));
        });
      }
      // The member is without its streams after another session has begun.
      this.#room.addEventListener("statuschange", () => {
        const { streamId, isOver } = this.publisher;
        const isKnown = this.#room.own?.streams.some((stream) => streamIdOf(stream) === streamId);
        if (this.#room.status !== "joined" || isOver || !streamId || isKnown) return;
        this.#announced = null;
        this.#announce(streamId).catch(() => {});
      });
    });
  }

  /**
   * Mutes or unmutes the media, and announces it.
   * @param {{ audio?: boolean, video?: boolean }} muted
   * @throws {PCastError}
   */
  async setMuted(muted) {
    Object.assign(this.#muted, muted);
    this.publisher.muted = this.#muted.audio;
    for (const track of this.publisher.media.getVideoTracks()) track.enabled = !this.#muted.video;
    if (this.publisher.streamId) await this.#announce(this.publisher.streamId);
  }

  /** Ends the announcement and then the stream. The client remains in the room with its former role. */
  async stop() {
    await this.#withdraw().catch(() => {});
    this.publisher.stop();
  }

  /** @param {string} streamId */
  async #announce(streamId) {
    const former = this.#announced;
    const others = (this.#room.own?.streams ?? [])
      .filter((stream) => ![streamId, former].includes(streamIdOf(stream)));
    const state = (/** @type {boolean} */ isMuted) => /** @type {const} */ (isMuted ? "disabled" : "enabled");
    await this.#room.update({
      // A moderator may have given another role meanwhile.
      ...(former ? {} : { role: this.#role }),
      streams: [{
        type: this.#type, uri: `pcast://phenixp2p.com/${streamId}?capabilities=`,
        audioState: state(this.#muted.audio), videoState: state(this.#muted.video),
      }, ...others],
    });
    this.#announced = streamId;
  }

  async #withdraw() {
    const former = this.#announced;
    if (!former || !this.#room.own) return;
    this.#announced = null;
    const streams = this.#room.own.streams.filter((stream) => streamIdOf(stream) !== former);
    await this.#room.update({ streams, ...(streams.length ? {} : { role: this.#formerRole }) });
  }
}

/**
 * The session of a published stream by the PCast protocol. A member announces only streams of its own session, which
 * WHIP does not have.
 */
export class RoomStreamSession {
  #client; #connection; #token; #tags;
  /** @type {RTCIceServer[]} */ #relays = [];
  /** @type {(() => void) | null} */ #unobserve = null;
  /** @type {number | undefined} */ #interruption;
  /** @type {number | undefined} */ #detour;
  /** @type {number | undefined} */ #addressTimer;
  #isClosed = false; #isOver = false; #isWithoutAddress = false;

  /** Whether the browser has found a local address for media. */
  hasAddress = false;
  /** The identifier of the stream. @type {string | null} */
  streamID = null;

  /** Called once when the platform has ended the stream. @type {(reason: string | null) => void} */
  onEnded = () => {};
  /** Called once when the session of the client, and so the stream, is lost. */
  onLost = () => {};
  /** Called once when the browser has found no local address for media. */
  onNoAddress = () => {};
  /** Called with each change of the data quality. @type {(quality: DataQuality) => void} */
  onQuality = () => {};
  /** Not called: members of rooms are not asked for a second codec. */
  onSecondCodec = () => {};

  /**
   * @param {Client} client
   * @param {RTCPeerConnection} connection the connection, with its transceivers
   * @param {TokenSource} token
   * @param {string[]} tags the tags of the stream
   */
  constructor(client, connection, token, tags) {
    [this.#client, this.#connection, this.#token, this.#tags] = [client, connection, token, tags];
  }

  /**
   * Publishes in one round trip. The platform needs no candidates of the client.
   * @param {(sdp: string) => string} [editOffer]
   * @throws {PCastError}
   */
  async open(editOffer = (sdp) => sdp) {
    const connection = this.#connection;
    connection.addEventListener("icecandidate", ({ candidate }) => { if (candidate?.candidate) this.hasAddress = true; });
    connection.addEventListener("connectionstatechange", () => this.#noteState());
    const offer = await connection.createOffer();
    const sdp = editOffer(offer.sdp ?? "");
    await connection.setLocalDescription({ type: "offer", sdp });
    this.#addressTimer = setTimeout(() => this.#noteNoAddress(), 1500);
    const streamToken = typeof this.#token === "function" ? await this.#token() : this.#token;
    if (this.#isClosed) return;
    // The event that ends the stream may follow the response at once.
    this.#unobserve = this.#client.observe({
      received: (type, event) => this.#receive(type, event),
      online: (isNew) => { if (isNew && this.streamID) this.#end(() => this.onLost()); },
      offline: () => {},
      over: () => { if (this.streamID) this.#end(() => this.onEnded("ended")); },
    });
    const { createStreamResponse: created } = accepted(await this.#client.request("pcast.SetupStream", {
      streamToken: streamToken ?? "",
      createStream: {
        sessionId: "", options: ["data-quality-notifications"], tags: this.#tags,
        setRemoteDescription: { streamId: "", sessionDescription: { type: "offer", sdp } },
      },
    }), "SetupStream");
    const answer = created?.createAnswerDescriptionResponse?.sessionDescription?.sdp;
    if (!created?.streamId || !answer) throw new PCastError("refused", "The platform has sent no answer.");
    this.streamID = created.streamId;
    this.#relays = (created.rtcConfiguration?.iceServers ?? []).map((/** @type {any} */ server) => ({
      urls: server.urls, username: server.username ?? undefined, credential: server.credential ?? undefined,
    }));
    if (this.#isClosed) return this.#destroy();
    await connection.setRemoteDescription({ type: "answer", sdp: answer });
    if (this.#relays.length) this.#detour = setTimeout(() => this.#takeDetour(), 1000);
  }

  /** Ends the stream. Further calls have no effect. */
  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const timer of [this.#interruption, this.#detour, this.#addressTimer]) clearTimeout(timer);
    this.#unobserve?.();
    if (this.streamID && !this.#isOver) this.#destroy();
    this.#connection.close();
  }

  #destroy() {
    this.#client.requestNow("pcast.DestroyStream", { streamId: this.streamID, reason: "ended" }).catch(() => {});
  }

  /** @param {() => void} report */
  #end(report) {
    if (this.#isClosed || this.#isOver) return;
    this.#isOver = true;
    report();
  }

  /**
   * @param {string} type
   * @param {any} event
   */
  #receive(type, event) {
    if (event.streamId !== this.streamID || this.#isClosed) return;
    if (type === "pcast.StreamEnded") this.#end(() => this.onEnded(event.reason));
    if (type === "pcast.StreamDataQuality" && event.status && event.reason) {
      this.onQuality({ status: event.status, reason: event.reason });
    }
  }

  #noteNoAddress() {
    clearTimeout(this.#addressTimer);
    if (this.#isClosed || this.hasAddress || this.#isWithoutAddress) return;
    if (this.#connection.connectionState === "connected") return;
    this.#isWithoutAddress = true;
    this.onNoAddress();
  }

  // The platform's TURN server over TLS is used if neither UDP nor TCP has reached the platform.
  #takeDetour() {
    if (this.#isClosed || !this.#relays.length || this.#connection.connectionState === "connected") return;
    this.#connection.setConfiguration({ ...this.#connection.getConfiguration(), iceServers: this.#relays });
    this.#relays = [];
    this.#restart();
  }

  /** Restarts ICE. The stream and its keys remain. */
  async #restart() {
    const connection = this.#connection;
    if (this.#isClosed || !this.streamID || connection.signalingState !== "stable") return;
    try {
      const offer = await connection.createOffer({ iceRestart: true });
      await connection.setLocalDescription(offer);
      const { sessionDescription } = accepted(await this.#client.request("pcast.SetRemoteDescription", {
        streamId: this.streamID, sessionDescription: { type: "offer", sdp: offer.sdp },
      }), "SetRemoteDescription");
      await connection.setRemoteDescription({ type: "answer", sdp: sessionDescription?.sdp ?? "" });
    } catch {
      if (/** @type {string} */ (connection.signalingState) === "have-local-offer") {
        await connection.setLocalDescription({ type: "rollback" }).catch(() => {});
      }
    }
  }

  // ICE is restarted until packets arrive or the browser gives up.
  #noteState() {
    clearTimeout(this.#interruption);
    const { connectionState } = this.#connection;
    if (connectionState === "failed" && !this.hasAddress) return this.#noteNoAddress();
    if (!["disconnected", "failed"].includes(connectionState)) return;
    const again = () => {
      if (this.#isClosed || this.#connection.connectionState === "connected") return;
      if (this.#relays.length) this.#takeDetour(); else this.#restart();
      this.#interruption = setTimeout(again, 3000);
    };
    this.#interruption = setTimeout(again, 500);
  }
}
