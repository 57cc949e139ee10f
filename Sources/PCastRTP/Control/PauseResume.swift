/// A message about pausing streams (RFC 7728, section 7).
public struct PauseResume: Hashable, Sendable {
    /// The type of a message.
    public enum Kind: Hashable, Sendable {
        /// A receiver requests that the stream be paused or resumed.
        case pause, resume
        /// The sender has paused the stream (PAUSED). The value is the extended sequence number of the last packet, as
        /// in report blocks. If no packet was sent, it is one less than that of the first packet will be (RFC erratum
        /// 5540).
        case paused(lastSequenceNumber: UInt32)
        /// The sender has refused a request (REFUSED). The PauseID of the message is the one that it would accept.
        case refused
    }

    /// The message about one stream.
    public struct Message: Hashable, Sendable {
        /// The SSRC of the stream, regardless of the sender.
        public var ssrc: UInt32
        /// The type of the message.
        public var kind: Kind
        /// The PauseID. Requests with another number than the sender's current one are refused.
        public var pauseID: UInt16

        /// Creates a message.
        public init(ssrc: UInt32, kind: Kind, pauseID: UInt16) {
            self.ssrc = ssrc
            self.kind = kind
            self.pauseID = pauseID
        }
    }

    /// Reads the messages of a packet. Those of unknown types are skipped.
    public struct Reader: Sendable {
        private var range: Range<Int>

        /// Creates a reader at the first message.
        public init(_ packet: PauseResume) { range = packet.range }

        /// Returns the next message; nil if there is none or it is truncated.
        public mutating func next(in datagram: Span<UInt8>) -> Message? {
            while range.count >= PauseResume.messageSize {
                let start = range.lowerBound
                let parameters = start + PauseResume.messageSize
                let end = parameters + 4 * Int(datagram[start + 5])
                guard end <= range.upperBound else { break }
                range = end..<range.upperBound
                guard let kind = Kind(datagram[start + 4] >> 4, parameters: parameters..<end, in: datagram) else {
                    continue
                }
                return Message(
                    ssrc: datagram.bigEndian32(at: start), kind: kind, pauseID: datagram.bigEndian16(at: start + 6))
            }
            return nil
        }
    }

    /// The SSRC of the sender of the packet.
    public let senderSSRC: UInt32
    /// The range of the messages in the datagram.
    let range: Range<Int>

    /// The size of a message without parameters in bytes.
    static let messageSize = 8
}

extension PauseResume.Kind {
    /// Creates the type of a message. Returns nil for an unknown type, and for PAUSED without its parameter.
    fileprivate init?(_ type: UInt8, parameters: Range<Int>, in datagram: Span<UInt8>) {
        switch type {
        case 0: self = .pause
        case 1: self = .resume
        case 2 where parameters.count >= 4:
            self = .paused(lastSequenceNumber: datagram.bigEndian32(at: parameters.lowerBound))
        case 3: self = .refused
        default: return nil
        }
    }

    /// The value of the type field.
    var type: UInt8 {
        switch self {
        case .pause: 0
        case .resume: 1
        case .paused: 2
        case .refused: 3
        }
    }
}
