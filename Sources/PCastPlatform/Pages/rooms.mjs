// Rooms and channels: a part of /pcast.mjs.
// @ts-check

import { Publisher } from "./publisher.mjs";
import { RoomPublication, RoomStreamSession } from "./room-stream.mjs";
import { PCastError } from "./session.mjs";
import { accepted } from "./wire.mjs";

/** @typedef {import("./client.mjs").Client} Client */
/** @typedef {import("./client.mjs").TokenSource} TokenSource */

/** @typedef {"direct-chat" | "multi-party-chat" | "moderated-chat" | "town-hall" | "channel"} RoomType */

/**
 * The role of a member. The audience is in no list and in no event. A moderator may change other members; its token needs
 * the capability `moderator`.
 * @typedef {"participant" | "moderator" | "presenter" | "audience"} MemberRole
 */

/** @typedef {"active" | "passive" | "hand-raised" | "inactive" | "offline"} MemberState */

/**
 * The description of a room.
 * @typedef {{ roomId: string, alias: string, name: string, description: string, type: RoomType }} RoomInfo
 */

/**
 * A stream that a member announces. `audioState` and `videoState` are `disabled` while they are muted.
 * @typedef {object} RoomStream
 * @property {"user" | "presentation" | "audio"} type
 * @property {string} uri
 * @property {"enabled" | "disabled" | "ended"} audioState
 * @property {"enabled" | "disabled" | "ended"} videoState
 */

/**
 * A member of a room.
 * @typedef {object} Member
 * @property {string} sessionId
 * @property {string} screenName the name for people
 * @property {MemberRole} role
 * @property {MemberState} state
 * @property {RoomStream[]} streams
 * @property {number} lastUpdate the number of the member's last change, which grows
 */

/**
 * A change of a member; without a field, it remains.
 * @typedef {{ screenName?: string, role?: MemberRole, state?: MemberState, streams?: RoomStream[] }} MemberChange
 */

/**
 * A message of the conversation. The time is in milliseconds since 1970. The session is null for a backend.
 * @typedef {object} RoomMessage
 * @property {string} id identifiers are compared as text; those of later messages are greater
 * @property {number} time
 * @property {string | null} sessionId
 * @property {string} screenName
 * @property {MemberRole | null} role
 * @property {string} text
 */

/**
 * The relation of a client to a room. While it is `reconnecting`, the members are those from before.
 * @typedef {"left" | "joined" | "reconnecting" | "ended"} RoomStatus
 */

/**
 * @typedef {object} RoomPublishOptions
 * @property {MediaStream} media the media
 * @property {MemberRole} [role] the role while it publishes; `presenter` in a channel, otherwise `participant`
 * @property {RoomStream["type"]} [type] the purpose of the stream; that of the role by default
 * @property {string} [screenName] the name of a client that is no member yet
 * @property {string[]} [tags] further tags of the stream
 * @property {TokenSource} [token] a token that may publish; not needed on a platform on loopback
 * @property {import("./publisher.mjs").PublishOptions["codec"]} [codec]
 * @property {import("./publisher.mjs").PublishOptions["layers"]} [layers]
 */

/** The maximum number of members and of messages that are kept. The latter is that of the platform. */
const LIMITS = { members: 1000, page: 128 };
/** The maximum number of attempts of a change that conflicts with others. */
const MAXIMUM_ATTEMPTS = 5;

/**
 * A room, in which the client may be a member. Create it with `client.room()`.
 *
 * Events, as `CustomEvent`s with these details:
 *
 * - `statuschange` `{ status }`
 * - `members` `{ members }`: the members outside the audience have changed
 * - `own` `{ own }`: this client as a member has changed
 * - `info` `{ info }`: the description has changed
 * - `message` {@link RoomMessage}, after `follow()`
 */
export class Room extends EventTarget {
  #client; #id; #alias;
  /** @type {RoomStatus} */ #status = "left";
  /** @type {RoomInfo | null} */ #info = null;
  /** @type {Member[]} */ #members = [];
  /** @type {Member | null} */ #own = null;
  /** @type {Promise<unknown>} The last change. The next one waits for it. */ #lastChange = Promise.resolve();
  /** @type {(() => void) | null} */ #unobserve = null;
  #follows = false; #lastMessage = "";

