public import PCastMedia

extension JitterBuffer {
    /// What came of inserting a packet.
    public enum Insertion: Sendable {
        case inserted
        /// Here already.
        case duplicate
        /// Its place was delivered or given up.
        case late
        /// Too large for a slot, or far from the stream and perhaps the beginning of another.
        case refused
        /// Inserted as the first of a stream that started anew; everything before is gone (RTP11).
        case resynchronized
    }

    /// What the buffer delivers, in order.
    public enum Output: Sendable {
        case frame(Frame)
        /// Audio that will not come; the decoder conceals it, or takes it from the next packet's FEC.
        case lost(Gap)
    }

    /// A whole frame.
    public struct Frame: Sendable {
        /// As of `EncodedFrame`.
        public var bytes: [UInt8]

        /// Decodable without anything before it.
        public let isKeyFrame: Bool

        /// The RTP timestamp, unwrapped to 64 bits.
        public let timestamp: MediaTime

        /// The sequence numbers of its packets, unwrapped to 64 bits.
        public let sequenceNumbers: ClosedRange<Int64>

        /// When the first of its packets, in time, arrived.
        public let firstArrival: Instant

        /// When the packet arrived that came last.
        public let lastArrival: Instant
    }

    /// Audio packets that were lost.
    public struct Gap: Hashable, Sendable {
        /// Packets.
        public let packetCount: Int

        /// Of the first sample that is missing.
        public let timestamp: MediaTime

        /// The length of sound missing, by the timestamps around it: packets may differ in length (RTP12).
        public let duration: TimeSpan

        public init(packetCount: Int, timestamp: MediaTime, duration: TimeSpan) {
            self.packetCount = packetCount
            self.timestamp = timestamp
            self.duration = duration
        }
    }
}
