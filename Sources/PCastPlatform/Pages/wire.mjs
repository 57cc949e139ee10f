// The messages of the PCast protocol (docs/protocol) in the wire format of Protocol Buffers: a part of /pcast.mjs.
// @ts-check

import { PCastError } from "./session.mjs";

/** @typedef {import("./session.mjs").PCastErrorCode} PCastErrorCode */

/** The values of enumerations, by their numbers. */
const ENUMERATIONS = {
  descriptionType: ["offer", "answer"],
  qualityStatus: ["no-data", "audio-only", "all"],
  qualityReason: ["none", "upload-limited", "download-limited", "publisher-limited", "network-limited"],
  roomType: ["direct-chat", "multi-party-chat", "moderated-chat", "town-hall", "channel"],
  role: ["participant", "moderator", "presenter", "audience"],
  state: ["active", "passive", "hand-raised", "inactive", "offline"],
  streamType: ["user", "presentation", "audio"],
  trackState: ["enabled", "disabled", "ended"],
  roomEvent: ["joined", "left", "updated", "room-updated", "room-ended"],
  conversationOption: ["subscribe"],
  conversationEvent: ["message"],
};

/** @typedef {keyof typeof ENUMERATIONS} Enumeration */

/**
 * The fields of messages: number, type, and whether they repeat. A type is `string`, `bytes`, `bool` or `uint`, the name
 * of an enumeration, or that of a message.
 * @type {Record<string, Record<string, [number, string, true?]>>}
 */
