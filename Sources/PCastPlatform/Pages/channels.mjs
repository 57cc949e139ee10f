// Channels: rooms whose presenter an audience watches. A part of /pcast.mjs.
// @ts-check

import { streamIdOf } from "./room-stream.mjs";
import { Viewer } from "./viewer.mjs";

/** @typedef {import("./rooms.mjs").Member} Member */
/** @typedef {import("./rooms.mjs").Room} Room */
/** @typedef {import("./rooms.mjs").RoomInfo} RoomInfo */
/** @typedef {import("./rooms.mjs").RoomPublishOptions} RoomPublishOptions */

/** The time in milliseconds for which a stream continues without a presenter, who may return. */
const VACANCY = 400;
/** The time in milliseconds within which the end of a channel's stream means that it cannot be viewed. */
const SHORTEST = 1000;
/** The number of failures after which a stream is not chosen any more. */
const UNUSABLE = 100;

/**
 * The selection among several presenters: that with the newest change; or the present one while it has a stream, and
 * otherwise the first whose screen name contains “primary”, then “alternate”, then the first of the list.
 * @typedef {"most-recent" | "high-availability"} PresenterSelection
 */

/** The choice of a presenter among the members of a channel. */
export class PresenterChoice {
  #selection;
  /** @type {string | null} */ #current = null;
  /** @type {Map<string, number>} The failures by stream. */ #failures = new Map();

