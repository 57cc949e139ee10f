import PCastCore
import PCastRTMP
import Testing

func at(_ seconds: Double) -> Instant { Instant(nanoseconds: 0) + TimeSpan(seconds: seconds) }

/// A publisher that writes bytes for a server session and reads its responses.
struct RTMPTestClient {
    /// The version and the first packet, and the second packet of a client.
    static let handshake: [UInt8] =
        [3] + (0..<1_536).map { UInt8(truncatingIfNeeded: $0) } + [UInt8](repeating: 7, count: 1_536)
    /// The size of the server's handshake in bytes.
    static let serverHandshakeSize = 1 + 2 * 1_536

    var session: RTMPServerSession
    var now = at(0)
    private var reader = RTMPChunkReader()
    private var output: [UInt8] = []
    private var transaction = 0.0
    /// The events of the session so far.
    private(set) var events: [RTMPServerEvent] = []
    /// The messages of the server so far.
    private(set) var messages: [RTMPMessage] = []

    init(_ configuration: RTMPServerConfiguration = RTMPServerConfiguration()) {
        session = RTMPServerSession(configuration: configuration, seed: 1, at: at(0))
    }

    /// Returns a client that has completed the handshake and sent `connect`.
    static func connected(
        _ configuration: RTMPServerConfiguration = RTMPServerConfiguration(), _ properties: AMF0Object = [:]
    ) throws -> RTMPTestClient {
        var client = RTMPTestClient(configuration)
        try client.send(handshake)
        try client.connect(properties)
        return client
    }

    /// Returns a client that publishes on the message stream 1.
    static func publishing(
        _ configuration: RTMPServerConfiguration = RTMPServerConfiguration(), _ properties: AMF0Object = [:]
    ) throws -> RTMPTestClient {
        var client = try connected(configuration, properties)
        try client.publish()
        client.session.acceptPublishing(at: client.now)
        try client.collect()
        return client
    }

    // MARK: Sending

    mutating func send(_ bytes: [UInt8]) throws {
        session.receive(bytes.span, at: now)
        try collect()
    }

    mutating func send(_ message: RTMPMessage, chunkStream: UInt8 = 4) throws {
        var bytes: [UInt8] = []
        RTMPChunkWriter().write(message, chunkStream: chunkStream, into: &bytes)
        try send(bytes)
    }

    /// Sends a command with the next number. Returns the number.
    @discardableResult
    mutating func call(_ name: String, _ arguments: [AMF0Value], stream: UInt32 = 0) throws -> Double {
        transaction += 1
        let command = RTMPCommand(name, transaction: transaction, arguments)
        try send(RTMPMessage(type: .command, streamID: stream, payload: command.payload), chunkStream: 3)
        return transaction
    }

    @discardableResult
    mutating func connect(_ properties: AMF0Object = [:]) throws -> Double {
        var object: AMF0Object = [
            "app": .string("ingest"), "flashVer": .string("test"), "tcUrl": .string("rtmp://localhost/ingest"),
        ]
        object.properties += properties.properties
        return try call("connect", [.object(object)])
    }

    mutating func publish(_ name: String = "key") throws {
        try call("createStream", [.null])
        try call("publish", [.null, .string(name), .string("live")], stream: 1)
    }

    mutating func sendMedia(_ type: RTMPMessageType, _ payload: [UInt8], timestamp: UInt32 = 0) throws {
        try send(RTMPMessage(type: type, streamID: 1, timestamp: timestamp, payload: payload))
    }

    // MARK: Receiving

    mutating func collect() throws {
        while let event = session.poll() { events.append(event) }
        output += session.takeOutput()
        guard output.count >= Self.serverHandshakeSize else { return }
        var position = readSize == 0 ? Self.serverHandshakeSize : readSize
        let bytes = output
        while let message = try reader.next(bytes.span, from: &position) { messages.append(message) }
        readSize = position
    }

    private var readSize = 0

    /// The commands of the server so far.
    var commands: [RTMPCommand] {
        get throws {
            try messages.filter { $0.type == .command }.map { message in try RTMPCommand(message.payload) }
        }
    }

    /// Returns the response to a command with a number.
    func response(_ transaction: Double) throws -> RTMPCommand? {
        try commands.first { $0.transaction == transaction && ["_result", "_error"].contains($0.name) }
    }

    /// Returns the codes of the statuses so far.
    func statusCodes() throws -> [String] {
        try commands.filter { $0.name == "onStatus" }.compactMap { $0.arguments.last?.object?["code"]?.string }
    }

    var accessUnits: [RTMPAccessUnit] {
        events.compactMap {
            if case .accessUnit(let unit) = $0 { unit } else { nil }
        }
    }

    var warnings: [RTMPWarning] {
        events.compactMap {
            if case .warning(let warning) = $0 { warning } else { nil }
        }
    }

    /// The error with which the session closed the connection; nil if it did not.
    var error: RTMPError? {
        if case .closed(let error)? = events.last { return error }
        return nil
    }
}

/// Media messages.
enum Media {
    /// A sequence parameter set of 64x48 and a picture parameter set, in an AVCDecoderConfigurationRecord.
    static let sequenceSet: [UInt8] = [0x67, 0x42, 0xC0, 0x1F, 0xDA, 0x02, 0x80]
    static let pictureSet: [UInt8] = [0x68, 0xCE, 0x3C, 0x80]
    static let record: [UInt8] =
        [1, 0x42, 0xC0, 0x1F, 0xFF, 0xE1, 0, 7] + sequenceSet + [1, 0, 4] + pictureSet
    static let parameterSets: [UInt8] = [0, 0, 0, 1] + sequenceSet + [0, 0, 0, 1] + pictureSet

    static let idr: [UInt8] = [0x65, 0x88, 0x84, 1, 2, 3]
    static let slice: [UInt8] = [0x41, 0x9A, 1, 2]
    static let delimiter: [UInt8] = [9, 0x10]

    static func units(_ units: [[UInt8]]) -> [UInt8] {
        units.flatMap { [0, 0, UInt8($0.count >> 8), UInt8($0.count & 255)] + $0 }
    }

    static func annexB(_ units: [[UInt8]]) -> [UInt8] { units.flatMap { [0, 0, 0, 1] + $0 } }

    static let h264Configuration: [UInt8] = [0x17, 0, 0, 0, 0] + record
    static let aacConfiguration: [UInt8] = [0xAF, 0, 0x11, 0x90]

    static func h264(_ nalUnits: [[UInt8]], isKeyFrame: Bool, offset: Int = 0) -> [UInt8] {
        [isKeyFrame ? 0x17 : 0x27, 1]
            + [16, 8, 0].map { UInt8(truncatingIfNeeded: offset >> $0) } + units(nalUnits)
    }

    static func aac(_ data: [UInt8]) -> [UInt8] { [0xAF, 1] + data }
}
