public import PCastCore

/// A transport-wide congestion control feedback message, which reports the arrival of packets
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01, section 3.1).
public struct TransportFeedback: Hashable, Sendable {
    /// The status of a packet.
    public struct PacketStatus: Hashable, Sendable {
        /// The transport-wide sequence number.
        public var sequenceNumber: UInt16
        /// The arrival time since ``referenceTime``; nil if the packet has not arrived.
        public var arrival: TimeSpan?
    }

    /// The SSRC of the sender of the message.
    public let senderSSRC: UInt32
    /// The SSRC of a media stream of the transport.
    public let mediaSSRC: UInt32
    /// The number of the first packet in the message.
    public let baseSequenceNumber: UInt16
    /// The number of consecutive packets in the message, up to 65,535. A caller must limit the work for untrusted
    /// peers.
    public let packetCount: Int
    /// The receiver's time in units of 64 ms, a signed 24-bit number. See ``ReferenceTimeUnwrapper``.
    public let referenceTime: Int32
    /// The number of the message modulo 256, which shows lost messages.
    public let feedbackCount: UInt8

    /// The offset of the first chunk in the datagram.
    let chunkOffset: Int
    /// The offset of the first receive delta in the datagram.
    let deltaOffset: Int
    /// The offset after the message.
    let end: Int

    /// The unit of receive deltas.
    static let tick = TimeSpan.microseconds(250)
    /// The size of the fields before the first chunk in bytes, including the SSRCs.
    static let headSize = 16

    /// Parses the body of a message. Returns nil if the chunks do not match the packet count, or deltas are missing.
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

    /// Returns the offset after the chunks, and the size of their deltas in bytes; nil if the chunks are malformed.
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
    /// Reads the packet statuses of a message.
    public struct Reader: Sendable {
        private let feedback: TransportFeedback
        /// The index of the next packet.
        private var index = 0
        private var chunk = PacketStatusChunk(rawValue: 0)
        private var chunkIndex = 0
        private var chunkOffset: Int
        private var deltaOffset: Int
        /// The arrival time of the last packet that has arrived, in units of 250 µs.
        private var ticks: Int64 = 0

        /// Creates a reader at the first packet.
        public init(_ feedback: TransportFeedback) {
            self.feedback = feedback
            chunkOffset = feedback.chunkOffset
            deltaOffset = feedback.deltaOffset
        }

        /// Returns the status of the next packet; nil after the last one. `datagram` must be the one that the message
        /// was parsed from.
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

        /// Returns the arrival time of a packet, and advances to the next delta.
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
