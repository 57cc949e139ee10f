// The rooms and channels of the dashboard: their members with their streams, and the dialog that ends a room.

import { count, setText } from "/assets/streams.js";

const element = (id) => document.getElementById(id);
/** The maximum number of rooms that are shown. */
const shownAtMost = 50;
const typeNames = {
  DirectChat: "direct chat", MultiPartyChat: "room", ModeratedChat: "moderated room", TownHall: "town hall",
  Channel: "channel",
};
const isMuted = (member) =>
  member.streams.length > 0 && member.streams.every(({ audioState, videoState }) =>
    audioState !== "TrackEnabled" && videoState !== "TrackEnabled");

/** The rooms of the application. */
export class RoomList {
  #ask; #showRows; #part; #onFailure; #endStream; #room = null;
  /** The identifiers of the rooms whose members are shown. */
  #open = new Set();
  /** The members of these rooms. */
  #members = new Map();

  /**
   * @param {object} page the functions of the page: `ask` sends a request, `showRows` and `part` fill a list, `onFailure`
   * shows an error, and `endStream` opens the dialog that ends a stream.
   */
  constructor({ ask, showRows, part, onFailure, endStream }) {
    [this.#ask, this.#showRows, this.#part] = [ask, showRows, part];
    [this.#onFailure, this.#endStream] = [onFailure, endStream];
    element("endroom").addEventListener("click", () => this.#end());
  }

  /** Reads the rooms, and the members of those that are open, and shows them. */
  async read() {
    const { rooms } = await this.#ask("GET", "/pcast/rooms");
    const shown = rooms.slice(0, shownAtMost);
    const known = new Set(shown.map(({ roomId }) => roomId));
    for (const id of this.#open) if (!known.has(id)) this.#open.delete(id);
    await Promise.all([...this.#open].map(async (id) => {
      try {
        this.#members.set(id, (await this.#ask("GET", `${this.#path(id)}/members`)).members);
      } catch (error) {
        if (error.status !== 404) throw error; // the room has ended meanwhile
        this.#open.delete(id);
      }
    }));
    element("roomsection").hidden = !rooms.length;
    element("morerooms").hidden = rooms.length <= shownAtMost;
    setText(element("morerooms"), `${count(rooms.length - shown.length, "further room")}.`);
    this.#showRows(element("rooms"), shown, ({ roomId }) => roomId, (row, room) => this.#fill(row, room));
  }

  #path(id) { return `/pcast/room/${encodeURIComponent(id)}`; }

  #fill(row, { roomId, alias, name, type, members, audience }) {
    this.#part(row, "name", name === alias ? alias : `${name} (${alias})`, "name").title = roomId;
    const facts = [typeNames[type] ?? type, count(members, "member"), count(audience, "viewer")];
    this.#part(row, "facts", facts.join(" · "), "facts quiet small");
    const actions = row.querySelector(":scope > .actions") ?? this.#makeActions(row, roomId, alias, type);
    const isOpen = this.#open.has(roomId);
    const button = actions.querySelector(".members");
    button.disabled = members === 0 && !isOpen;
    button.ariaExpanded = `${isOpen}`;
    setText(button, isOpen ? "Hide members" : "Members");
    let list = row.querySelector(":scope > ol");
    if (!isOpen) return list?.remove();
    if (!list) {
      list = document.createElement("ol");
      list.setAttribute("aria-label", `Members of ${alias}`);
      row.append(list);
    }
    const key = ({ sessionId }) => sessionId;
    this.#showRows(list, this.#members.get(roomId) ?? [], key, (item, member) => this.#fillMember(item, member, roomId));
  }

  #makeActions(row, roomId, alias, type) {
    const actions = document.createElement("span");
    actions.className = "actions";
    if (type === "Channel") {
      const link = document.createElement("a");
      link.className = "button small";
      link.href = `/channel/${encodeURIComponent(alias)}`;
      [link.target, link.rel, link.textContent] = ["_blank", "noopener", "Watch"];
      link.setAttribute("aria-label", `Watch the channel ${alias}`);
      actions.append(link);
    }
    this.#addButton(actions, "members", "Members", `Members of ${alias}`, () => {
      if (!this.#open.delete(roomId)) this.#open.add(roomId);
      return this.read();
    });
    this.#addButton(actions, "endroom danger", "End…", `End the room ${alias}`, async () => this.#confirm(roomId, alias));
    row.append(actions);
    return actions;
  }

  #fillMember(item, member, roomId) {
    const { sessionId, screenName, role, streams } = member;
    this.#part(item, "name", screenName, "name").title = sessionId;
    const states = streams.map(({ streamId, audioState, videoState }) => {
      const muted = [["audio", audioState], ["video", videoState]]
        .filter(([, state]) => state === "TrackDisabled").map(([kind]) => kind);
      return `${streamId ?? "stream"}${muted.length ? ` (${muted.join(" and ")} muted)` : ""}`;
    });
    this.#part(item, "facts", [role.toLowerCase(), ...states].join(" · "), "facts quiet small");
    const actions = item.querySelector(":scope > .actions") ?? this.#makeMemberActions(item);
    // The actions concern the state that the list shows.
    item.member = { ...member, roomId };
    setText(actions.querySelector(".mute"), isMuted(member) ? "Unmute" : "Mute");
    actions.hidden = !streams.length;
  }

  #makeMemberActions(item) {
    const actions = document.createElement("span");
    actions.className = "actions";
    this.#addButton(actions, "mute", "Mute", null, async () => {
      const { roomId, sessionId } = item.member;
      const state = isMuted(item.member) ? "TrackEnabled" : "TrackDisabled";
      await this.#ask("PUT", `${this.#path(roomId)}/member/${encodeURIComponent(sessionId)}`, {
        member: { audioState: state, videoState: state },
      });
      await this.read();
    });
    this.#addButton(actions, "end danger", "End the stream…", null, async () => {
      const [{ streamId }] = item.member.streams;
      this.#endStream({ streamId, tags: [item.member.screenName], viewers: 0 });
    });
    item.append(actions);
    return actions;
  }

  #addButton(actions, kind, text, label, action) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = `${kind} small`;
    button.textContent = text;
    if (label) button.setAttribute("aria-label", label);
    button.addEventListener("click", () => action().catch(this.#onFailure));
    actions.append(button);
  }

  #confirm(roomId, alias) {
    this.#room = roomId;
    setText(element("roomtitle"), `End the room ${alias}?`);
    setText(element("roomid"), roomId);
    setText(element("roomfailure"), "");
    element("roomdialog").showModal();
  }

  async #end() {
    const button = element("endroom");
    button.disabled = true;
    try {
      await this.#ask("DELETE", this.#path(this.#room));
      element("roomdialog").close();
      await this.read();
    } catch (error) {
      setText(element("roomfailure"), error.status === 404
        ? "The room has already ended." : error.message || "The platform does not respond.");
    }
    button.disabled = false;
  }
}
