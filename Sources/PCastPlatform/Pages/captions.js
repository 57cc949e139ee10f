// The captions of a live stream over its video.
//
// The platform sends cues before their frames arrive, with capture times by its clock. A frame's capture time is
// computed from its RTP timestamp: the frame that took the least time to arrive relates RTP timestamps to this page's
// clock, and the event that took the least time relates this page's clock to the platform's. Both ways are of about the
// same length, so their delays cancel out.

const capacity = 64; // cues that are kept
const clockRate = 90; // RTP ticks per millisecond (RFC 6184, RFC 7741)
const drift = 1 / 128; // how fast slower frames and events change the clocks
const discontinuity = 2000; // milliseconds after which timestamps are considered to have restarted

export class Captions {
  #video; #element; #button; #shifted; #cues = []; #shown = ""; #isOn = true;
  #platformOffset = null; // milliseconds from the page's clock to the platform's
  #frames = null; // the RTP timestamp of a frame, and when it would have arrived without delay
  #position = null; // the capture time of the displayed frame by the page's clock, and when it was displayed

  /**
   * Shows captions of `video` in `element`. `button` turns them on and off. `shifted` returns the capture time of the
   * displayed frame by the platform's clock in the window of the stream; null in real time.
   */
  constructor(video, element, button, shifted) {
    [this.#video, this.#element, this.#button, this.#shifted] = [video, element, button, shifted];
    button.addEventListener("click", () => {
      this.#isOn = !this.#isOn;
      button.setAttribute("aria-pressed", String(this.#isOn));
      this.#show();
    });
    if (video.requestVideoFrameCallback) this.#followFrames();
    setInterval(() => this.#show(), 100); // for cues that arrive, or end, without a new frame
  }

  /** Adds the cues of an event of the platform: {timestamp, cues: [{captureTime, duration, text}]}. */
  add({ timestamp, cues }) {
    const offset = timestamp - performance.now();
    // The greatest offset is that of the event with the least delay.
    const last = this.#platformOffset;
    this.#platformOffset = last === null || offset > last ? offset : last + (offset - last) * drift;
    for (const { captureTime, duration, text } of cues) {
      const known = (cue) => cue.begin === captureTime && cue.text === text;
      if (typeof text !== "string" || this.#cues.some(known)) continue;
      this.#cues.push({ begin: captureTime, end: captureTime + duration, text });
    }
    this.#cues.sort((one, other) => one.begin - other.begin);
    this.#cues.splice(0, this.#cues.length - capacity);
    if (this.#cues.length) this.#button.hidden = false;
    this.#show();
  }

  /** Removes all cues, because the stream has ended or is joined again. */
  clear() {
    [this.#cues, this.#frames, this.#position] = [[], null, null];
    this.#show();
  }

  #followFrames() {
    const next = (now, metadata) => {
      this.#noteFrame(metadata);
      this.#show();
      this.#video.requestVideoFrameCallback(next);
    };
    this.#video.requestVideoFrameCallback(next);
  }

  #noteFrame({ rtpTimestamp, receiveTime, presentationTime }) {
    if (rtpTimestamp === undefined || receiveTime === undefined) return;
    const elapsed = this.#frames ? ((rtpTimestamp - this.#frames.timestamp) | 0) / clockRate : 0;
    const expected = this.#frames ? this.#frames.arrival + elapsed : receiveTime;
    const delay = receiveTime - expected;
    const arrival = !this.#frames || delay < 0 || delay > discontinuity ? receiveTime : expected + delay * drift;
    this.#frames = { timestamp: rtpTimestamp, arrival };
    this.#position = { captured: arrival, displayed: presentationTime };
  }

  // The capture time of the displayed frame by the platform's clock. Without information about frames, the displayed
  // frame counts as captured now.
  #time() {
    const shifted = this.#shifted();
    if (shifted !== null) return shifted;
    if (this.#platformOffset === null) return null;
    return this.#platformOffset + (this.#position ? this.#position.captured : performance.now());
  }

  #show() {
    const time = this.#time();
    const shown = time === null || !this.#isOn ? []
      : this.#cues.filter((cue) => cue.begin <= time && time < cue.end);
    const text = shown.map((cue) => cue.text).join("\n");
    if (text === this.#shown) return;
    this.#shown = text;
    // As text nodes, so that markup in a caption is displayed and not interpreted.
    this.#element.replaceChildren(...text.split("\n").filter(Boolean).map((line) => {
      const element = document.createElement("span");
      element.textContent = line;
      return element;
    }));
    this.#element.hidden = !text;
  }
}