  /**
   * @param {Client} client
   * @param {{ id?: string, alias?: string }} name
   */
  constructor(client, { id = "", alias = "" }) {
    super();
    [this.#client, this.#id, this.#alias] = [client, id, alias];
  }

  /** The client. */
  get client() { return this.#client; }
  /** The relation of the client to the room. */
  get status() { return this.#status; }
  /** The description; null before the room was joined. */
  get info() { return this.#info; }
  /** The members outside the audience, in the order in which they appeared. */
  get members() { return this.#members; }
  /** This client as a member; null unless it is one. */
  get own() { return this.#own; }

  // MARK: Membership

  /**
   * Enters the room. It has no effect if the client is a member.
   * @param {{ role?: MemberRole, screenName?: string }} options
   * @returns {Promise<RoomInfo>}
   * @throws {PCastError} with the code `not-found` or `unauthorized`, among others
   */
  async join({ role = "participant", screenName = "guest" } = {}) {
    await this.#serially(async () => {
      if (this.#own) return;
      await this.#enter({ screenName, role, state: "passive", streams: [], lastUpdate: 0 }, false);
    });
    return /** @type {RoomInfo} */ (this.#info);
  }

  /** Leaves the room. It has no effect if the client is no member. */
  leave() {
    return this.#serially(async () => {
      if (!this.#own) return;
      const { roomId } = /** @type {RoomInfo} */ (this.#info);
      this.#reset("left");
      await this.#client.requestNow("chat.LeaveRoom", { roomId, timestamp: Date.now() }).catch(() => {});
    });
  }

  /**
   * Changes this client's member, or another one if this client is a moderator.
   * @param {MemberChange} change
   * @param {string | null} sessionId the session of the other member
   * @throws {PCastError}
   */
  update(change, sessionId = null) { return this.#serially(() => this.#update(change, sessionId)); }

  /**
   * Announces that streams of a member are muted, or not any more. {@link RoomPublication.setMuted} also mutes the media.
   * @param {{ audio?: boolean, video?: boolean }} muted
   * @param {string | null} sessionId the session of another member
   * @throws {PCastError}
   */
  setMuted({ audio, video }, sessionId = null) {
    const state = (/** @type {RoomStream["audioState"]} */ present, /** @type {boolean | undefined} */ isMuted) =>
      present === "ended" || isMuted === undefined ? present : isMuted ? "disabled" : "enabled";
    return this.#serially(() => {
      const streams = this.#member(sessionId).streams.map((stream) => /** @type {RoomStream} */ ({
        ...stream, audioState: state(stream.audioState, audio), videoState: state(stream.videoState, video),
      }));
      return this.#update({ streams }, sessionId);
    });
  }

  /**
   * Returns the number of members of the audience.
   * @returns {Promise<number>}
   * @throws {PCastError}
   */
  async audienceCount() {
    const { roomId } = this.#joined();
    const { options } = accepted(await this.#client.request("chat.GetRoomInfo", { roomId }), "GetRoomInfo");
    const text = options.find((/** @type {string} */ each) => each.startsWith("audience="));
    return Number(text?.slice("audience=".length) ?? NaN);
  }

  // MARK: Conversation

  /**
   * Begins the events `message`. Earlier messages are events, too.
   * @param {{ history?: number }} options the number of earlier messages, at most 128
   * @throws {PCastError}
   */
  async follow({ history = 0 } = {}) {
    this.#deliver(await this.#fetch({ limit: history, subscribes: true }));
    this.#follows = true;
  }

  /**
   * Returns earlier messages, the oldest first.
   * @param {{ before?: string, limit?: number }} options the message before which they are; without it, the newest
   * @returns {Promise<RoomMessage[]>}
   * @throws {PCastError}
   */
  history({ before, limit = LIMITS.page } = {}) { return this.#fetch({ before, limit }); }

  /**
   * Sends a message to the conversation. The client receives it, too.
   * @param {string} text at most 1,024 bytes
   * @throws {PCastError} with the code `rate-limited` for a larger text and for too many messages
   */
  async send(text) {
    const { roomId } = this.#joined();
    const { screenName, role, lastUpdate } = /** @type {Member} */ (this.#own);
    accepted(await this.#client.request("chat.SendMessageToRoom", {
      roomId, chatMessage: { messageId: "", timestamp: 0, from: { screenName, role, lastUpdate }, message: text },
    }), "SendMessageToRoom");
  }

  // MARK: Publishing

  /**
   * Publishes a stream and announces it. If the client is no member, it enters the room first.
   * @param {RoomPublishOptions} options
   * @returns {Promise<RoomPublication>}
   * @throws {PCastError}
   */
  async publish({ media, role, type, screenName = "guest", tags = [], token = null, codec, layers }) {
    const info = await this.join({ role: "audience", screenName });
    const isChannel = info.type === "channel";
    const ownRole = role ?? (isChannel ? "presenter" : "participant");
    const prefix = isChannel ? "channel" : "room";
    const allTags = [`${prefix}Id:${info.roomId}`, `${prefix}Alias:${info.alias}`, ...tags];
    const publisher = new Publisher({
      url: this.#client.url, media, codec, layers,
      makeSession: (connection) => new RoomStreamSession(this.#client, connection, token, allTags),
    });
    const publication = new RoomPublication(this, publisher, {
      role: ownRole, formerRole: this.#own?.role ?? "audience",
      type: type ?? (ownRole === "presenter" ? "presentation" : "user"),
    });
    await publication.begin();
    return publication;
  }

  // MARK: Requests

  #joined() {
    if (!this.#info || !this.#own) {
      throw new PCastError("refused", "The client is no member of the room: call join().");
    }
    return this.#info;
  }

  /** @param {string | null} sessionId @returns {Member} */
  #member(sessionId) {
    this.#joined();
    const own = /** @type {Member} */ (this.#own);
    const found = !sessionId || sessionId === own.sessionId
      ? own : this.#members.find((member) => member.sessionId === sessionId);
    if (!found) throw new PCastError("not-found", "The member is not in the room.");
    return found;
  }

  /**
   * Runs a change after the earlier ones, so that each knows the result of the one before.
   * @template Result
   * @param {() => Promise<Result>} change
   * @returns {Promise<Result>}
   */
  #serially(change) {
    const result = this.#lastChange.then(change);
    this.#lastChange = result.catch(() => {});
    return result;
  }

  /**
   * @param {Omit<Member, "sessionId">} member
   * @param {boolean} isAgain
   */
  async #enter(member, isAgain) {
    const request = {
      roomId: this.#info?.roomId ?? this.#id, alias: this.#info?.alias ?? this.#alias,
      member: { ...member, sessionId: undefined }, options: isAgain ? ["reenter"] : [], timestamp: Date.now(),
    };
    const response = accepted(isAgain
      ? await this.#client.requestNow("chat.JoinRoom", request)
      : await this.#client.request("chat.JoinRoom", request), "JoinRoom");
    if (!response.room || !response.self) throw new PCastError("refused", "The response to JoinRoom is incomplete.");
    this.#unobserve ??= this.#client.observe({
      received: (type, event) => this.#receive(type, event),
      online: () => this.#enterAgain(),
      offline: () => this.#setStatus("reconnecting"),
      over: () => this.#reset("left"),
    });
    this.#setInfo(response.room);
    this.#setOwn(response.self);
    this.#setMembers(response.members.slice(0, LIMITS.members));
    this.#setStatus("joined");
  }

