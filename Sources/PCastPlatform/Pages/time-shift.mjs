// The playback of the window of a stream by a viewer who watches in real time: a part of /pcast.mjs.
// @ts-check

import { HLSPlayer } from "./hls.mjs";
import { PCastError } from "./session.mjs";

/**
 * The state of the time shift:
 *
 * - `live`: the stream is shown in real time, or by HLS at its end
 * - `seeking`: the media of a seek is loaded
 * - `shifted`: the window is played, or a frame of it is shown while the video is paused
 *
 * @typedef {"live" | "seeking" | "shifted"} TimeShiftState
 */

/** A time shift in the element of a viewer, whose connection continues, so that the return is immediate. */
export class TimeShift {
  #video; #playhead; #onChange;
  /** @type {HLSPlayer | null} */ #player = null;

  /**
   * @param {HTMLVideoElement} video
   * @param {import("./playhead.mjs").Playhead} playhead
   * @param {(state: TimeShiftState, error: PCastError | null) => void} onChange called with each state, and with the error
   *   after which it ended
   */
  constructor(video, playhead, onChange) {
    [this.#video, this.#playhead, this.#onChange] = [video, playhead, onChange];
  }

  /** The player of the window; null in real time. */
  get player() { return this.#player; }

  /**
   * Plays the window from a time.
   * @param {string} uri the multivariant playlist
   * @param {number} target in milliseconds since 1970
   * @param {() => void} play plays the video, unless it was paused in the window
   */
  async seek(uri, target, play) {
    this.#onChange("seeking", null);
    if (this.#player?.seek(target)) return;
    const isPaused = this.#player !== null && this.#video.paused;
    this.#player?.stop();
    const player = new HLSPlayer(this.#video, uri, null, target);
    const isCurrent = () => this.#player === player;
    this.#player = player;
    player.addEventListener("landed", () => { if (isCurrent()) this.#onChange("shifted", null); });
    player.addEventListener("ended", () => { if (isCurrent()) this.end(null); });
    player.addEventListener("failed", (event) => {
      if (isCurrent()) this.end(/** @type {CustomEvent} */ (event).detail.error);
    });
    try {
      await player.start();
      if (!isCurrent()) return;
      this.#playhead.followPlaylist((time) => player.timecode(time));
      if (!isPaused) play();
    } catch (error) {
      if (isCurrent()) this.end(error instanceof PCastError ? error : new PCastError("failed", `${error}`));
    }
  }

  /**
   * Ends the playback of the window.
   * @param {PCastError | null} [error] the reason for which it cannot be played; null if there is none
   */
  end(error = null) {
    this.#player?.stop();
    this.#player = null;
    this.#playhead.followPlaylist(null);
    this.#onChange("live", error);
  }
}
