import PCastCore
import PCastRendering
import PCastWebRTC

/// The statistics of a viewer: counters since it began, and rates and percentiles of the last second, or of the whole
/// run in a summary.
public struct ViewerStatistics: Hashable, Sendable, Encodable {
    /// The number of decoded frames.
    public var framesDecoded = 0
    /// The number of frames that were shown.
    public var framesRendered = 0
    /// The number of received frames that were not shown.
    public var framesDropped = 0
    /// The number of freezes.
    public var freezeCount = 0
    /// The total duration of freezes.
    public var freezeDuration = Duration.zero
    /// The received bit rate in bits per second, without RTP headers.
    public var bitrate = 0
    /// The number of packets that never arrived, after retransmissions.
    public var packetsLost = 0
    /// The number of NACK messages that were sent (RFC 4585, section 6.2.1).
    public var nackCount = 0
    /// The number of PLI messages that were sent (RFC 4585, section 6.3.1).
    public var pliCount = 0
    /// The interarrival jitter (RFC 3550, section 6.4.1); nil before it was measured.
    public var jitter: Duration?
    /// The round-trip time; nil before it was measured.
    public var roundTripTime: Duration?
    /// The median latency from capture to screen, measured with the test pattern; nil without it.
    public var latencyP50: Duration?
    /// The 99th percentile of the latency; nil without the test pattern.
    public var latencyP99: Duration?
    /// The time from the first presented frame to the first one at the live edge, in a summary.
    ///
    /// The lag of a frame is the time from its timestamp to its presentation. A frame is at the live edge if its lag is
    /// at most one frame interval more than the median lag of the frames from 1 to 10 seconds after the first one. Nil
    /// if fewer than 15 frames were presented in that time, or if the live edge was not reached within five seconds.
    public var timeToLiveEdge: Duration?
    /// The number of frames presented before the live edge was reached, in a summary; else nil.
    public var startUpFramesRendered: Int?
    /// The number of frames from before the viewer joined that were not presented: they were decoded only, or dropped
    /// at a newer key frame.
    public var startUpFramesSkipped = 0
    /// The largest latency of a frame presented before the live edge was reached, in a summary; nil
    /// without the test pattern.
    public var startUpLatencyMaximum: Duration?
    /// The median latency without the frames presented before the live edge was reached, in a summary;
    /// nil without the test pattern.
    public var steadyLatencyP50: Duration?
    /// The 99th percentile of the latency without those frames, in a summary; nil without the test
    /// pattern.
    public var steadyLatencyP99: Duration?
    /// The number of shown frames with a damaged test pattern: its time strip could not be read though earlier ones
    /// could; nil without the test pattern.
    public var framesBroken: Int?
    /// The time by which the test audio is later than the test pattern; nil without the test signal.
    public var audioVideoSkew: Duration?
    /// The share of the audio's duration that was concealed or silent because of missing packets, 0...1, since it
    /// began; nil without audio.
    public var audioConcealed: Double?
    /// The number of lost audio packets that later ones repeated (RFC 2198).
    public var packetsRepeated = 0
    /// The present delay of frames in addition to the minimum delay of the path and the decoder; nil
    /// before the first frame.
    public var playoutDelay: Duration?
    /// The state of this viewer in a group with synchronized playout: `joining`, `member` or `left`; nil if the stream
    /// does not require it.
    public var playoutGroup: PlayoutGroup?

    enum CodingKeys: CodingKey {
        case framesDecoded, framesRendered, framesDropped, freezeCount, freezeDuration, bitrate, packetsLost
        case nackCount, pliCount, jitter, roundTripTime, latencyP50, latencyP99, framesBroken
        case timeToLiveEdge, startUpFramesRendered, startUpFramesSkipped, startUpLatencyMaximum
        case steadyLatencyP50, steadyLatencyP99
        case audioVideoSkew, audioConcealed, packetsRepeated, playoutDelay, playoutGroup
    }

    /// Encodes all values, times in milliseconds, with null for those that were not measured. Throws an error of the
    /// encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(framesDecoded, forKey: .framesDecoded)
        try container.encode(framesRendered, forKey: .framesRendered)
        try container.encode(framesDropped, forKey: .framesDropped)
        try container.encode(freezeCount, forKey: .freezeCount)
        try container.encode(freezeDuration.milliseconds, forKey: .freezeDuration)
        try container.encode(bitrate, forKey: .bitrate)
        try container.encode(packetsLost, forKey: .packetsLost)
        try container.encode(nackCount, forKey: .nackCount)
        try container.encode(pliCount, forKey: .pliCount)
        try container.encode(jitter?.milliseconds, forKey: .jitter)
        try container.encode(roundTripTime?.milliseconds, forKey: .roundTripTime)
        try container.encode(latencyP50?.milliseconds, forKey: .latencyP50)
        try container.encode(latencyP99?.milliseconds, forKey: .latencyP99)
        try container.encode(timeToLiveEdge?.milliseconds, forKey: .timeToLiveEdge)
        try container.encode(startUpFramesRendered, forKey: .startUpFramesRendered)
        try container.encode(startUpFramesSkipped, forKey: .startUpFramesSkipped)
        try container.encode(startUpLatencyMaximum?.milliseconds, forKey: .startUpLatencyMaximum)
        try container.encode(steadyLatencyP50?.milliseconds, forKey: .steadyLatencyP50)
        try container.encode(steadyLatencyP99?.milliseconds, forKey: .steadyLatencyP99)
        try container.encode(framesBroken, forKey: .framesBroken)
        try container.encode(audioVideoSkew?.milliseconds, forKey: .audioVideoSkew)
        try container.encode(audioConcealed, forKey: .audioConcealed)
        try container.encode(packetsRepeated, forKey: .packetsRepeated)
        try container.encode(playoutDelay?.milliseconds, forKey: .playoutDelay)
        try container.encode(playoutGroup?.rawValue, forKey: .playoutGroup)
    }
}

extension ViewerStatistics {
    /// Creates the statistics of a rendering.
    init(_ rendering: RenderStatistics) {
        framesDecoded = rendering.framesDecoded
        framesRendered = rendering.framesRendered
        framesDropped = rendering.framesDropped
        freezeCount = rendering.freezeCount
        freezeDuration = rendering.freezeDuration.duration
        latencyP50 = rendering.latencyP50?.duration
        latencyP99 = rendering.latencyP99?.duration
        timeToLiveEdge = rendering.timeToLiveEdge?.duration
        startUpFramesRendered = rendering.startUpFramesRendered
        startUpFramesSkipped = rendering.startUpFramesSkipped
        startUpLatencyMaximum = rendering.startUpLatencyMaximum?.duration
        steadyLatencyP50 = rendering.steadyLatencyP50?.duration
        steadyLatencyP99 = rendering.steadyLatencyP99?.duration
        framesBroken = rendering.framesBroken
        audioVideoSkew = rendering.audioVideoSkew?.duration
        audioConcealed = rendering.audioConcealed
        playoutDelay = rendering.playoutDelay?.duration
    }

    /// Adds the statistics of a connection, except for the bit rate, which needs two readings.
    mutating func add(_ call: PeerConnectionStatistics) {
        packetsLost = call.packetsLost
        packetsRepeated = call.packetsRepeated
        nackCount = call.nackCount
        pliCount = call.pliCount
        jitter = call.jitter?.duration
        roundTripTime = call.roundTrip?.duration
    }
}
