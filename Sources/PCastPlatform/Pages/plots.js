// Plots as SVG.

const shape = (name, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

/** A plot of the last minute of a metric in an SVG element. */
export class Plot {
  #element; #values = []; #name;
  static #length = 60;

  constructor(id, name) {
    this.#element = document.getElementById(id);
    this.#name = name;
  }

  add(value) {
    this.#values = [...this.#values, value ?? null].slice(-Plot.#length);
    this.#draw();
  }

  clear() { this.#values = []; this.#draw(); }

  #draw() {
    const known = this.#values.filter((value) => value !== null);
    const top = Math.max(...known, 1e-9);
    const first = Plot.#length - this.#values.length;
    const points = this.#values.flatMap((value, index) =>
      value === null ? [] : [`${first + index},${(20 - (18 * value) / top).toFixed(2)}`]);
    this.#element.setAttribute("viewBox", `0 0 ${Plot.#length - 1} 20`);
    this.#element.setAttribute("preserveAspectRatio", "none");
    this.#element.setAttribute("aria-label", `${this.#name}, the last minute`);
    if (points.length < 2) { this.#element.replaceChildren(); return; }
    const [left, right] = [points[0], points.at(-1)].map((point) => point.split(",")[0]);
    this.#element.replaceChildren(
      shape("polygon", { points: `${left},20 ${points.join(" ")} ${right},20` }),
      shape("polyline", { points: points.join(" ") }));
  }
}

const rank = (sample) => (sample.dataQuality.status === "no-data" ? "bad"
  : sample.dataQuality.status === "audio-only" || sample.dataQuality.reason !== "none" ? "fair" : "good");

/**
 * A plot of the last minutes of a stream: the bit rate as an area, and below it the data quality as a strip. The
 * pointer or the arrow keys select a second.
 */
export class HistoryPlot {
  static span = 300_000;
  static #width = 300;
  static #height = 46;
  static #strip = 4;

  #element; #onSelect; #samples = []; #chosen = null; #now = 0;

  /**
   * @param element the SVG element.
   * @param onSelect called with the selected sample, or null.
   */
  constructor(element, onSelect) {
    this.#element = element;
    this.#onSelect = onSelect;
    element.setAttribute("viewBox", `0 0 ${HistoryPlot.#width} ${HistoryPlot.#height}`);
    element.setAttribute("preserveAspectRatio", "none");
    element.addEventListener("pointermove", (event) => {
      const box = element.getBoundingClientRect();
      this.#choose(this.#start() + ((event.clientX - box.left) / box.width) * HistoryPlot.span);
    });
    element.addEventListener("pointerleave", () => this.#choose(null));
    element.addEventListener("blur", () => this.#choose(null));
    element.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || !this.#samples.length) return;
      event.preventDefault();
      const index = this.#chosen ? this.#samples.indexOf(this.#chosen) : this.#samples.length;
      this.#choose(this.#samples[Math.min(Math.max(index + step, 0), this.#samples.length - 1)].time);
    });
  }

  get last() { return this.#samples.at(-1) ?? null; }

  /** Adds samples. Those that are not newer than the last one are ignored. */
  add(samples) {
    const latest = this.last?.time ?? 0;
    const later = samples.filter((sample) => sample.time > latest);
    if (!later.length) return;
    this.#samples = [...this.#samples, ...later];
    this.#now = this.last.time;
    this.#samples = this.#samples.filter((sample) => sample.time > this.#start());
    this.#draw();
  }

  #start() { return this.#now - HistoryPlot.span; }

  #choose(time) {
    const nearest = time === null ? null : this.#samples.reduce((best, sample) =>
      (!best || Math.abs(sample.time - time) < Math.abs(best.time - time) ? sample : best), null);
    if (nearest === this.#chosen) return;
    this.#chosen = nearest;
    this.#onSelect(nearest);
    this.#draw();
  }

  #x(time) { return ((time - this.#start()) / HistoryPlot.span) * HistoryPlot.#width; }

  #draw() {
    const floor = HistoryPlot.#height - HistoryPlot.#strip - 2;
    const top = Math.max(...this.#samples.map((sample) => sample.bitrate ?? 0), 1);
    const y = (sample) => (floor - ((floor - 2) * (sample.bitrate ?? 0)) / top).toFixed(1);
    const children = [shape("line", { class: "base", x1: 0, x2: HistoryPlot.#width, y1: floor, y2: floor })];
    // Seconds without samples, in which the platform did not respond, are not connected by a line.
    for (const run of this.#runs((one, next) => next.time - one.time <= 5_000)) {
      const points = run.map((sample) => `${this.#x(sample.time).toFixed(1)},${y(sample)}`);
      const [left, right] = [this.#x(run[0].time), this.#x(run.at(-1).time)];
      children.push(
        shape("polygon", { points: `${left.toFixed(1)},${floor} ${points.join(" ")} ${right.toFixed(1)},${floor}` }),
        shape("polyline", { points: points.join(" ") }));
    }
    for (const run of this.#runs((one, next) => rank(one) === rank(next) && next.time - one.time <= 5_000)) {
      const left = this.#x(run[0].time - 1_000);
      children.push(shape("rect", {
        class: rank(run[0]), x: left.toFixed(1), y: HistoryPlot.#height - HistoryPlot.#strip,
        width: Math.max(this.#x(run.at(-1).time) - left, 1).toFixed(1), height: HistoryPlot.#strip,
      }));
    }
    if (this.#chosen) {
      const x = this.#x(this.#chosen.time).toFixed(1);
      children.push(shape("line", { class: "chosen", x1: x, x2: x, y1: 0, y2: HistoryPlot.#height }));
    }
    this.#element.replaceChildren(...children);
  }

  // Returns the runs of adjacent samples that belong together.
  #runs(together) {
    const runs = [];
    for (const sample of this.#samples) {
      const run = runs.at(-1);
      if (run && together(run.at(-1), sample)) run.push(sample);
      else runs.push([sample]);
    }
    return runs;
  }
}
