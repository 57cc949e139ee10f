// The view of the example overlay. It displays the given values; overlay.js handles user input.
import { languages, words } from "./words.js";

const $ = (id) => document.getElementById(id);
const two = (number) => String(number).padStart(2, "0");

/** Whether a time counts from the beginning of media without wall-clock time: it is less than 10^10 ms. */
const isCounted = (timecode) => timecode < 10_000_000_000;

/** Returns the time of day in the viewer's time zone, or the time since the beginning of the media. */
export function timeText(timecode) {
  if (isCounted(timecode)) {
    const seconds = Math.max(Math.floor(timecode / 1000), 0);
    return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  }
  const date = new Date(timecode);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export class View {
  #language = "en";
  #message = 0;

  constructor() {
    for (const language of languages) $("language").append(new Option(words[language].name, language));
    this.speak("en", { state: "stopped", link: "connecting" });
    this.game({});
  }

  get words() {
    return words[this.#language];
  }

  speak(language, model) {
    this.#language = language;
    document.documentElement.lang = language;
    $("language").value = language;
    const labels = { back: "back", ahead: "ahead", volume: "volume", speed: "speed", seek: "seek", squeeze: "squeeze", language: "language" };
    for (const [id, key] of Object.entries(labels)) $(id).ariaLabel = $(id).title = this.words[key];
    $("live").lastElementChild.textContent = this.words.live;
    $("events-title").textContent = this.words.events;
    $("no-events").textContent = this.words.none;
    this.state(model);
  }

  state({ state, link, isWatching, muted }) {
    document.body.dataset.state = state;
    document.body.dataset.link = link;
    document.body.dataset.watching = Boolean(isWatching);
    const text = link === "open" ? this.words[state] : link === "closed" ? this.words.over : this.words.lost;
    $("state").textContent = isWatching && link === "open" ? `${text} · ${this.words.watching}` : text;
    $("play").ariaLabel = $("play").title = this.words[state === "playing" ? "pause" : "play"];
    $("mute").ariaLabel = $("mute").title = this.words[muted ? "unmute" : "mute"];
    // An overlay that has ended controls nothing.
    $("controls").inert = $("events").inert = link === "closed";
  }

  status(status) {
    document.body.dataset.status = status;
  }

  controls(controls) {
    document.body.dataset.controls = controls;
  }

  time({ state, timecode, first, last, isHeld, canSeek }) {
    $("clock").textContent = timecode === null ? "–:–:–" : timeText(timecode);
    $("clock").dataset.timecode = timecode ?? "";
    const hasWindow = first !== null && last > first;
    $("seek").disabled = !hasWindow || !canSeek;
    // Media with a time of day and without a window is live, and has no other position or speed.
    const isLiveOnly = !hasWindow && timecode !== null && !isCounted(timecode);
    document.body.dataset.window = isLiveOnly ? "none" : "some";
    $("live").classList.toggle("now", isLiveOnly ? state === "playing" : hasWindow && last - timecode < 6000);
    if (!hasWindow) return;
    const share = Math.min(Math.max((timecode - first) / (last - first), 0), 1);
    if (!isHeld) {
      $("seek").value = Math.round(share * 1000);
      $("bar").style.setProperty("--played", share);
    }
    $("seek").ariaValueText = timeText(timecode);
  }

  /** Displays the position of the seek bar while the user drags it. */
  drag(share, timecode) {
    $("bar").style.setProperty("--played", share);
    $("clock").textContent = timeText(timecode);
  }

  sound({ volume, muted }) {
    $("volume").value = volume;
    document.body.dataset.muted = muted;
  }

  speed(speed) {
    const select = $("speed");
    if (![...select.options].some((option) => Number(option.value) === speed)) select.append(new Option(`${speed}×`, speed));
    select.value = String(speed);
  }

  scale({ scaleX }) {
    $("squeeze").ariaPressed = String(scaleX < 1);
  }

  game({ home = {}, away = {}, period }) {
    for (const [side, team] of [["home", home], ["away", away]]) {
      const name = team.short ?? team.name ?? this.words[side];
      $(`${side}-name`).textContent = name;
      $(`${side}-score`).textContent = team.score ?? $(`${side}-score`).textContent;
      if (/^#[0-9a-f]{3,8}$/i.test(team.color ?? "")) document.documentElement.style.setProperty(`--${side}`, team.color);
    }
    $("period").hidden = !period;
    $("period").textContent = period ?? "";
  }

  /** Displays the events, newest first. A click on an event seeks to it. */
  events(events, { timecode, first, last, canSeek }) {
    const list = [...events].sort((left, right) => right.at - left.at);
    $("no-events").hidden = list.length > 0;
    const now = list.find((event) => event.at <= timecode)?.id;
    $("event-list").replaceChildren(...list.map((event) => this.#item(event, event.id === now, canSeek)));
    const inside = list.filter((event) => first !== null && event.at >= first && event.at <= last);
    $("marks").replaceChildren(...inside.map((event) => {
      const mark = document.createElement("i");
      mark.style.left = `${((event.at - first) / (last - first)) * 100}%`;
      mark.dataset.id = event.id;
      if (event.team) mark.dataset.team = event.team;
      return mark;
    }));
  }

  #item(event, isNow, canSeek) {
    const [item, button, mark, title, detail] = ["li", "button", "span", "b", "small"].map((name) => document.createElement(name));
    mark.className = "mark";
    // A type without a translation is displayed unchanged.
    const known = Object.hasOwn(this.words.kinds, event.kind) ? this.words.kinds[event.kind] : String(event.kind ?? "").replaceAll("_", " ");
    title.textContent = event.title || known;
    const kind = event.title ? known : "";
    detail.textContent = [timeText(event.at), kind, event.detail].filter(Boolean).join(" · ");
    button.dataset.id = event.id;
    button.dataset.at = event.at;
    button.disabled = !canSeek;
    if (event.team) button.dataset.team = event.team;
    button.classList.toggle("now", isNow);
    button.append(mark, title, detail);
    item.append(button);
    return item;
  }

  /** Displays a message for a number of seconds. */
  say(text, seconds = 6) {
    clearTimeout(this.#message);
    $("message").textContent = text;
    $("message").hidden = !text;
    this.#message = setTimeout(() => { $("message").hidden = true; }, seconds * 1000);
  }
}