  /** Enters the room again as before. */
  async #enterAgain() {
    if (this.#status !== "reconnecting" || !this.#own) return;
    try {
      // The streams of another session have ended. Their publications announce the next ones.
      const isSame = this.#own.sessionId === this.#client.sessionId;
      await this.#enter({ ...this.#own, streams: isSame ? this.#own.streams : [] }, true);
      if (!this.#follows) return;
      const after = this.#lastMessage;
      this.#deliver(await this.#fetch({ after, limit: after ? LIMITS.page : 0, subscribes: true }));
    } catch (error) {
      const { code } = /** @type {PCastError} */ (error);
      if (code === "not-found") this.#reset("ended");
      else if (code === "unauthorized") this.#reset("left");
      else if (code !== "unreachable") setTimeout(() => this.#enterAgain(), 1000);
    }
  }

  /**
   * Makes a change. If the platform knows a later one, the change is repeated with its number.
   * @param {MemberChange} change
   * @param {string | null} sessionId
   */
  async #update(change, sessionId) {
    for (let attempt = 1; ; attempt += 1) {
      const { roomId } = this.#joined();
      const member = this.#member(sessionId);
      const response = await this.#client.request("chat.UpdateMember", {
        roomId, timestamp: Date.now(),
        member: {
          ...change, sessionId: member.sessionId, updateStreams: change.streams ? true : undefined,
          lastUpdate: member.lastUpdate,
        },
      });
      if (response.status === "conflict" && response.lastUpdate !== null && attempt < MAXIMUM_ATTEMPTS) {
        this.#adopt(member.sessionId, response.lastUpdate);
        continue;
      }
      accepted(response, "UpdateMember");
      // A member of the audience gets no event about its change.
      if (this.#own?.role === "audience" && member.sessionId === this.#own.sessionId) {
        this.#setOwn({ ...this.#own, ...change, lastUpdate: Math.max(this.#own.lastUpdate, response.lastUpdate ?? 0) });
      }
      return;
    }
  }

  /**
   * @param {{ after?: string, before?: string, limit: number, subscribes?: boolean }} options
   * @returns {Promise<RoomMessage[]>}
   */
  async #fetch({ after, before, limit, subscribes = false }) {
    const { roomId } = this.#joined();
    const { chatMessages } = accepted(await this.#client.request("chat.FetchRoomConversation", {
      roomId, afterMessageId: after || undefined, beforeMessageId: before || undefined, limit,
      options: subscribes ? ["subscribe"] : [],
    }), "FetchRoomConversation");
    return chatMessages.map(messageOf);
  }

  // MARK: Events

  /**
   * @param {string} type
   * @param {any} event
   */
  #receive(type, event) {
    if (event.roomId !== this.#info?.roomId || !this.#own) return;
    if (type === "chat.RoomConversationEvent" && event.eventType === "message") {
      if (this.#follows) this.#deliver(event.chatMessages.map(messageOf));
      return;
    }
    if (type !== "chat.RoomEvent") return;
    switch (event.eventType) {
      case "room-updated": if (event.room) this.#setInfo(event.room); break;
      case "room-ended": this.#reset("ended"); break;
      default: for (const member of event.members) this.#follow(event.eventType, member);
    }
  }

  /**
   * @param {string | null} type
   * @param {Member} member
   */
  #follow(type, member) {
    const own = /** @type {Member} */ (this.#own);
    const isOwn = member.sessionId === own.sessionId;
    const index = this.#members.findIndex(({ sessionId }) => sessionId === member.sessionId);
    const known = this.#members[index];
    const others = this.#members.filter((each) => each !== known);
    if (type === "joined") {
      if (isOwn) this.#setOwn(member);
      if (others.length < LIMITS.members) this.#setMembers([...others, member]);
    } else if (type === "updated" && known && member.lastUpdate > known.lastUpdate) {
      // An event that is older than the known state arrives after a response.
      if (isOwn) this.#setOwn(member);
      this.#setMembers(this.#members.with(index, member));
    } else if (type === "left") {
      if (isOwn && member.lastUpdate >= own.lastUpdate) {
        this.#setOwn(member.role === "audience" ? member : { ...own, lastUpdate: member.lastUpdate });
      }
      if (known && member.lastUpdate >= known.lastUpdate) this.#setMembers(others);
    }
  }

  /**
   * @param {string} sessionId
   * @param {number} lastUpdate
   */
  #adopt(sessionId, lastUpdate) {
    const newer = (/** @type {Member} */ member) => member.sessionId !== sessionId
      ? member : { ...member, lastUpdate: Math.max(member.lastUpdate, lastUpdate) };
    if (this.#own) this.#own = newer(this.#own);
    this.#members = this.#members.map(newer);
  }

  /** @param {RoomMessage[]} messages */
  #deliver(messages) {
    for (const message of messages) {
      if (message.id <= this.#lastMessage) continue;
      this.#lastMessage = message.id;
      this.#emit("message", message);
    }
  }

  /** @param {"left" | "ended"} status */
  #reset(status) {
    if (!this.#own) return;
    this.#unobserve?.();
    [this.#unobserve, this.#follows, this.#lastMessage] = [null, false, ""];
    this.#setOwn(null);
    this.#setMembers([]);
    this.#setStatus(status);
  }

  /** @param {RoomInfo} info */
  #setInfo({ roomId, alias, name, description, type }) {
    this.#info = { roomId, alias, name, description, type };
    this.#emit("info", { info: this.#info });
  }

  /** @param {Member[]} members */
  #setMembers(members) {
    this.#members = members;
    this.#emit("members", { members });
  }

  /** @param {Member | null} own */
  #setOwn(own) {
    this.#own = own;
    this.#emit("own", { own });
  }

  /** @param {RoomStatus} status */
  #setStatus(status) {
    if (this.#status === status) return;
    this.#status = status;
    this.#emit("statuschange", { status });
  }

  /**
   * @param {string} type
   * @param {object} detail
   */
  #emit(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }
}

/**
 * @param {any} message
 * @returns {RoomMessage}
 */
function messageOf({ messageId, timestamp, from, message }) {
  const { sessionId, screenName, role } = from ?? {};
  return {
    id: messageId ?? "", time: timestamp ?? 0, sessionId: sessionId || null, screenName: screenName ?? "", role: role ?? null,
    text: message ?? "",
  };
}
