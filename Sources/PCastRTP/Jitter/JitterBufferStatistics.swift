/// The statistics of a jitter buffer since the beginning.
public struct JitterBufferStatistics: Hashable, Sendable {
    /// The number of packets inserted, including padding.
    public var packetsInserted = 0

    /// The number of packets that arrived after they were delivered or given up.
    public var packetsLate = 0

    /// The number of packets that arrived twice.
    public var packetsDuplicate = 0

    /// The number of packets that were too large or far from the stream.
    public var packetsRefused = 0

    /// The number of packets that were given up.
    public var packetsLost = 0

    /// The number of frames delivered.
    public var framesAssembled = 0

    /// The number of key frames delivered.
    public var keyFramesAssembled = 0

    /// The number of frames that arrived at least partly and were not delivered, because they were damaged or between a
    /// gap and a key frame.
    public var framesDropped = 0

    /// The number of restarts of the source.
    public var resynchronizations = 0

    /// The number of NAL units and payloads that were malformed.
    public var malformedUnits = 0

    /// Creates statistics of zero.
    public init() {}
}
