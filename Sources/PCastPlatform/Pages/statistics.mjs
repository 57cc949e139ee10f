// Statistics of a viewer and of a publisher (W3C webrtc-stats): a part of /pcast.mjs.
// @ts-check

/**
 * The statistics of a viewer. Rates and the delay are those since the previous call; null if they are not known.
 *
 * @typedef {object} ViewerStatistics
 * @property {number | null} width the width of the frames in pixels
 * @property {number | null} height the height of the frames in pixels
 * @property {string | null} codec the video codec, such as `H264`
 * @property {number | null} frameRate frames per second
 * @property {number | null} bitrate bits per second of audio and video
 * @property {number | null} roundTripTime milliseconds
 * @property {number | null} jitterBufferDelay milliseconds
 * @property {number} packetsLost packets since the session began
 * @property {number} framesDecoded frames since the session began
 * @property {number} framesDropped frames since the session began
 * @property {number} freezeCount freezes since the session began
 * @property {number} freezeDuration milliseconds since the session began
 */

/**
 * The statistics of a publisher. Rates are those since the previous call; null if they are not known.
 *
 * @typedef {object} PublisherStatistics
 * @property {number | null} width the width of the largest layer in pixels
 * @property {number | null} height the height of the largest layer in pixels
 * @property {number | null} frameRate frames per second of the largest layer
 * @property {"none" | "cpu" | "bandwidth" | "other" | null} limitation what limits the largest layer
 * @property {number | null} bitrate bits per second of audio and video
 * @property {number | null} availableBitrate the available bandwidth in bits per second
 * @property {number | null} roundTripTime milliseconds
 * @property {number | null} fractionLost the part of the packets that is lost, 0 to 1
 * @property {number} packetsRetransmitted packets since the session began
 */

/** Reads the statistics of a connection. */
export class StatisticsReader {
  #connection;
  /** @type {Map<string, { value: number, time: number }>} */ #previous = new Map();

  /** @param {RTCPeerConnection} connection */
  constructor(connection) { this.#connection = connection; }

  /**
   * Returns the statistics of a viewer; null while no media arrives.
   * @returns {Promise<ViewerStatistics | null>}
   */
  async viewer() {
    const reports = await this.#reports();
    const [video, audio] = ["video", "audio"].map((kind) => find(reports, "inbound-rtp", kind));
    if (!video && !audio) return null;
    const buffered = video ?? audio;
    const [delay, count] = [this.#rate(buffered, "jitterBufferDelay"), this.#rate(buffered, "jitterBufferEmittedCount")];
    return {
      width: video?.frameWidth ?? null, height: video?.frameHeight ?? null,
      codec: reports.find((report) => report.id === video?.codecId)?.mimeType.slice(6) ?? null,
      frameRate: video ? video.framesPerSecond ?? 0 : null,
      bitrate: bits([this.#rate(video, "bytesReceived"), this.#rate(audio, "bytesReceived")]),
      roundTripTime: roundTrip(reports),
      jitterBufferDelay: delay === null || !count ? null : (delay / count) * 1000,
      packetsLost: (video?.packetsLost ?? 0) + (audio?.packetsLost ?? 0),
      framesDecoded: video?.framesDecoded ?? 0, framesDropped: video?.framesDropped ?? 0,
      freezeCount: video?.freezeCount ?? 0, freezeDuration: (video?.totalFreezesDuration ?? 0) * 1000,
    };
  }

  /**
   * Returns the statistics of a publisher; null while no media is sent.
   * @returns {Promise<PublisherStatistics | null>}
   */
  async publisher() {
    const reports = await this.#reports();
    const layers = reports.filter((report) => report.type === "outbound-rtp" && report.kind === "video");
    const audio = find(reports, "outbound-rtp", "audio");
    if (!layers.length && !audio) return null;
    const largest = layers.reduce(
      (best, each) => ((each.frameWidth ?? 0) > (best?.frameWidth ?? -1) ? each : best), /** @type {any} */ (null));
    const rates = [...layers, ...(audio ? [audio] : [])].map((report) => this.#rate(report, "bytesSent"));
    const losses = reports.filter((report) => report.type === "remote-inbound-rtp" && report.kind === "video");
    return {
      width: largest?.frameWidth ?? null, height: largest?.frameHeight ?? null,
      frameRate: largest ? largest.framesPerSecond ?? 0 : null,
      limitation: largest?.qualityLimitationReason ?? null,
      bitrate: rates.includes(null) ? null : bits(rates),
      availableBitrate: nominated(reports)?.availableOutgoingBitrate ?? null,
      roundTripTime: roundTrip(reports),
      fractionLost: losses.length ? Math.max(...losses.map((report) => report.fractionLost ?? 0)) : null,
      packetsRetransmitted: layers.reduce((sum, each) => sum + (each.retransmittedPacketsSent ?? 0), 0),
    };
  }

  /** @returns {Promise<any[]>} */
  async #reports() { return [.../** @type {any} */ (await this.#connection.getStats()).values()]; }

  /**
   * Returns the growth of a field per second since the previous call; null if it is not known.
   * @param {any} report
   * @param {string} field
   */
  #rate(report, field) {
    if (!report || report[field] === undefined) return null;
    const key = report.id + field;
    const last = this.#previous.get(key);
    this.#previous.set(key, { value: report[field], time: report.timestamp });
    if (!last || report.timestamp <= last.time) return null;
    return ((report[field] - last.value) * 1000) / (report.timestamp - last.time);
  }
}

/** @type {(reports: any[], type: string, kind: string) => any} */
const find = (reports, type, kind) => reports.find((report) => report.type === type && report.kind === kind);

/** @param {any[]} reports */
const nominated = (reports) => reports.find((report) => report.type === "candidate-pair" && report.nominated);

/** @param {any[]} reports */
function roundTrip(reports) {
  const seconds = nominated(reports)?.currentRoundTripTime;
  return seconds === undefined ? null : seconds * 1000;
}

/**
 * Returns the sum of rates in bytes per second, in bits per second; null if none is known.
 * @param {(number | null)[]} rates
 */
function bits(rates) {
  if (rates.every((rate) => rate === null)) return null;
  return rates.reduce((/** @type {number} */ sum, rate) => sum + (rate ?? 0), 0) * 8;
}
