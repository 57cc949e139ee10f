// The time of the frame that a video element shows: a part of /pcast.mjs.
// @ts-check

/** @typedef {import("./session.mjs").CaptureClock} CaptureClock */

/**
 * The source of a frame's time, from the best to the worst:
 *
 * - `capture-clock`: the publisher's reports, by the clock of the platform
 * - `program-date-time`: the playlist (HLS), by the clock of the platform
 * - `capture-time`: the browser's own estimate from the reports, by the clock of this computer
 * - `estimate`: the time at which the frame arrived less half a round trip, by the clock of this computer. The delays of
 *   the publisher are not known.
 *
 * @typedef {"capture-clock" | "program-date-time" | "capture-time" | "estimate"} TimeSource
 */

/**
 * A frame that is shown.
 *
 * @typedef {object} ShownFrame
 * @property {number} timecode the time at which the frame was captured, in milliseconds since 1970
 * @property {TimeSource} source the source of this time
 * @property {number} width the width in pixels
 * @property {number} height the height in pixels
 */

/**
 * The metadata of a frame (W3C video-rvfc), as far as it is used.
 *
 * @typedef {object} FrameMetadata
 * @property {number} expectedDisplayTime
 * @property {number} width
 * @property {number} height
 * @property {number} mediaTime
 * @property {number} [captureTime]
 * @property {number} [receiveTime]
 * @property {number} [rtpTimestamp]
 */

/** The interval between two readings of the clock, and between two attempts, in milliseconds. */
const INTERVAL = { reading: 10_000, attempt: 250 };

/** The number of attempts after which frames count by their estimated times. */
const MOST_ATTEMPTS = 8;

/** Follows the frames that a video element shows. */
export class Playhead {
  #video; #onFrame;
  /** @type {(() => Promise<CaptureClock | null>) | null} */ #read = null;
  /** @type {RTCRtpReceiver | null} */ #receiver = null;
  /** @type {CaptureClock | null} */ #clock = null;
  /** @type {((mediaTime: number) => number | null) | null} */ #timecode = null;
  /** @type {ShownFrame | null} */ #frame = null;
  #callback = 0; #isStopped = false;
  #attempts = 0; #readAt = -Infinity; #roundTrip = 0;

  /** Whether the clock is read again and again, so that its drift has no effect. */
  isFollowed = false;

  /**
   * @param {HTMLVideoElement} video the element
   * @param {(frame: ShownFrame | null) => void} onFrame called at each frame that is shown, before the page is painted
   *   with it; null while the time is not known yet
   */
  constructor(video, onFrame) {
    this.#video = video;
    this.#onFrame = onFrame;
    this.#request();
  }

  /**
   * The frame that is shown; null if there is none, or if its time is not known yet.
   * @returns {ShownFrame | null}
   */
  get frame() { return this.#frame; }

  /**
   * Follows the media of another receiver from now on.
   * @param {RTCRtpReceiver} receiver
   * @param {() => Promise<CaptureClock | null>} read reads the clock of its session
   */
  follow(receiver, read) {
    [this.#receiver, this.#read] = [receiver, read];
    [this.#clock, this.#frame, this.#attempts, this.#readAt] = [null, null, 0, -Infinity];
  }

  /**
   * Follows the media of a player of HLS, or again that of the receiver.
   * @param {((mediaTime: number) => number | null) | null} timecode returns the time of capture of a time of the media in
   *   milliseconds since 1970; null for the receiver
   */
  followPlaylist(timecode) { [this.#timecode, this.#frame] = [timecode, null]; }

  /** Ends following. */
  stop() {
    this.#isStopped = true;
    this.#video.cancelVideoFrameCallback?.(this.#callback);
  }

  #request() {
    if (this.#isStopped || !this.#video.requestVideoFrameCallback) return;
    this.#callback = this.#video.requestVideoFrameCallback((now, metadata) => {
      this.#request();
      this.#note(now, metadata);
    });
  }

  /**
   * @param {DOMHighResTimeStamp} now
   * @param {FrameMetadata} metadata
   */
  #note(now, metadata) {
    const { width, height, rtpTimestamp, mediaTime } = metadata;
    if (this.#timecode) {
      // A last frame of the receiver may still be reported.
      const timecode = rtpTimestamp === undefined ? this.#timecode(mediaTime) : null;
      this.#frame = timecode === null ? null : { timecode, source: "program-date-time", width, height };
      return this.#onFrame(this.#frame);
    }
    const isResized = this.#frame !== null && this.#frame.height !== height;
    const hasClock = rtpTimestamp !== undefined;
    // Another layer may have another clock.
    const wait = !this.#clock && hasClock ? INTERVAL.attempt : isResized ? 0 : INTERVAL.reading;
    const isNeeded = this.isFollowed || (!this.#clock && this.#attempts < MOST_ATTEMPTS);
    if (isNeeded && now - this.#readAt >= wait) this.#refresh(now);
    // A wrong time at the beginning could show an event too early, so that frames count when the clock is known.
    const isPending = hasClock && !this.#clock && this.#attempts < MOST_ATTEMPTS;
    if (isPending) {
      this.#frame = null;
    } else {
      const [timecode, source] = this.#time(metadata);
      this.#frame = { timecode, source, width, height };
    }
    this.#onFrame(this.#frame);
  }

  /**
   * @param {FrameMetadata} metadata
   * @returns {[number, TimeSource]}
   */
  #time({ rtpTimestamp, captureTime, receiveTime, expectedDisplayTime }) {
    if (rtpTimestamp !== undefined && this.#clock) {
      const ticks = (rtpTimestamp - this.#clock.rtpTimestamp) | 0; // RTP timestamps wrap at 32 bits
      return [this.#clock.time + (ticks * 1000) / this.#clock.clockRate, "capture-clock"];
    }
    if (captureTime !== undefined) return [performance.timeOrigin + captureTime, "capture-time"];
    return [performance.timeOrigin + (receiveTime ?? expectedDisplayTime) - this.#roundTrip / 2, "estimate"];
  }

  /**
   * Reads the clock and the round trip.
   * @param {DOMHighResTimeStamp} now
   */
  async #refresh(now) {
    const [receiver, read] = [this.#receiver, this.#read];
    this.#readAt = now;
    this.#attempts += 1;
    const [clock, reports] = await Promise.all([
      read?.().catch(() => null), receiver?.getStats().catch(() => null),
    ]);
    if (receiver !== this.#receiver) return;
    if (clock) this.#clock = clock;
    for (const report of /** @type {any[]} */ ([...(reports ?? new Map()).values()])) {
      if (report.type === "candidate-pair" && report.nominated) this.#roundTrip = (report.currentRoundTripTime ?? 0) * 1000;
    }
  }
}
