// The page of a channel: the video of its presenter, the members, the number of viewers, and the chat.

import { connect } from "/pcast.mjs";
import { badge, describeNoAddress, takeToken } from "/assets/pcast.js";

const element = (id) => document.getElementById(id);
const video = element("video");
const log = element("messages");
const alias = decodeURIComponent(location.pathname.split("/")[2] ?? "");
const token = takeToken();
const nameKey = "pcast-screen-name";
const defaultName = "Guest";
/** The number of messages of a page of the history, and the maximum number that is shown. */
const pageSize = 30;
const shownAtMost = 500;
/** The interval in which the number of viewers is requested, in milliseconds. */
const countInterval = 5000;

const client = connect({ token });
const channel = client.channel(alias);
const { room } = channel;
/** The error after which no stream can be viewed; null while there is none. */
let failure = null;
/** Whether the client is entering the channel. */
let isEntering = false;

document.title = `${alias} · PCast`;
element("name").textContent = alias;
element("screenname").value = storedName();

// MARK: Video

function showMessage(kind, headline, why, mayRetry = false) {
  element("message").dataset.kind = kind;
  // Unchanged text is not set again, because a screen reader would read it each time.
  for (const [id, text] of [["headline", headline], ["why", why]]) {
    if (element(id).textContent !== text) element(id).textContent = text;
  }
  element("retry").hidden = !mayRetry;
  element("message").hidden = false;
  element("unmute").hidden = true;
}

function hideMessage() {
  element("message").hidden = true;
  element("unmute").hidden = !video.muted;
}

/** Shows the state of the channel and of its stream. */
function showState() {
  const { viewer } = channel;
  if (isEntering) return;
  if (room.status === "ended") {
    badge("ended", "bad");
    return showMessage("ended", "The channel has ended", "Nobody presents in it any more.");
  }
  if (room.status === "left") return;
  const isOffline = room.status === "reconnecting";
  if (!viewer) {
    badge(isOffline ? "reconnecting" : "waiting", "fair");
    return failure ? showFailure(failure)
      : showMessage("waiting", "Nobody presents at the moment", "The video appears as soon as somebody does.");
  }
  switch (viewer.state) {
    case "live":
      badge(isOffline ? "live, chat reconnecting" : "live", isOffline ? "fair" : "good");
      failure = null;
      return hideMessage();
    case "interrupted": return badge("interrupted", "fair");
    case "waiting":
      badge("waiting", "fair");
      return showMessage("waiting", "The video of the presenter is not available", "Trying again by itself.");
    default: badge("connecting");
  }
}

function showFailure(error) {
  badge("no video", "bad");
  const { headline, why } = error.code === "no-address" ? describeNoAddress()
    : error.code === "unauthorized"
      ? { headline: "The token does not permit the video", why: "Ask whoever runs the channel for a new link." }
      : { headline: "This browser cannot play the video", why: error.message };
  showMessage(error.code === "unauthorized" ? "locked" : "bad", headline, why);
}

channel.addEventListener("failed", ({ detail: { error } }) => { failure = error; });
channel.addEventListener("viewer", ({ detail: { viewer } }) => {
  if (viewer) {
    for (const type of ["statechange", "autoplay"]) viewer.addEventListener(type, showState);
    viewer.addEventListener("waiting", ({ detail: { error } }) => {
      if (error.code === "no-address") showFailure(error);
    });
  }
  showState();
});
channel.addEventListener("presenter", () => {
  failure = null;
  showMembers();
  showState();
});

element("mute").addEventListener("click", () => { video.muted = !video.muted; });
element("volume").addEventListener("input", ({ target }) => {
  video.volume = target.valueAsNumber;
  video.muted = video.volume === 0;
});
element("unmute").addEventListener("click", () => {
  video.muted = false;
  channel.viewer?.play();
});
element("fullscreen").addEventListener("click", () => {
  const stage = video.parentElement;
  if (document.fullscreenElement) document.exitFullscreen();
  else if (stage.requestFullscreen) stage.requestFullscreen();
  else video.webkitEnterFullscreen?.(); // on iPhones only a video element can be full screen
});
video.addEventListener("volumechange", labelMute);
function labelMute() {
  element("mutelabel").textContent = video.muted ? "Unmute" : "Mute";
  element("mute").classList.toggle("muted", video.muted);
  if (!video.muted) element("unmute").hidden = true;
}
labelMute();

// MARK: Members

const roleNames = { participant: "takes part", moderator: "moderator", presenter: "ready to present" };

/** Returns what a presenter's first stream lacks. */
function mutedMedia({ streams: [stream] }) {
  const muted = ["audio", "video"].filter((kind) => stream?.[`${kind}State`] === "disabled");
  return muted.length ? `${muted.join(" and ")} muted` : "";
}

