public import PCastMedia

/// A transport-wide congestion control feedback message: which packets of the transport arrived, and when
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01, section 3.1).
public struct TransportFeedback: Hashable, Sendable {
    /// One packet of the transport as the receiver saw it.
    public struct PacketStatus: Hashable, Sendable {
        public var sequenceNumber: UInt16
        /// Since `referenceTime`; nil when the packet has not arrived.
        public var arrival: TimeSpan?
    }

    public let senderSSRC: UInt32
    public let mediaSSRC: UInt32
    /// The first packet that the message is about.
    public let baseSequenceNumber: UInt16
    /// How many packets, in order, the message is about. A hostile peer says 65535: bound by your own history (CC3).
    public let packetCount: Int
    /// The receiver's time in units of 64 ms, 24 bits with sign; `ReferenceTimeUnwrapper` extends it.
    public let referenceTime: Int32
    /// Counts the messages, so that a lost or repeated one shows.
    public let feedbackCount: UInt8

    let chunkOffset: Int
    let deltaOffset: Int
    let end: Int

    /// What a delta counts in.
    static let tick = TimeSpan.microseconds(250)
    /// Bytes before the first chunk, the SSRCs included.
    static let headSize = 16

    /// Nil when the chunks do not make up the packet count, or the deltas do not fit.
    init?(in datagram: Span<UInt8>, body: Range<Int>) {
        let start = body.lowerBound
        guard body.count >= Self.headSize + 2 else { return nil }
        senderSSRC = datagram.bigEndian32(at: start)
        mediaSSRC = datagram.bigEndian32(at: start + 4)
        baseSequenceNumber = datagram.bigEndian16(at: start + 8)
        packetCount = Int(datagram.bigEndian16(at: start + 10))
        referenceTime = Int32(bitPattern: datagram.bigEndian24(at: start + 12) << 8) >> 8
        feedbackCount = datagram[start + 15]
        chunkOffset = start + Self.headSize
        end = body.upperBound
        guard
            let deltas = Self.measureChunks(
                in: datagram, from: chunkOffset, to: body.upperBound, packetCount: packetCount)
        else { return nil }
        deltaOffset = deltas.offset
        guard deltas.offset + deltas.size <= body.upperBound else { return nil }
    }

    /// Where the chunks end, and how many bytes of deltas they call for.
    private static func measureChunks(
        in datagram: Span<UInt8>, from start: Int, to end: Int, packetCount: Int
    ) -> (offset: Int, size: Int)? {
        var offset = start
        var left = packetCount
        var size = 0
        while left > 0 {
            guard offset + 2 <= end else { return nil }
            let chunk = PacketStatusChunk(rawValue: datagram.bigEndian16(at: offset))
            let count = min(left, chunk.count)
            guard count > 0 else { return nil }
            size += chunk.deltaSize(ofFirst: count)
            left -= count
            offset += 2
        }
        return (offset, size)
    }
}

extension TransportFeedback {
    /// Walks over the packets of a message.
    public struct Reader: Sendable {
        private let feedback: TransportFeedback
        private var index = 0
        private var chunk = PacketStatusChunk(rawValue: 0)
        private var chunkIndex = 0
        private var chunkOffset: Int
        private var deltaOffset: Int
        private var ticks: Int64 = 0

        public init(_ feedback: TransportFeedback) {
            self.feedback = feedback
            chunkOffset = feedback.chunkOffset
            deltaOffset = feedback.deltaOffset
        }

        /// The next packet, nil behind the last. The datagram is the one that the message was read from.
        public mutating func next(in datagram: Span<UInt8>) -> PacketStatus? {
            guard index < feedback.packetCount else { return nil }
            if chunkIndex == chunk.count {
                chunk = PacketStatusChunk(rawValue: datagram.bigEndian16(at: chunkOffset))
                chunkOffset += 2
                chunkIndex = 0
            }
            let symbol = chunk.symbol(chunkIndex)
            let number = feedback.baseSequenceNumber &+ UInt16(truncatingIfNeeded: index)
            chunkIndex += 1
            index += 1
            return PacketStatus(sequenceNumber: number, arrival: arrival(symbol, in: datagram))
        }

        private mutating func arrival(_ symbol: PacketStatusChunk.Symbol, in datagram: Span<UInt8>) -> TimeSpan? {
            switch symbol {
            case .notReceived, .reserved: return nil
            case .smallDelta: ticks += Int64(datagram[deltaOffset])
            case .largeDelta: ticks += Int64(Int16(bitPattern: datagram.bigEndian16(at: deltaOffset)))
            }
            deltaOffset += symbol.deltaSize
            return TransportFeedback.tick * ticks
        }
    }
}