const MESSAGES = {
  "mq.Request": { sessionId: [1, "string"], requestId: [2, "string"], type: [3, "string"], payload: [5, "bytes"] },
  "mq.Response": { sessionId: [1, "string"], requestId: [2, "string"], type: [3, "string"], payload: [5, "bytes"] },
  "mq.Error": { reason: [1, "string"] },

  "pcast.Authenticate": {
    apiVersion: [9, "uint"], clientVersion: [1, "string"], deviceId: [2, "string"], platform: [3, "string"],
    platformVersion: [4, "string"], authenticationToken: [5, "string"], sessionId: [7, "string"],
  },
  "pcast.AuthenticateResponse": { status: [1, "string"], sessionId: [2, "string"] },
  "pcast.SessionDescription": { type: [1, "descriptionType"], sdp: [2, "string"] },
  "pcast.SetRemoteDescription": { streamId: [1, "string"], sessionDescription: [2, "pcast.SessionDescription"] },
  "pcast.SetRemoteDescriptionResponse": {
    status: [1, "string"], sessionDescription: [2, "pcast.SessionDescription"], options: [3, "string", true],
  },
  "pcast.CreateStream": {
    sessionId: [1, "string"], options: [3, "string", true], tags: [4, "string", true],
    setRemoteDescription: [5, "pcast.SetRemoteDescription"],
  },
  "pcast.SetupStream": { streamToken: [1, "string"], createStream: [2, "pcast.CreateStream"] },
  "pcast.IceServer": { urls: [1, "string", true], username: [2, "string"], credential: [3, "string"] },
  "pcast.RtcConfiguration": { iceServers: [4, "pcast.IceServer", true] },
  "pcast.CreateAnswerDescriptionResponse": {
    status: [1, "string"], sessionDescription: [2, "pcast.SessionDescription"], options: [3, "string", true],
  },
  "pcast.CreateStreamResponse": {
    status: [1, "string"], streamId: [2, "string"],
    createAnswerDescriptionResponse: [6, "pcast.CreateAnswerDescriptionResponse"], options: [7, "string", true],
    rtcConfiguration: [9, "pcast.RtcConfiguration"],
  },
  "pcast.SetupStreamResponse": { status: [1, "string"], createStreamResponse: [2, "pcast.CreateStreamResponse"] },
  "pcast.DestroyStream": { streamId: [1, "string"], reason: [2, "string"] },
  "pcast.DestroyStreamResponse": { status: [1, "string"] },
  "pcast.StreamEnded": { sessionId: [1, "string"], streamId: [2, "string"], reason: [3, "string"] },
  "pcast.StreamDataQuality": {
    sessionId: [1, "string"], streamId: [2, "string"], timestamp: [3, "uint"], status: [4, "qualityStatus"],
    reason: [5, "qualityReason"],
  },

  "chat.Room": {
    roomId: [1, "string"], alias: [2, "string"], name: [3, "string"], description: [4, "string"], type: [5, "roomType"],
    options: [6, "string", true],
  },
  "chat.Stream": {
    type: [1, "streamType"], uri: [2, "string"], audioState: [3, "trackState"], videoState: [4, "trackState"],
  },
  "chat.Member": {
    sessionId: [1, "string"], screenName: [2, "string"], role: [3, "role"], streams: [4, "chat.Stream", true],
    state: [5, "state"], lastUpdate: [6, "uint"],
  },
  "chat.MemberUpdate": {
    sessionId: [1, "string"], screenName: [2, "string"], role: [3, "role"], updateStreams: [7, "bool"],
    streams: [4, "chat.Stream", true], state: [5, "state"], lastUpdate: [6, "uint"],
  },
  "chat.CreateRoom": { sessionId: [1, "string"], room: [2, "chat.Room"] },
  "chat.CreateRoomResponse": { status: [1, "string"], room: [2, "chat.Room"] },
  "chat.GetRoomInfo": { roomId: [1, "string"], alias: [2, "string"], sessionId: [3, "string"] },
  "chat.GetRoomInfoResponse": {
    status: [1, "string"], room: [2, "chat.Room"], members: [3, "chat.Member", true], options: [4, "string", true],
  },
  "chat.JoinRoom": {
    roomId: [1, "string"], alias: [2, "string"], sessionId: [3, "string"], member: [4, "chat.Member"],
    options: [5, "string", true], timestamp: [6, "uint"],
  },
  "chat.JoinRoomResponse": {
    status: [1, "string"], room: [2, "chat.Room"], members: [3, "chat.Member", true], self: [5, "chat.Member"],
  },
  "chat.UpdateMember": {
    sessionId: [1, "string"], roomId: [5, "string"], member: [2, "chat.MemberUpdate"], timestamp: [4, "uint"],
  },
  "chat.UpdateMemberResponse": { status: [1, "string"], lastUpdate: [2, "uint"] },
  "chat.LeaveRoom": { roomId: [1, "string"], sessionId: [2, "string"], timestamp: [3, "uint"] },
  "chat.LeaveRoomResponse": { status: [1, "string"] },
  "chat.RoomEvent": {
    sessionId: [1, "string"], roomId: [2, "string"], eventType: [3, "roomEvent"], members: [4, "chat.Member", true],
    room: [5, "chat.Room"],
  },
  "chat.ChatUser": {
    sessionId: [1, "string"], screenName: [2, "string"], role: [3, "role"], lastUpdate: [4, "uint"],
  },
  "chat.ChatMessage": {
    messageId: [1, "string"], timestamp: [2, "uint"], from: [3, "chat.ChatUser"], message: [4, "string"],
  },
  "chat.SendMessageToRoom": { roomId: [1, "string"], chatMessage: [2, "chat.ChatMessage"] },
  "chat.SendMessageToRoomResponse": { status: [1, "string"] },
  "chat.FetchRoomConversation": {
    sessionId: [1, "string"], roomId: [2, "string"], afterMessageId: [3, "string"], beforeMessageId: [4, "string"],
    limit: [5, "uint"], options: [6, "conversationOption", true],
  },
  "chat.FetchRoomConversationResponse": { status: [1, "string"], chatMessages: [2, "chat.ChatMessage", true] },
  "chat.RoomConversationEvent": {
    sessionId: [1, "string"], roomId: [2, "string"], eventType: [3, "conversationEvent"],
    chatMessages: [4, "chat.ChatMessage", true],
  },
};

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Returns whether there is a message of a type. @param {string} type */
export const isKnown = (type) => Object.hasOwn(MESSAGES, type);

/**
 * Encodes a message. Fields without a value are left out.
 * @param {string} type the full name of the message
 * @param {any} message the fields
 * @returns {Uint8Array}
 */
