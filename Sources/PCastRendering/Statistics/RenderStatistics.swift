package import PCastCore

/// The statistics of a renderer since its start, with the names of a viewer's `stats`.
package struct RenderStatistics: Sendable {
    /// The number of frames that were decoded.
    package var framesDecoded = 0

    /// The number of frames that were presented.
    package var framesRendered = 0

    /// The number of received frames that were not presented: late, undecodable, or more than the decoder could
    /// process.
    package var framesDropped = 0

    /// The number of frames from before the viewer joined that were received to reach the live edge, and not presented
    /// because a newer frame had been received.
    package var startUpFramesSkipped = 0

    /// The number of frames that were presented before the live edge was reached; nil while that is unknown.
    package var startUpFramesRendered: Int?

    /// The time from the first presented frame to the first one at the live edge (see `StartUpMeter`).
    ///
    /// It is nil until 15 frames were presented that came at least a second after the first one. It is also nil if the
    /// live edge was not reached within five seconds.
    package var timeToLiveEdge: TimeSpan?

    /// The largest latency of a frame before the live edge; nil without a test pattern.
    package var startUpLatencyMaximum: TimeSpan?

    /// The median latency without the frames before the live edge; nil without a test pattern.
    package var steadyLatencyP50: TimeSpan?
    /// The 99th percentile of the latency without the frames before the live edge; nil without a test pattern.
    package var steadyLatencyP99: TimeSpan?

    /// The number of audio packets that were decoded.
    package var audioFramesDecoded = 0
    /// The number of concealments for lost audio packets.
    package var audioFramesConcealed = 0

    /// The duration of the audio that was played, including concealment and gaps.
    package var audioDuration = TimeSpan.zero
    /// The duration of concealed audio and of gaps.
    package var audioConcealedDuration = TimeSpan.zero

    /// The current playout delay beyond the minimum of path and decoder; nil before the first frame.
    package var playoutDelay: TimeSpan?

    /// The fraction of the audio that was concealed or silent, 0 to 1; nil before the first audio.
    package var audioConcealed: Double? {
        let whole = audioDuration.seconds
        return whole > 0 ? min(1, audioConcealedDuration.seconds / whole) : nil
    }

    /// The number of freezes (W3C webrtc-stats, `freezeCount`).
    package var freezeCount = 0
    /// The total duration of the freezes.
    package var freezeDuration = TimeSpan.zero

    /// The median latency from capture to presentation; nil without a test pattern.
    package var latencyP50: TimeSpan?
    /// The 99th percentile of the latency; nil without a test pattern.
    package var latencyP99: TimeSpan?

    /// The number of presented frames whose time strip was unreadable although earlier frames had one; nil without a
    /// test pattern.
    package var framesBroken: Int?

    /// The median skew: the delay of the clap after the flash; nil without a test pattern.
    package var audioVideoSkew: TimeSpan?

    /// Creates statistics with zeros.
    package init() {}
}
