/// A command or its response (RTMP 1.0, section 7.1.1).
package struct RTMPCommand: Hashable, Sendable {
    /// The name, such as `connect`, `_result` or `onStatus`.
    package var name: String
    /// The number by which the response refers to the command; 0 if no response is expected.
    package var transaction: Double
    /// The command object and the other arguments.
    package var arguments: [AMF0Value]

    /// Creates a command.
    package init(_ name: String, transaction: Double = 0, _ arguments: [AMF0Value]) {
        self.name = name
        self.transaction = transaction
        self.arguments = arguments
    }

    /// Parses a command.
    ///
    /// - Parameters:
    ///   - payload: The payload of the message.
    ///   - hasFormat: Whether a byte with the format precedes the command, which is otherwise the same (message type
    ///     17). Values in AMF3 are not supported.
    /// - Throws: `AMF0Error`, also if the name or the number is missing.
    package init(_ payload: [UInt8], hasFormat: Bool = false) throws(AMF0Error) {
        var reader = AMF0Reader(payload, from: hasFormat ? 1 : 0)
        guard let name = try reader.value().string else { throw .truncated }
        // Some encoders omit the number of commands without a response.
        let transaction = reader.isAtEnd ? 0 : try reader.value().number ?? 0
        self.init(name, transaction: transaction, try reader.values())
    }

    /// The payload of the message.
    package var payload: [UInt8] { AMF0Writer.bytes([.string(name), .number(transaction)] + arguments) }

    /// Returns an argument; nil if there are fewer.
    func argument(_ index: Int) -> AMF0Value? { arguments.indices.contains(index) ? arguments[index] : nil }
}

/// A status that a client receives with `onStatus`, or with the response of `connect`.
package struct RTMPStatus: Hashable, Sendable {
    /// The severity.
    package enum Level: String, Hashable, Sendable {
        /// An expected event.
        case status
        /// An event that needs attention. Encoders continue.
        case warning
        /// A failure. Encoders stop.
        case error
    }

    /// The severity.
    package let level: Level
    /// The code, such as `NetStream.Publish.Start`.
    package let code: String
    /// The message for a person: the problem, and the way to correct it.
    package let description: String

    /// Creates a status.
    package init(_ level: Level, _ code: String, _ description: String) {
        self.level = level
        self.code = code
        self.description = description
    }

    /// The properties of the information object.
    package var object: AMF0Object {
        ["level": .string(level.rawValue), "code": .string(code), "description": .string(description)]
    }

    /// The connection is accepted.
    static let connected = RTMPStatus(.status, "NetConnection.Connect.Success", "The connection is accepted.")
    /// The stream is accepted.
    static let publishing = RTMPStatus(.status, "NetStream.Publish.Start", "The stream is accepted.")
    /// The stream has ended.
    static let unpublished = RTMPStatus(.status, "NetStream.Unpublish.Success", "The stream has ended.")
    /// Playing is not supported.
    static let cannotPlay = RTMPStatus(
        .error, "NetStream.Play.Failed", "Playing by RTMP is not supported; use HLS or WebRTC.")

    /// Returns the status for a stream key or name that is not accepted. OBS and FFmpeg stop after this code.
    package static func badName(_ description: String) -> RTMPStatus {
        RTMPStatus(.error, "NetStream.Publish.BadName", description)
    }

    /// Returns the status for a stream that is not permitted for another reason.
    package static func rejected(_ description: String) -> RTMPStatus {
        RTMPStatus(.error, "NetStream.Publish.Rejected", description)
    }

    /// Returns the status for a command that is not supported.
    static func callFailed(_ description: String) -> RTMPStatus {
        RTMPStatus(.error, "NetConnection.Call.Failed", description)
    }
}