  /** @param {PresenterSelection} selection */
  constructor(selection) { this.#selection = selection; }

  /**
   * Returns the presenter whose first stream is played; null if there is none.
   * @param {Member[]} members
   * @returns {{ member: Member, streamId: string } | null}
   */
  choose(members) {
    const announced = members.flatMap(({ streams }) => streams.map(streamIdOf));
    for (const stream of [...this.#failures.keys()]) if (!announced.includes(stream)) this.#failures.delete(stream);
    const candidates = members.flatMap((member) => {
      const streamId = streamIdOf(member.streams[0]);
      const failures = this.#failures.get(streamId ?? "") ?? 0;
      return member.role === "presenter" && streamId && failures < UNUSABLE ? [{ member, streamId, failures }] : [];
    });
    const named = (/** @type {string} */ word) =>
      best.find(({ member }) => member.screenName.toLowerCase().includes(word));
    // After a failure, another presenter is tried first.
    const fewest = Math.min(...candidates.map(({ failures }) => failures));
    const best = candidates.filter(({ failures }) => failures === fewest);
    const chosen = this.#selection === "most-recent"
      ? candidates.reduce((/** @type {typeof candidates[0] | undefined} */ newest, each) =>
        newest && newest.member.lastUpdate > each.member.lastUpdate ? newest : each, undefined)
      : best.find(({ member }) => member.sessionId === this.#current) ?? named("primary") ?? named("alternate") ?? best[0];
    this.#current = chosen?.member.sessionId ?? null;
    return chosen ? { member: chosen.member, streamId: chosen.streamId } : null;
  }

  /** Records that a stream cannot be played at present. @param {string} streamId */
  failed(streamId) { this.#failures.set(streamId, (this.#failures.get(streamId) ?? 0) + 1); }

  /** Records that a stream has ended, or can never be played. @param {string} streamId */
  ended(streamId) { this.#failures.set(streamId, UNUSABLE); }
}

/**
 * @typedef {object} ChannelJoinOptions
 * @property {string} [screenName] the name for people
 * @property {PresenterSelection} [selection] the selection among several presenters, `most-recent` by default
 * @property {string | null} [token] a token that may view the streams; not needed on a platform on loopback
 * @property {HTMLVideoElement | null} [video] the element; a new one by default
 */

/**
 * A channel: a room whose presenter an audience watches. Create it with `client.channel()`.
 *
 * It connects to the platform when it joins, also before anybody presents, and keeps this connection when the presenter
 * changes. If the platform does not permit that to the client, it views the stream of each presenter.
 *
 * Events, as `CustomEvent`s with these details:
 *
 * - `presenter` `{ presenter }`: the member whose stream is selected, or null
 * - `viewer` `{ viewer }`: the {@link Viewer} of its stream, or null
 * - `failed` `{ error }`: a stream cannot be viewed. That of another presenter is tried
 */
export class Channel extends EventTarget {
  #video = document.createElement("video");
  /** @type {string | null} */ #token = null;
  /** @type {PresenterChoice | null} */ #choice = null;
  /** @type {Viewer | null} */ #viewer = null;
  /** @type {string | null} */ #streamId = null;
  /** @type {Member | null} */ #presenter = null;
  /** @type {number | undefined} */ #vacancy;
  /** @type {PresenterSelection} */ #selection = "most-recent";
  /** @type {Viewer | null} The viewer of the channel's own stream, which follows the presenters. */ #shared = null;
  /** @type {MediaProvider | null} The media of the video element, which shows none while nobody presents. */ #hidden = null;
  #evaluate = () => this.#choose();

  /** @param {Room} room */
  constructor(room) {
    super();
    /** The members and the conversation. */
    this.room = room;
  }

  /** The element that shows the stream. */
  get video() { return this.#video; }
  /** The presenter whose stream is selected; null if there is none. */
  get presenter() { return this.#presenter; }
  /** The viewer of the presenter's stream; null if there is none. */
  get viewer() { return this.#viewer; }

  /**
   * Enters the channel as its audience, and shows the stream of its presenter. It resolves when the client has entered;
   * there may be no presenter yet.
   * @param {ChannelJoinOptions} options
   * @returns {Promise<RoomInfo>}
   * @throws {PCastError}
   */
  async join({ screenName = "guest", selection = "most-recent", token = null, video = null } = {}) {
    const info = await this.room.join({ role: "audience", screenName });
    [this.#video, this.#token] = [video ?? this.#video, token];
    this.#choice = new PresenterChoice(selection);
    this.#selection = selection;
    this.#share(info.alias);
    this.room.addEventListener("members", this.#evaluate);
    this.#choose();
    return info;
  }

  /**
   * Publishes a stream as a presenter; see {@link Room.publish}.
   * @param {RoomPublishOptions} options
   */
  publish(options) { return this.room.publish({ role: "presenter", ...options }); }

  /** Ends the viewer and leaves the channel. */
  async leave() {
    this.room.removeEventListener("members", this.#evaluate);
    this.#choice = null;
    this.#select(null);
    this.#stopSharing();
    await this.room.leave();
  }

  #choose() {
    const chosen = this.#choice?.choose(this.room.members) ?? null;
    if (chosen || !this.#viewer || this.#viewer.isOver) return this.#select(chosen);
    this.#vacancy ??= setTimeout(() => this.#select(this.#choice?.choose(this.room.members) ?? null), VACANCY);
  }

  /** @param {{ member: Member, streamId: string } | null} chosen */
  #select(chosen) {
    clearTimeout(this.#vacancy);
    this.#vacancy = undefined;
    if (this.#presenter !== (chosen?.member ?? null)) {
      this.#presenter = chosen?.member ?? null;
      this.#emit("presenter", { presenter: this.#presenter });
    }
    const [former, shared] = [this.#viewer, this.#shared];
    if ((chosen?.streamId ?? null) === this.#streamId) return;
    this.#streamId = chosen?.streamId ?? null;
    // The stream of the channel follows by itself.
    if (chosen && shared && former === shared) return;
    if (former && former === shared) this.#hide();
    else former?.stop();
    if (chosen && shared) this.#show();
    this.#viewer = chosen ? shared ?? this.#view(chosen.streamId) : null;
    this.#emit("viewer", { viewer: this.#viewer });
  }

  // MARK: The stream of the channel

  /**
   * Views the channel's own stream.
   * @param {string} alias
   */
  #share(alias) {
    this.#stopSharing();
    const viewer = new Viewer({
      url: this.room.client.url, stream: alias, token: this.#token, video: this.#video, awaits: this.#selection,
    });
    this.#shared = viewer;
    const began = performance.now();
    const on = (/** @type {string} */ type, /** @type {(detail: any) => void} */ handle) =>
      viewer.addEventListener(type, (event) => {
        if (this.#shared === viewer) handle(/** @type {CustomEvent} */ (event).detail);
      });
    const refuse = () => {
      this.#stopSharing();
      this.#choose();
    };
    on("failed", refuse);
    on("waiting", ({ error }) => { if (error.code === "not-playing" || error.code === "refused") refuse(); });
    on("ended", () => {
      if (performance.now() - began < SHORTEST || !this.#choice) return refuse();
      this.#share(alias);
      this.#choose();
    });
  }

  #stopSharing() {
    const viewer = this.#shared;
    if (!viewer) return;
    [this.#shared, this.#hidden] = [null, null];
    viewer.stop();
    if (this.#viewer !== viewer) return;
    [this.#viewer, this.#streamId] = [null, null];
    this.#emit("viewer", { viewer: null });
  }

  /** Shows no frame of the channel's stream while nobody presents. */
  #hide() {
    this.#hidden = this.#video.srcObject;
    this.#video.srcObject = null;
  }

  /** Shows the channel's stream again. Its media may have arrived meanwhile. */
  #show() {
    if (!this.#hidden) return;
    if (!this.#video.srcObject) {
      this.#video.srcObject = this.#hidden;
      this.#shared?.play();
    }
    this.#hidden = null;
  }

  // MARK: The streams of presenters

  /** @param {string} stream */
  #view(stream) {
    const viewer = new Viewer({ url: this.room.client.url, stream, token: this.#token, video: this.#video });
    const on = (/** @type {string} */ type, /** @type {(detail: any) => void} */ handle) =>
      viewer.addEventListener(type, (event) => {
        if (this.#viewer === viewer) handle(/** @type {CustomEvent} */ (event).detail);
      });
    on("ended", () => {
      this.#choice?.ended(stream);
      this.#choose();
    });
    on("failed", ({ error }) => {
      this.#choice?.ended(stream);
      this.#emit("failed", { error });
      this.#choose();
    });
    // The viewer tries the same stream again, unless another presenter is preferred now.
    on("waiting", () => {
      this.#choice?.failed(stream);
      this.#choose();
    });
    return viewer;
  }

  /**
   * @param {string} type
   * @param {object} detail
   */
  #emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
}
