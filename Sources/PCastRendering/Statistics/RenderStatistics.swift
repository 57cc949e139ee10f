public import PCastMedia

/// What a renderer has done since it began, under the names of a viewer's `stats`.
public struct RenderStatistics: Sendable {
    /// Pictures that came out of the decoder.
    public var framesDecoded = 0

    /// Pictures that were shown.
    public var framesRendered = 0

    /// Pictures that came and were not shown: too late, undecodable, or more than the decoder could take.
    public var framesDropped = 0

    /// Frames from before the viewer joined that were received to reach the live edge, and not presented because a newer frame
    /// had been received.
    public var startUpFramesSkipped = 0

    /// Frames that were presented before the live edge was reached; nil while that is unknown.
    public var startUpFramesRendered: Int?

    /// From the first frame to the live edge: the first frame whose lag is at most one frame interval more than the later
    /// median. Nil during the first 1.5 seconds, and when the live edge was not reached within five seconds.
    public var timeToLiveEdge: TimeSpan?

    /// The largest latency of a frame presented before the live edge was reached, of the test pattern only.
    public var startUpLatencyMaximum: TimeSpan?

    /// Percentiles without the frames that were presented before the live edge was reached, of the test pattern only.
    public var steadyLatencyP50: TimeSpan?
    public var steadyLatencyP99: TimeSpan?

    /// Packets of sound that were decoded, and stretches that were made up because a packet was missing.
    public var soundsDecoded = 0
    public var soundsConcealed = 0

    /// Sound that was heard, what was made up in it too; and what of the time was made up, or silent because sound was not
    /// there when it was due.
    public var soundDuration = TimeSpan.zero
    public var soundConcealedDuration = TimeSpan.zero

    /// How long frames wait at this moment beyond what path and decoder take at least.
    public var playoutDelay: TimeSpan?

    /// The part of the sound's time that was made up or silent, 0 to 1; nil before any was heard.
    public var soundConcealed: Double? {
        let whole = soundDuration.seconds
        return whole > 0 ? min(1, soundConcealedDuration.seconds / whole) : nil
    }

    /// Gaps in what was shown (JB7).
    public var freezeCount = 0
    public var freezeDuration = TimeSpan.zero

    /// From capture to the screen, of the test picture only.
    public var latencyP50: TimeSpan?
    public var latencyP99: TimeSpan?

    /// Pictures shown whose time strip could not be read though those before had one: broken ones, of the test picture
    /// only. Nil without it.
    public var framesBroken: Int?

    /// How much later the clapper is heard than seen, of the test signal only; its median.
    public var audioVideoSkew: TimeSpan?

    public init() {}
}
