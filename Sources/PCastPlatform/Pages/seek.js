// The seek bar of the watch page: the window of the stream in seconds before its end.

const shortest = 5; // seconds of a window that is worth a seek bar
const step = { small: 5, large: 30 }; // seconds that a key moves
const keyDelay = 300; // milliseconds without a key after which the position of the keys is sought

const element = (id) => document.getElementById(id);

/** Returns a distance before the end as text. */
function distance(seconds) {
  const [hours, minutes, rest] = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(Math.floor);
  const two = (number) => String(number).padStart(2, "0");
  return hours ? `−${hours}:${two(minutes)}:${two(rest)}` : `−${minutes}:${two(rest)}`;
}

export class SeekBar {
  #viewer; #bar = element("seekbar"); #isHeld = false; #timer = undefined;
  #target = null; // the time that is sought, until it is shown

  /** Controls the time shift of `viewer`. */
  constructor(viewer) {
    this.#viewer = viewer;
    const bar = this.#bar;
    // While the thumb is held, only the text follows it.
    bar.addEventListener("input", () => { this.#isHeld = true; this.#label(); });
    bar.addEventListener("change", () => this.#commit());
    bar.addEventListener("keydown", (event) => this.#press(event));
    element("golive").addEventListener("click", () => this.#goLive());
    element("pause").addEventListener("click", () => this.#togglePause());
    viewer.addEventListener("timeshift", ({ detail: { state } }) => {
      if (state !== "seeking") this.#target = null;
      this.#update();
    });
    for (const type of ["play", "pause"]) viewer.video.addEventListener(type, () => this.#update());
    setInterval(() => this.#update(), 250);
    this.#update();
  }

  /** The position in seconds after the end, which is negative. */
  get #position() {
    const { seekableRange: range, timeShift, frame } = this.#viewer;
    const time = this.#target ?? (timeShift === "live" ? null : frame?.timecode ?? null);
    if (!range || time === null) return 0;
    return Math.min(0, Math.max(Number(this.#bar.min), (time - range.end) / 1000));
  }

  #update() {
    const range = this.#viewer.seekableRange;
    const length = range ? Math.floor((range.end - range.start) / 1000) : 0;
    element("seek").hidden = length < shortest;
    if (length < shortest) return;
    this.#bar.min = String(-length);
    element("seekstart").textContent = distance(length);
    if (!this.#isHeld) this.#bar.value = String(Math.round(this.#position));
    const isLive = this.#viewer.timeShift === "live";
    element("golive").setAttribute("aria-pressed", String(isLive));
    const isPaused = this.#viewer.video.paused;
    element("pause").classList.toggle("paused", isPaused);
    element("pause").setAttribute("aria-label", isPaused ? "Play" : "Pause");
    element("pauselabel").textContent = isPaused ? "Play" : "Pause";
    this.#label();
  }

  #label() {
    const seconds = -this.#bar.valueAsNumber;
    const isLive = seconds < 1 && (this.#isHeld || this.#viewer.timeShift === "live");
    const text = isLive ? "Live" : distance(seconds);
    if (element("seektime").textContent !== text) element("seektime").textContent = text;
    this.#bar.setAttribute("aria-valuetext", isLive ? "live" : `${Math.round(seconds)} seconds before the end`);
  }

  #press(event) {
    const signs = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -1, PageUp: 1 };
    const sign = signs[event.key];
    if (sign === undefined) return; // Home and End are the browser's
    event.preventDefault();
    this.#isHeld = true;
    this.#bar.value = String(this.#bar.valueAsNumber + sign * (event.key.startsWith("Page") ? step.large : step.small));
    this.#label();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#commit(), keyDelay);
  }

  #commit() {
    clearTimeout(this.#timer);
    this.#isHeld = false;
    const range = this.#viewer.seekableRange;
    if (!range) return;
    if (this.#bar.valueAsNumber > -1) return this.#goLive();
    this.#target = range.end + 1000 * this.#bar.valueAsNumber;
    this.#viewer.seek(this.#target);
    this.#update();
  }

  #goLive() {
    this.#target = null;
    this.#viewer.seekToLive();
    if (this.#viewer.video.paused) this.#viewer.play();
    this.#update();
  }

  // A pause in real time continues in the window with the same frame.
  #togglePause() {
    const { video, timeShift, frame } = this.#viewer;
    if (!video.paused) return video.pause();
    if (timeShift === "live" && frame) {
      this.#target = frame.timecode;
      this.#viewer.seek(frame.timecode);
    }
    this.#viewer.play();
  }
}
