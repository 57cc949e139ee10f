public import PCastCore

extension JitterBuffer {
    /// The result of inserting a packet.
    public enum Insertion: Sendable {
        /// The packet was inserted.
        case inserted
        /// The packet is present already.
        case duplicate
        /// The packet was delivered or given up before.
        case late
        /// The payload is too large, or the packet is far from the stream and may belong to another one.
        case refused
        /// The packet was inserted as the first one of a restarted stream. All earlier packets were dropped.
        case resynchronized
    }

    /// The output of the buffer, in order.
    public enum Output: Sendable {
        /// A complete frame.
        case frame(Frame)
        /// Audio that is lost. The decoder conceals it or decodes it from the FEC of the next packet.
        case lost(Gap)
    }

    /// A complete frame.
    public struct Frame: Sendable {
        /// The data of the frame, in the form of `EncodedFrame`.
        public var bytes: [UInt8]

        /// Whether the frame can be decoded without another.
        public let isKeyFrame: Bool

        /// The RTP timestamp, unwrapped.
        public let timestamp: MediaTime

        /// The sequence numbers of its packets, unwrapped.
        public let sequenceNumbers: ClosedRange<Int64>

        /// The arrival time of the packet that arrived first.
        public let firstArrival: Instant

        /// The arrival time of the packet that arrived last.
        public let lastArrival: Instant
    }

    /// A gap of lost audio packets.
    public struct Gap: Hashable, Sendable {
        /// The number of lost packets.
        public let packetCount: Int

        /// The timestamp of the first missing sample.
        public let timestamp: MediaTime

        /// The duration of the missing audio by the timestamps around it, because packets may have different durations.
        public let duration: TimeSpan

        /// Creates a gap.
        public init(packetCount: Int, timestamp: MediaTime, duration: TimeSpan) {
            self.packetCount = packetCount
            self.timestamp = timestamp
            self.duration = duration
        }
    }
}

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
