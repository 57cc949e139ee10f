/// Counts of a jitter buffer since it began.
public struct JitterBufferStatistics: Hashable, Sendable {
    /// Packets taken in, padding included.
    public var packetsInserted = 0

    /// Packets that came after their place was given up or delivered.
    public var packetsLate = 0

    /// Packets that were here already.
    public var packetsDuplicate = 0

    /// Packets larger than a slot, or far from the stream.
    public var packetsRefused = 0

    /// Numbers given up.
    public var packetsLost = 0

    /// Frames delivered.
    public var framesAssembled = 0

    /// Of those, key frames.
    public var keyFramesAssembled = 0

    /// Frames of which something had come that were not delivered: damaged, or between a hole and a key frame.
    public var framesDropped = 0

    /// Restarts of the source.
    public var resynchronizations = 0

    /// NAL units, and payloads, that broke their format.
    public var malformedUnits = 0

    public init() {}
}
