/// A message of RTMP, which chunks carry (RTMP 1.0, section 6.1).
package struct RTMPMessage: Hashable, Sendable {
    /// The type of the message.
    package var type: RTMPMessageType
    /// The ID of the message stream: 0 for the connection, otherwise one that `createStream` returned.
    package var streamID: UInt32
    /// The time in milliseconds from an origin that the sender chooses. It wraps after 49.7 days.
    package var timestamp: UInt32
    /// The payload.
    package var payload: [UInt8]

    /// Creates a message.
    package init(type: RTMPMessageType, streamID: UInt32 = 0, timestamp: UInt32 = 0, payload: [UInt8]) {
        self.type = type
        self.streamID = streamID
        self.timestamp = timestamp
        self.payload = payload
    }
}

/// The type of a message (RTMP 1.0, sections 5.4, 6.2 and 7.1).
package struct RTMPMessageType: RawRepresentable, Hashable, Sendable {
    /// The number of the type.
    package let rawValue: UInt8

    /// Creates a type from its number.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The maximum size of the sender's chunks.
    package static let setChunkSize = RTMPMessageType(rawValue: 1)
    /// The rest of a message is not sent.
    package static let abort = RTMPMessageType(rawValue: 2)
    /// The number of bytes that were received.
    package static let acknowledgement = RTMPMessageType(rawValue: 3)
    /// An event such as a ping.
    package static let userControl = RTMPMessageType(rawValue: 4)
    /// The number of bytes after which the receiver sends an acknowledgement.
    package static let windowAcknowledgementSize = RTMPMessageType(rawValue: 5)
    /// The number of bytes that the receiver may send without an acknowledgement.
    package static let setPeerBandwidth = RTMPMessageType(rawValue: 6)
    /// Audio.
    package static let audio = RTMPMessageType(rawValue: 8)
    /// Video.
    package static let video = RTMPMessageType(rawValue: 9)
    /// Metadata with a leading format byte.
    package static let dataWithFormat = RTMPMessageType(rawValue: 15)
    /// A command with a leading format byte.
    package static let commandWithFormat = RTMPMessageType(rawValue: 17)
    /// Metadata.
    package static let data = RTMPMessageType(rawValue: 18)
    /// A command.
    package static let command = RTMPMessageType(rawValue: 20)
    /// Several audio, video and data messages.
    package static let aggregate = RTMPMessageType(rawValue: 22)
}

/// The limits of what a peer may send on one connection.
package struct RTMPLimits: Hashable, Sendable {
    /// The maximum size of a video or aggregate message in bytes.
    package var videoMessageSize = 4 * 1_024 * 1_024
    /// The maximum size of another message in bytes.
    package var otherMessageSize = 256 * 1_024
    /// The maximum number of chunk streams.
    package var chunkStreamCount = 64
    /// The maximum size of all incomplete messages in bytes.
    package var incompleteSize = 8 * 1_024 * 1_024

    /// Creates the default limits.
    package init() {}

    /// Returns the maximum size of a message of a type in bytes.
    func maximumSize(of type: RTMPMessageType) -> Int {
        [.video, .aggregate].contains(type) ? videoMessageSize : otherMessageSize
    }
}
