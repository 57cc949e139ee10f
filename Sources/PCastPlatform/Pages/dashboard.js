// The dashboard, which requests the state of the platform each second and shows it.

import { bitrate } from "/assets/pcast.js";
import { StreamCard, clock, count, nameOf, permissions, setText, shorten } from "/assets/streams.js";
import { EndDialog, LinkDialog, ViewersDialog } from "/assets/dialogs.js";
import { KeyList } from "/assets/keys.js";
import { NodeList } from "/assets/nodes.js";
import { RecordingList } from "/assets/recordings.js";
import { LoggedOut, Refused, arrange, ask, now, part, readRole, showRows, signOut } from "/assets/requests.js";
import { RoomList } from "/assets/rooms.js";

const element = (id) => document.getElementById(id);
const shownAtMost = 60;

// MARK: Polling

/** Polls each second while the page is visible, less often while it is hidden or the platform does not respond. */
class Rounds {
  #timer = null; #failures = 0; #round = 0; #over = false;
  #nextTry = 0; #ticker = null;

  constructor(body) { this.#body = body; }

  #body;

  async run() {
    clearTimeout(this.#timer);
    if (this.#over) return;
    try {
      await this.#body(this.#round++);
      if (this.#over) return;
      if (this.#failures) clearInterval(this.#ticker);
      this.#failures = 0;
      show("live", "good", "");
      this.#later(document.hidden ? 10_000 : 1000);
    } catch (error) {
      if (this.#over) return;
      if (error instanceof LoggedOut) return this.showExpiredLogin();
      this.#failures += 1;
      // The delay has a random part, so that clients that lost the platform together do not retry together.
      const wait = Math.min(1000 * 2 ** (this.#failures - 1), 15_000) * (0.85 + 0.3 * Math.random());
      this.#nextTry = Date.now() + wait;
      this.#tellFailure(error);
      clearInterval(this.#ticker);
      this.#ticker = setInterval(() => this.#tellFailure(error), 1000);
      this.#later(wait);
    }
  }

  #tellFailure(error) {
    const wait = Math.max(Math.ceil((this.#nextTry - Date.now()) / 1000), 1);
    const why = error instanceof Refused
      ? error.message : "The platform does not respond. The page shows the last known state.";
    show("not connected", "bad", `${why} Trying again in ${wait} s.`);
  }

  #later(wait) {
    if (this.#over) return;
    this.#timer = setTimeout(() => this.run(), wait);
  }

  stop() {
    this.#over = true;
    clearTimeout(this.#timer);
    clearInterval(this.#ticker);
    for (const card of cards.values()) card.close();
  }

  showExpiredLogin() {
    this.stop();
    show("signed out", "bad", "Your login has expired.");
    element("again").hidden = false;
  }
}

function show(text, level, problem) {
  const badge = element("state");
  setText(badge, text);
  badge.className = `badge ${level}`;
  setText(element("problemtext"), problem);
  element("problem").hidden = !problem;
  document.body.classList.toggle("stale", level !== "good");
}

// MARK: Streams

const cards = new Map();
const sight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    target.dataset.inSight = isIntersecting ? "1" : "";
    const card = cards.get(target.dataset.stream);
    if (card) card.inSight = isIntersecting && !document.hidden;
  }
}, { rootMargin: "80px" });

document.addEventListener("visibilitychange", () => {
  for (const card of cards.values()) card.inSight = card.element.dataset.inSight === "1" && !document.hidden;
  if (!document.hidden) rounds.run();
});

const actions = {
  async watch(stream) {
    try {
      window.open(await linkTo(stream, 3600), "_blank", "noopener");
    } catch (error) {
      tellFailure(error);
    }
  },
  link: (stream) => links.open(stream),
  end: (stream) => ends.open(stream),
  viewers: (stream) => viewers.open(stream),
};

// The token is in the fragment, which browsers do not send, and which the page removes from the address.
async function linkTo(stream, seconds) {
  const { streamToken } = await ask("POST", "/pcast/stream", { originStreamId: stream.streamId, expiresIn: seconds });
  return `${location.origin}/watch/${encodeURIComponent(stream.streamId)}#token=${encodeURIComponent(streamToken)}`;
}

const links = new LinkDialog(linkTo);
const ends = new EndDialog(async (stream, reason) => {
  await ask("DELETE", "/pcast/stream", { streamId: stream.streamId, reason });
  rounds.run();
});

const viewers = new ViewersDialog(
  (stream) => ask("GET", `/pcast/stream/${encodeURIComponent(stream.streamId)}/viewers`), { showRows, part });
const keys = new KeyList({ ask, showRows, part, onFailure: tellFailure });
const nodes = new NodeList({ ask, showRows, part, onFailure: tellFailure });
const recordings = new RecordingList({ ask, showRows, part, onFailure: tellFailure });
const roomList = new RoomList({ ask, showRows, part, onFailure: tellFailure, endStream: actions.end });

function tellFailure(error) {
  if (error instanceof LoggedOut) rounds.showExpiredLogin();
  else show("live", "good", error instanceof Refused ? error.message : "The platform does not respond.");
}

const matches = (stream, words) =>
  words.every((word) => [stream.streamId, ...stream.tags].some((text) => text.toLowerCase().includes(word)));

let lastList = null;

function showStreams(list) {
  lastList = list;
  const words = element("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const streams = list.streams.filter((stream) => matches(stream, words));
  const present = new Set(streams.map((stream) => stream.streamId));
  for (const [id, card] of cards) {
    if (present.has(id)) continue;
    card.close(!list.streams.some((stream) => stream.streamId === id));
    sight.unobserve(card.element);
    // If the focus was in the removed card, it moves to the list.
    if (card.element.contains(document.activeElement)) element("live").focus({ preventScroll: true });
    cards.delete(id);
  }
  arrange(element("cards"), streams.map((stream) => {
    const known = cards.get(stream.streamId);
    const card = known ?? new StreamCard(ask, actions);
    cards.set(stream.streamId, card);
    card.update(stream, now());
    if (!known) sight.observe(card.element);
    return card.element;
  }));
  showTotals(list, streams.length, words.length > 0);
}

function showTotals(list, shown, isFiltered) {
  setText(element("streams"), list.total.streams.toLocaleString("en"));
  setText(element("viewers"), list.total.viewers.toLocaleString("en"));
  setText(element("bitrate"), bitrate(list.total.bitrate));
  element("none").hidden = shown > 0;
  const isEmpty = list.total.streams === 0;
  setText(element("nonetitle"), isEmpty ? "There are no live streams" : "No stream matches");
  setText(element("nonewhy"), isEmpty
    ? "A stream appears here when it is published." : "Change or clear the filter.");
  element("nonehow").hidden = !isEmpty;
  const left = list.total.streams - list.streams.length;
  element("more").hidden = left <= 0;
  setText(element("more"), left > 0
    ? `The newest ${list.streams.length} are shown${isFiltered ? " and filtered" : ""}; ${count(left, "older stream")} more.` : "");
}

element("filter").addEventListener("input", () => { if (lastList) showStreams(lastList); });

// MARK: Ended streams and notifications

const reasonLevels = { ended: "", censored: "bad", failed: "bad", overload: "bad", maintenance: "fair", capacity: "fair" };

const ago = (time) => {
  const seconds = Math.max(Math.round((now() - time) / 1000), 0);
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(time).toLocaleDateString();
};

function showEnded({ streams }) {
  element("noneended").hidden = streams.length > 0;
  showRows(element("ended"), streams, (stream) => stream.streamId, (row, stream) => {
    const reason = stream.reason ?? "ended";
    part(row, "name", nameOf(stream), "name").title = stream.streamId;
    part(row, "reason", reason, `tone ${reasonLevels[reason] ?? "own"}`);
    const facts = [
      stream.duration === undefined ? "never started" : `lasted ${clock(stream.duration)}`,
      stream.views ? `${count(stream.views, "view")}, ${stream.mostViewers} simultaneously` : "no viewers",
    ];
    part(row, "facts", facts.join(" · "), "facts quiet small");
    part(row, "time", ago(stream.endTime), "time quiet small").title = new Date(stream.endTime).toLocaleString();
  });
}

let wantedState = "";
let callbacks = null;

function describe(delivery, age) {
  const attempts = count(delivery.attempts, "attempt");
  switch (delivery.state) {
    case "delivered": return [`${delivery.callback}: delivered`, "good"];
    case "failed": return [`${delivery.callback}: failed after ${attempts}: ${answerWords(delivery.answer)}`, "bad"];
    default: {
      // Notifications of the same stream and callback are sent one after the other.
      if (!delivery.attempts) {
        return [`${delivery.callback}: ${age < 5000 ? "being delivered" : "waits for the previous one"}`, ""];
      }
      const wait = Math.ceil(((delivery.nextAttempt ?? 0) - now()) / 1000);
      const next = wait > 0 ? `again in ${wait < 90 ? `${wait} s` : clock(wait * 1000)}` : "trying now";
      return [`${delivery.callback}: ${answerWords(delivery.answer)}, ${next} (${attempts})`, "fair"];
    }
  }
}

const answerWords = (answer) => (/^\d+$/.test(answer ?? "") ? `answered ${answer}` : answer ?? "no answer");

function showNotifications({ notifications }) {
  const empty = element("nonotifications");
  empty.hidden = notifications.length > 0;
  const words = {
    pending: "No notification is waiting.", failed: "No notification has failed.",
    "": callbacks?.length === 0
      ? "No webhook is configured. Create one with PUT /pcast/application/ID/callback."
      : "There are no notifications yet.",
  };
  setText(empty, words[wantedState]);
  showRows(element("notifications"), notifications, (each) => each.id, (row, each) => {
    part(row, "name", each.what, "name");
    part(row, "stream", shorten(each.streamId), "mono quiet small").title = each.streamId;
    const time = Date.parse(each.timestamp);
    part(row, "time", ago(time), "time quiet small").title = `${new Date(time).toLocaleString()}\n${each.id}`;
    each.deliveries.forEach((delivery, index) => {
      const [text, tone] = describe(delivery, now() - time);
      part(row, `delivery${index}`, text, `delivery small ${tone}`);
    });
    if (!each.deliveries.length) part(row, "delivery0", "no webhook was configured", "delivery small");
    const hasFailed = each.deliveries.some((delivery) => delivery.state === "failed");
    const button = row.querySelector(":scope > button");
    if (hasFailed && !button) row.append(resendButton(each));
    if (!hasFailed) button?.remove();
  });
}

function resendButton({ id, what, streamId }) {
  const button = document.createElement("button");
  button.className = "small resend operate";
  button.textContent = "Resend";
  button.setAttribute("aria-label", `Resend: ${what} of ${streamId}`);
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await ask("POST", `${application.path}/notifications/${encodeURIComponent(id)}/redelivery`);
      await readNotifications();
    } catch (error) {
      tellFailure(error);
    }
    button.disabled = false;
  });
  return button;
}

element("resendall").addEventListener("click", async () => {
  try {
    await ask("POST", `${application.path}/notifications/redelivery`);
    await readNotifications();
  } catch (error) {
    tellFailure(error);
  }
});

for (const button of document.querySelectorAll(".segments button")) {
  button.addEventListener("click", () => {
    wantedState = button.dataset.state;
    for (const each of document.querySelectorAll(".segments button")) each.ariaPressed = `${each === button}`;
    readNotifications().catch(tellFailure);
  });
}

async function readNotifications() {
  const read = (state, length) =>
    ask("GET", `${application.path}/notifications?length=${length}${state ? `&state=${state}` : ""}`);
  const state = wantedState;
  const [shown, waiting, failed] = await Promise.all([read(state, 50), read("pending", 100), read("failed", 100)]);
  if (state === wantedState) showNotifications(shown);
  const number = (list) => (list.notifications.length === 100 ? "100 and more" : `${list.notifications.length}`);
  const parts = [];
  if (waiting.notifications.length) parts.push(`${number(waiting)} waiting`);
  if (failed.notifications.length) parts.push(`${number(failed)} failed`);
  const fate = element("fate");
  setText(fate, parts.join(", ") || (callbacks?.length === 0 ? "Not configured" : shown.notifications.length ? "all delivered" : "none yet"));
  fate.className = failed.notifications.length ? "bad" : waiting.notifications.length ? "fair" : "";
  element("resendall").hidden = !failed.notifications.length;
}

// MARK: Named streams

const nameStates = {
  off: ["off", ""], idle: ["idle", ""], waiting: ["waits for media", "bad"], live: ["live", "own"],
  fallback: ["fallback", "bad"], missing: ["no media", "bad"],
};
const switchReasons = {
  began: "media began", left: "the publisher left", silent: "the publisher was silent", replaced: "another publisher came",
  returned: "the publisher returned", fallback: "the publisher left", operated: "switched here",
};

/** Reads the declared streams and shows them. */
async function readNames() {
  const { names } = await ask("GET", "/pcast/names");
  element("named").hidden = !names.length;
  showRows(element("names"), names.slice(0, shownAtMost), ({ name }) => name, showName);
}

function showName(row, { name, state, source, viewers, publishers, lastSwitch, failure }) {
  const [word, tone] = nameStates[state] ?? [state, ""];
  part(row, "name", name, "name");
  const facts = [source ?? "published", `${viewers} viewers`, `${publishers.length} publishers`];
  if (lastSwitch) facts.push(`${switchReasons[lastSwitch.reason] ?? lastSwitch.reason}, ${ago(lastSwitch.time)}`);
  if (failure) facts.push(failure);
  part(row, "facts", facts.join(" · "), "facts quiet small");
  part(row, "state", word, `tone ${tone}`);
  const actions = row.querySelector(":scope > .actions") ?? makeNameActions(row, name);
  actions.querySelector(".on").hidden = state !== "off";
  actions.querySelector(".off").hidden = state === "off";
  const standsBy = publishers.some(({ role, isSelected }) => role !== "fallback" && !isSelected);
  actions.querySelector(".switch").disabled = state !== "live" || !standsBy;
}

function makeNameActions(row, name) {
  const actions = document.createElement("span");
  actions.className = "actions";
  for (const [operation, text] of [["switch", "Switch"], ["off", "Switch off"], ["on", "Switch on"]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = `${operation} small operate`;
    button.textContent = text;
    button.setAttribute("aria-label", `${text}: ${name}`);
    button.addEventListener("click", () => {
      ask("POST", `/pcast/name/${encodeURIComponent(name)}/${operation}`).then(readNames).catch(tellFailure);
    });
    actions.append(button);
  }
  row.append(actions);
  return actions;
}

// MARK: Start

const application = { id: null, path: null, hasNodes: false };

async function round(number) {
  if (!application.id) {
    const login = await ask("GET", "/dashboard/login");
    application.id = login.applicationId;
    application.hasNodes = login.nodes === true;
    application.path = `/pcast/application/${encodeURIComponent(login.applicationId)}`;
    setText(element("application"), login.applicationId);
    setText(element("uri"), location.origin);
    // Previews need tokens, and the addresses of webhooks may contain secrets.
    const { role } = await readRole();
    permissions.previews = role === "administer";
  }
  if (number % 15 === 0 && document.body.dataset.role === "administer") callbacks = (await ask("GET", `${application.path}/callback`)).callbacks;
  const before = lastList?.streams.map((stream) => stream.streamId).join();
  showStreams(await ask("GET", `/pcast/streams?order=newest&length=${shownAtMost}`));
  const isChanged = before !== lastList.streams.map((stream) => stream.streamId).join();
  if (isChanged || number % 5 === 0) {
    showEnded(await ask("GET", "/pcast/streams?state=ended&order=newest&length=20"));
  }
  if (isChanged || number % 5 === 0) await recordings.read();
  if (isChanged || number % 3 === 0) await readNames();
  if (isChanged || number % 3 === 0) await roomList.read();
  // The list is missing without a cluster, and for an application that does not administer the platform.
  if (application.hasNodes && number % 3 === 0) await nodes.read();
  if (number % 15 === 0) await keys.read();
  if (isChanged || number % 3 === 0) await readNotifications();
}

const rounds = new Rounds(round);

element("logout").addEventListener("click", async () => {
  rounds.stop();
  signOut.abort();
  await ask("DELETE", "/dashboard/login", undefined, new AbortController().signal).catch(() => {});
  location.replace("/");
});

addEventListener("pagehide", () => { for (const card of cards.values()) card.close(); });
addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
rounds.run();
