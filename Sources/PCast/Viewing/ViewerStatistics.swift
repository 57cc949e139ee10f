/// What a viewer got and showed: counts since it began; rates and percentiles of the last second, or in a summary of
/// the whole run.
public struct ViewerStatistics: Hashable, Sendable, Encodable {
    public var framesDecoded = 0
    public var framesRendered = 0
    /// Pictures that came and were not shown.
    public var framesDropped = 0
    /// Gaps in what was shown, and how long they were together, in milliseconds.
    public var freezeCount = 0
    public var freezeDuration = 0.0
    /// Bits a second that arrived, RTP headers not counted.
    public var bitrate = 0
    /// Packets that never came, after repair.
    public var packetsLost = 0
    public var nackCount = 0
    public var pliCount = 0
    /// Milliseconds (RFC 3550, section 6.4.1); nil before it was measured.
    public var jitter: Double?
    /// Milliseconds; nil before it was measured.
    public var roundTripTime: Double?
    /// Milliseconds from capture to screen, measured from the test picture; nil without it.
    public var latencyP50: Double?
    public var latencyP99: Double?
    /// Milliseconds from the first frame to the live edge: the first frame whose lag is at most one frame interval more than
    /// the later median. In a summary only; nil when the stream was viewed for too short a time, or when the live edge was not
    /// reached within five seconds.
    public var timeToLiveEdge: Double?
    /// Frames presented before the live edge was reached, in a summary; and frames from before the viewer joined that were
    /// decoded, or left out at a newer key frame, and not presented.
    public var startUpFramesRendered: Int?
    public var startUpFramesSkipped = 0
    /// The largest latency in milliseconds of a frame presented before the live edge was reached, in a summary, measured from
    /// the test pattern.
    public var startUpLatencyMaximum: Double?
    /// Milliseconds from capture to screen without the frames presented before the live edge was reached, in a summary,
    /// measured from the test pattern.
    public var steadyLatencyP50: Double?
    public var steadyLatencyP99: Double?
    /// Pictures shown whose time strip could not be read though those before had one: the test picture was damaged; nil
    /// without it.
    public var framesBroken: Int?
    /// Milliseconds by which the test signal is heard later than seen; nil without it.
    public var audioVideoSkew: Double?
    /// The part of the sound's time that was made up, or silent because nothing had come, 0 to 1, since it began; nil
    /// without sound.
    public var audioConcealed: Double?
    /// Packets of sound that were lost and repeated by later ones (RFC 2198).
    public var packetsRepeated = 0
    /// Milliseconds that frames wait at this moment beyond what path and decoder take at least; nil before the first.
    public var playoutDelay: Double?
    /// Where this viewer stands to those who show the same at the same time: `joining`, `member` or `left`; nil where the
    /// stream does not ask for it.
    public var playoutGroup: String?

    enum CodingKeys: CodingKey {
        case framesDecoded, framesRendered, framesDropped, freezeCount, freezeDuration, bitrate, packetsLost
        case nackCount, pliCount, jitter, roundTripTime, latencyP50, latencyP99, framesBroken
        case timeToLiveEdge, startUpFramesRendered, startUpFramesSkipped, startUpLatencyMaximum
        case steadyLatencyP50, steadyLatencyP99
        case audioVideoSkew, audioConcealed, packetsRepeated, playoutDelay, playoutGroup
    }

    /// Every name stands in the output, with null where nothing was measured.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(framesDecoded, forKey: .framesDecoded)
        try container.encode(framesRendered, forKey: .framesRendered)
        try container.encode(framesDropped, forKey: .framesDropped)
        try container.encode(freezeCount, forKey: .freezeCount)
        try container.encode(freezeDuration, forKey: .freezeDuration)
        try container.encode(bitrate, forKey: .bitrate)
        try container.encode(packetsLost, forKey: .packetsLost)
        try container.encode(nackCount, forKey: .nackCount)
        try container.encode(pliCount, forKey: .pliCount)
        try container.encode(jitter, forKey: .jitter)
        try container.encode(roundTripTime, forKey: .roundTripTime)
        try container.encode(latencyP50, forKey: .latencyP50)
        try container.encode(latencyP99, forKey: .latencyP99)
        try container.encode(timeToLiveEdge, forKey: .timeToLiveEdge)
        try container.encode(startUpFramesRendered, forKey: .startUpFramesRendered)
        try container.encode(startUpFramesSkipped, forKey: .startUpFramesSkipped)
        try container.encode(startUpLatencyMaximum, forKey: .startUpLatencyMaximum)
        try container.encode(steadyLatencyP50, forKey: .steadyLatencyP50)
        try container.encode(steadyLatencyP99, forKey: .steadyLatencyP99)
        try container.encode(framesBroken, forKey: .framesBroken)
        try container.encode(audioVideoSkew, forKey: .audioVideoSkew)
        try container.encode(audioConcealed, forKey: .audioConcealed)
        try container.encode(packetsRepeated, forKey: .packetsRepeated)
        try container.encode(playoutDelay, forKey: .playoutDelay)
        try container.encode(playoutGroup, forKey: .playoutGroup)
    }
}
