/// Requests to pause or resume streams, and what their senders say of it (RFC 7728, section 7).
public struct PauseResume: Hashable, Sendable {
    /// What is said of one stream.
    public enum Kind: Hashable, Sendable {
        /// A receiver asks the stream's sender to stop sending it, and to go on.
        case pause, resume
        /// The sender has stopped; the number is the last packet's, its wraps counted in the upper half as in report
        /// blocks. Before any packet it is one less than the first will have (erratum 5540).
        case paused(lastSequenceNumber: UInt32)
        /// The sender did not heed a request; the message's `pauseID` is the one that would be heeded.
        case refused
    }

    /// One stream that the packet speaks of.
    public struct Message: Hashable, Sendable {
        /// The stream's own SSRC, whoever sends the message.
        public var ssrc: UInt32
        public var kind: Kind
        /// Numbers the stream's pauses: what is asked under another number than the sender's is not heeded.
        public var pauseID: UInt16

        public init(ssrc: UInt32, kind: Kind, pauseID: UInt16) {
            self.ssrc = ssrc
            self.kind = kind
            self.pauseID = pauseID
        }
    }

    /// Walks over the messages of a packet; those of types to come are left out.
    public struct Reader: Sendable {
        private var range: Range<Int>

        public init(_ packet: PauseResume) { range = packet.range }

        /// The next message, nil when there are no more, or no more whole ones.
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

    public let senderSSRC: UInt32
    /// Where the messages lie in the datagram.
    let range: Range<Int>

    /// Bytes of a message without parameters.
    static let messageSize = 8
}

extension PauseResume.Kind {
    /// Nil for types to come, and for an indication without its number.
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

    /// The four bits on the wire.
    var type: UInt8 {
        switch self {
        case .pause: 0
        case .resume: 1
        case .paused: 2
        case .refused: 3
        }
    }
}
