// The example overlay: a scoreboard, a list of events, a seek bar, the player's controls, and a choice of languages. It
// follows and controls the player over the bridge. It displays only values that the player reported.
//
// In addition to the bridge's own events, it handles these events of the application:
//   timeline.game {home: {name, short, color, score}, away: {…}, period}
//   timeline.added and timeline.modified {id, at, kind, title, detail, team, home, away, period}, timeline.deleted {id}
//   timeline.snapshot {part, parts, game, events}: the whole state, which replaces the old one, in one or more messages
//   cue.passed {type, timecode, properties}: the player passed a cue point
import { connect } from "/bridge.js";
import { languages } from "./words.js";
import { View } from "./view.js";

const $ = (id) => document.getElementById(id);
const SWIPE = 50;
const STEP = 10_000;

const view = new View();
const model = {
  state: "stopped", link: "connecting", isWatching: false, muted: false, volume: 100, timecode: null, first: null, last: null,
  isHeld: false, controls: "visible", language: "en", scale: 1, game: {}, events: new Map(),
};
if (new URLSearchParams(location.search).has("transparent")) document.body.dataset.ground = "transparent";

const bridge = connect();
const place = () => ({ ...model, canSeek: !model.isWatching });
const showEvents = () => view.events(model.events.values(), place());

// Reports

bridge.on("state", ({ state }) => {
  model.link = state;
  view.state(model);
});
bridge.on("app.status", ({ status }) => view.status(status));
bridge.on("bridge.welcome", ({ controller }) => {
  model.isWatching = !controller;
  view.state(model);
  view.time(place());
});
bridge.on("app.language", ({ language }) => speak(language));
bridge.on("app.message", ({ message }) => view.say(message?.text ?? JSON.stringify(message)));
bridge.on("player.state", ({ state }) => {
  model.state = state;
  view.state(model);
  view.time(place());
});
bridge.on("player.time", ({ timecode, initialTimecode, maxTimecode }) => {
  Object.assign(model, { timecode, first: initialTimecode ?? null, last: maxTimecode ?? null });
  view.time(place());
  if (model.events.size) showEvents();
});
bridge.on("player.volume", ({ volume }) => {
  model.volume = volume;
  view.sound(model);
});
bridge.on("player.mute", ({ mute }) => {
  model.muted = mute;
  view.sound(model);
  view.state(model);
});
bridge.on("player.speed", ({ speed }) => view.speed(speed));
bridge.on("player.videoscale", (scale) => {
  model.scale = scale.scaleX;
  view.scale(scale);
});
bridge.on("player.controls", ({ controls }) => showControls(controls));
bridge.on("player.metadata", ({ metadata }) => {
  try {
    const game = JSON.parse(JSON.parse(metadata).value);
    if (game.home || game.away) showGame(game);
  } catch {
    // Other metadata is ignored.
  }
});
bridge.on("easelive.error", ({ message }) => view.say(message));

// Events of the game

function showGame(game) {
  for (const side of ["home", "away"]) if (game[side]) game[side] = { ...model.game[side], ...game[side] };
  Object.assign(model.game, game);
  showBoard();
}

// The score is that of the newest event with a score, so a withdrawn event does not count after a seek back. If there
// is no such event, it is that of the game. It is a number, or a text of the sport such as 187/4.
const isScore = (score) => Number.isFinite(score) || typeof score === "string" && score !== "";
function showBoard() {
  const events = [...model.events.values()].sort((left, right) => left.at - right.at || (left.seq ?? 0) - (right.seq ?? 0));
  const newest = events.findLast(({ home, away }) => isScore(home) || isScore(away));
  const { home, away, period } = model.game;
  view.game({
    home: { ...home, score: newest?.home ?? home?.score ?? 0 }, away: { ...away, score: newest?.away ?? away?.score ?? 0 },
    period: events.findLast((event) => event.period)?.period ?? period,
  });
}

function keepEvent({ id, at, ...rest }) {
  const moment = typeof at === "string" ? Date.parse(at) : at;
  if (id !== undefined && Number.isFinite(moment)) model.events.set(String(id), { ...rest, id: String(id), at: moment });
}

function showAll() {
  showBoard();
  showEvents();
}

function showEvent(event) {
  keepEvent(event);
  showAll();
}

bridge.on("timeline.game", showGame);
bridge.on("timeline.added", showEvent);
bridge.on("timeline.modified", showEvent);
bridge.on("timeline.deleted", ({ id }) => {
  model.events.delete(String(id));
  showAll();
});
bridge.on("timeline.snapshot", ({ part, parts, game, events }) => {
  if (part === 0) {
    model.events.clear();
    if (game) showGame(game);
  }
  events.forEach(keepEvent);
  if (part === parts - 1) showAll();
});
bridge.on("cue.passed", ({ type, timecode, position, properties }) => {
  showEvent({ kind: type || "chapter", id: `cue ${type} ${position}`, at: timecode, ...properties });
});

// User input

function speak(language) {
  const known = languages.includes(language) ? language : "en";
  if (known !== model.language) {
    model.language = known;
    view.speak(known, model);
    showBoard();
    showEvents();
  }
  if (!model.isWatching) bridge.emit("app.language", { language: known, available: languages });
}

function showControls(controls) {
  model.controls = controls;
  view.controls(controls);
}

const seek = (timecode) => bridge.emit("player.time", { timecode: Math.round(timecode) });
const share = () => Number($("seek").value) / 1000;
const moment = () => model.first + share() * (model.last - model.first);

$("play").onclick = () => bridge.emit("player.state", { state: ["playing", "buffering"].includes(model.state) ? "paused" : "playing" });
$("back").onclick = () => model.timecode === null || seek(model.timecode - STEP);
$("ahead").onclick = () => model.timecode === null || seek(model.timecode + STEP);
$("live").onclick = () => model.last === null || seek(model.last);
$("mute").onclick = () => bridge.emit("player.mute", { mute: !model.muted });
$("volume").oninput = () => bridge.emit("player.volume", { volume: Number($("volume").value) });
$("speed").onchange = () => bridge.emit("player.speed", { speed: Number($("speed").value) });
$("language").onchange = () => speak($("language").value);
$("squeeze").onclick = () => {
  const scale = model.scale < 1 ? 1 : 0.7;
  bridge.emit("player.videoscale", { scaleX: scale, scaleY: scale, pivotX: 0, pivotY: 0, scaleDuration: 300 });
};
$("seek").oninput = () => {
  model.isHeld = true;
  view.drag(share(), moment());
};
$("seek").onchange = () => {
  model.isHeld = false;
  seek(moment());
};
$("event-list").onclick = (event) => {
  const at = event.target.closest("button")?.dataset.at;
  if (at) seek(Number(at));
};

let pressed = null;
$("stage").onpointerdown = ({ clientX, clientY }) => { pressed = { clientX, clientY }; };
$("stage").onpointerup = ({ clientX, clientY }) => {
  if (!pressed) return;
  const [x, y] = [clientX - pressed.clientX, clientY - pressed.clientY];
  pressed = null;
  if (Math.hypot(x, y) >= SWIPE) {
    const direction = Math.abs(x) > Math.abs(y) ? (x < 0 ? "left" : "right") : y < 0 ? "up" : "down";
    return bridge.emit("stage.swipe", { direction });
  }
  const controls = model.controls === "visible" ? "hidden" : "visible";
  showControls(controls);
  bridge.emit("stage.clicked", { controls });
};

bridge.loaded();