export function encode(type, message) {
  /** @type {number[]} */
  const bytes = [];
  const putNumber = (/** @type {number} */ value) => {
    while (value > 127) {
      bytes.push((value % 128) + 128);
      value = Math.floor(value / 128);
    }
    bytes.push(value);
  };
  const putBytes = (/** @type {number} */ number, /** @type {Uint8Array} */ value) => {
    putNumber(number * 8 + 2);
    putNumber(value.length);
    for (const byte of value) bytes.push(byte);
  };
  const put = (/** @type {number} */ number, /** @type {string} */ kind, /** @type {any} */ value) => {
    if (kind === "string") return putBytes(number, encoder.encode(value));
    if (kind === "bytes") return putBytes(number, value);
    if (kind in MESSAGES) return putBytes(number, encode(kind, value));
    const isNumber = kind === "uint" || kind === "bool";
    const index = isNumber ? Number(value) : ENUMERATIONS[/** @type {Enumeration} */ (kind)].indexOf(value);
    if (!Number.isSafeInteger(index) || index < 0) throw new RangeError(`“${value}” is not a value of ${kind}.`);
    putNumber(number * 8);
    putNumber(index);
  };
  for (const [name, [number, kind, repeats]] of Object.entries(MESSAGES[type])) {
    const value = message[name];
    if (value === undefined || value === null) continue;
    for (const each of repeats ? value : [value]) put(number, kind, each);
  }
  return Uint8Array.from(bytes);
}

/**
 * Decodes a message. Fields that are absent, or whose enumeration does not have the value, are null. Repeated fields
 * are arrays.
 * @param {string} type the full name of the message
 * @param {Uint8Array} bytes
 * @returns {any}
 * @throws {RangeError} if the message is malformed
 */
export function decode(type, bytes) {
  let position = 0;
  const takeNumber = () => {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = bytes[position++];
      // Ten bytes are the longest number of 64 bits.
      if (byte === undefined || factor > 2 ** 63) throw new RangeError(`The message ${type} is malformed.`);
      value += (byte % 128) * factor;
      factor *= 128;
      if (byte < 128) return value;
    }
  };
  const takeBytes = (/** @type {number} */ count) => {
    if (count > bytes.length - position) throw new RangeError(`The message ${type} is malformed.`);
    position += count;
    return bytes.subarray(position - count, position);
  };
  const fields = Object.entries(MESSAGES[type]);
  /** @type {Record<string, any>} */
  const message = Object.fromEntries(fields.map(([name, [, , repeats]]) => [name, repeats ? [] : null]));
  const set = (/** @type {string} */ name, /** @type {any} */ value, /** @type {true | undefined} */ repeats) => {
    if (!repeats) message[name] = value ?? null;
    else if (value !== undefined) message[name].push(value);
  };
  while (position < bytes.length) {
    const key = takeNumber();
    const field = fields.find(([, [number]]) => number === Math.floor(key / 8));
    const wireType = key % 8;
    if (wireType === 0) {
      const value = takeNumber();
      if (!field) continue;
      const [name, [, kind, repeats]] = field;
      if (kind === "uint") set(name, value, repeats);
      else if (kind === "bool") set(name, value !== 0, repeats);
      else if (kind in ENUMERATIONS) set(name, ENUMERATIONS[/** @type {Enumeration} */ (kind)][value], repeats);
    } else if (wireType === 2) {
      const value = takeBytes(takeNumber());
      if (!field) continue;
      const [name, [, kind, repeats]] = field;
      if (kind === "string") set(name, decoder.decode(value), repeats);
      else if (kind === "bytes") set(name, value, repeats);
      else if (kind in MESSAGES) set(name, decode(kind, value), repeats);
    } else if (wireType === 1) takeBytes(8);
    else if (wireType === 5) takeBytes(4);
    else throw new RangeError(`The message ${type} is malformed.`);
  }
  return message;
}

/** @type {Record<string, [PCastErrorCode, number]>} The codes, and the corresponding statuses of HTTP. */
const REFUSALS = {
  "unauthorized": ["unauthorized", 401], "not-found": ["not-found", 404], "no-stream-playing": ["not-playing", 409],
  "origin-stream-ended": ["not-playing", 409],
  "conflict": ["conflict", 409], "gone": ["gone", 410], "unsupported-features": ["unsupported", 422],
  "rate-limited": ["rate-limited", 429], "capacity": ["refused", 503], "timeout": ["refused", 503],
  "not-ready": ["refused", 503],
};

/**
 * Returns a response, unless the platform refused the request.
 * @param {any} response
 * @param {string} request the name of the request
 * @throws {PCastError}
 */
export function accepted(response, request) {
  if (response.status === "ok") return response;
  const [code, status] = REFUSALS[response.status] ?? ["refused", 0];
  const why = (response.createStreamResponse?.options ?? [])
    .find((/** @type {string} */ each) => each.startsWith("refused-because="))?.slice("refused-because=".length);
  throw new PCastError(code, why ?? `The platform refused ${request}: ${response.status}.`, { status });
}