function showMembers() {
  const { presenter } = channel;
  element("members").replaceChildren(...room.members.map((member) => {
    const item = document.createElement("li");
    const isCurrent = member.sessionId === presenter?.sessionId;
    item.classList.toggle("current", isCurrent);
    const who = Object.assign(document.createElement("span"), { className: "who", textContent: member.screenName });
    const what = [isCurrent ? "presents" : roleNames[member.role] ?? "", mutedMedia(member)].filter(Boolean).join(" · ");
    item.append(who, Object.assign(document.createElement("span"), { className: "what", textContent: what }));
    return item;
  }));
  const muted = presenter ? mutedMedia(presenter) : "";
  const notice = muted ? `${presenter.screenName}: ${muted}` : "";
  if (element("notice").textContent !== notice) element("notice").textContent = notice;
  element("notice").hidden = !notice;
}

room.addEventListener("members", showMembers);
room.addEventListener("info", ({ detail: { info } }) => {
  element("name").textContent = info.name;
  element("description").textContent = info.description;
  element("description").hidden = !info.description;
});
room.addEventListener("statuschange", () => {
  enableChat();
  showState();
  if (room.status === "joined") countViewers();
});

async function countViewers() {
  if (room.status !== "joined" || document.hidden) return;
  const count = await room.audienceCount().catch(() => NaN);
  if (!Number.isNaN(count)) element("viewers").textContent = count === 1 ? "1 viewer" : `${count} viewers`;
}
setInterval(countViewers, countInterval);
document.addEventListener("visibilitychange", countViewers);

// MARK: Chat

/** Returns the list item of a message. */
function itemOf({ id, time, sessionId, screenName, role, text }) {
  const item = document.createElement("li");
  item.dataset.id = id;
  item.classList.toggle("own", sessionId !== null && sessionId === room.own?.sessionId);
  const part = (tag, className, textContent) =>
    item.append(Object.assign(document.createElement(tag), { className, textContent }));
  part("span", "author", screenName);
  if (role === "presenter" || role === "moderator") part("span", "role", role);
  const date = new Date(time);
  part("time", "", date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }));
  item.lastChild.dateTime = date.toISOString();
  part("span", "text", text);
  return item;
}

room.addEventListener("message", ({ detail }) => {
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  log.append(itemOf(detail));
  while (log.childElementCount > shownAtMost) log.firstElementChild.remove();
  if (isAtEnd) log.scrollTop = log.scrollHeight;
});

element("earlier").addEventListener("click", async () => {
  const first = log.firstElementChild;
  element("earlier").disabled = true;
  try {
    const earlier = await room.history({ before: first?.dataset.id, limit: pageSize });
    element("earlier").hidden = earlier.length < pageSize || log.childElementCount + earlier.length > shownAtMost;
    const height = log.scrollHeight;
    log.prepend(...earlier.map(itemOf));
    log.scrollTop += log.scrollHeight - height;
    log.focus();
  } catch (error) {
    element("chatfailure").textContent = error.message;
  }
  element("earlier").disabled = false;
});

function enableChat() {
  const isJoined = room.status === "joined";
  element("text").disabled = !isJoined;
  element("send").disabled = !isJoined;
}

function storedName() {
  try {
    return localStorage.getItem(nameKey) ?? "";
  } catch {
    return ""; // the browser may refuse storage
  }
}

const chosenName = () => element("screenname").value.trim() || defaultName;

element("screenname").addEventListener("change", async () => {
  try {
    localStorage.setItem(nameKey, element("screenname").value.trim());
  } catch { /* the name is used for this visit */ }
  if (room.own && room.own.screenName !== chosenName()) {
    await room.update({ screenName: chosenName() }).catch((error) => { element("chatfailure").textContent = error.message; });
  }
});

element("write").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = element("text").value.trim();
  if (!text) return;
  element("chatfailure").textContent = "";
  element("send").disabled = true;
  try {
    if (room.own && room.own.screenName !== chosenName()) await room.update({ screenName: chosenName() });
    await room.send(text);
    element("text").value = "";
    log.scrollTop = log.scrollHeight;
  } catch (error) {
    element("chatfailure").textContent = error.code === "rate-limited"
      ? "The message is too long, or there are too many: wait a moment." : error.message;
  }
  enableChat();
  element("text").focus();
});

// MARK: Entering

async function enter() {
  isEntering = true;
  badge("connecting");
  element("message").hidden = true;
  try {
    await channel.join({ screenName: chosenName(), token, video });
    isEntering = false;
    await room.follow({ history: pageSize });
    element("earlier").hidden = log.childElementCount < pageSize;
    log.scrollTop = log.scrollHeight;
    showState();
  } catch (error) {
    isEntering = false;
    showRefusal(error);
  }
}

function showRefusal(error) {
  badge(error.code === "unauthorized" ? "no access" : "failed", "bad");
  switch (error.code) {
    case "not-found":
      return showMessage("bad", "There is no such channel", "Check the address, or try again when the channel exists.", true);
    case "unauthorized":
      return showMessage("locked", token ? "The link is not valid any more" : "This channel needs a token",
        "Ask whoever runs the channel for a new link.");
    default: return showMessage("bad", "The channel cannot be entered", error.message, true);
  }
}

element("retry").addEventListener("click", enter);
client.addEventListener("failed", ({ detail: { error } }) => showRefusal(error));
enableChat();
if (alias) enter();
else showMessage("bad", "The address has no channel", "It has the form /channel/ALIAS.");
