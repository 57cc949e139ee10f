import PCastCore

extension RTMPServerSession {
    /// The capability of a codec that the server announces: it can be forwarded (`FourCcInfoMask`).
    private static let canForward = AMF0Value.number(4)

    /// Processes a command.
    ///
    /// - Throws: `RTMPError` if the command is malformed or not permitted before `connect`. A malformed command of a
    ///   publisher is ignored, because its stream is worth more.
    mutating func handle(command message: RTMPMessage, hasFormat: Bool, at now: Instant) throws(RTMPError) {
        let command: RTMPCommand
        do throws(AMF0Error) {
            command = try RTMPCommand(message.payload, hasFormat: hasFormat)
        } catch {
            guard isPublishing else { throw .malformedCommand(error) }
            counters.ignoredMessages += 1
            return
        }
        if phase == .connecting {
            guard command.name == "connect" else { throw .unexpectedCommand(Self.shortened(command.name)) }
            return connect(command)
        }
        switch command.name {
        case "connect": throw .unexpectedCommand(command.name)
        case "releaseStream", "_checkbw": respond(to: command, [.null, .undefined])
        case "getStreamLength": respond(to: command, [.null, .number(0)])
        case "FCPublish":
            send(RTMPCommand("onFCPublish", [.null, .object(RTMPStatus.publishing.object)]), stream: 0)
            respond(to: command, [.null, .undefined])
        case "createStream": createStream(command)
        case "publish": publish(command, stream: message.streamID)
        case "FCUnpublish":
            send(RTMPCommand("onFCUnpublish", [.null, .object(RTMPStatus.unpublished.object)]), stream: 0)
            respond(to: command, [.null, .undefined])
            unpublish(at: now)
        case "closeStream": unpublish(at: now)
        case "deleteStream":
            if command.argument(1)?.count.map({ UInt32(exactly: $0) == publishedStream }) ?? true { unpublish(at: now) }
        case "play": send(.cannotPlay, stream: message.streamID)
        case "_result", "_error", "onStatus": break
        default: reject(command)
        }
    }

    private static func shortened(_ name: String) -> String { String(name.unicodeScalars.prefix(32)) }

    /// Sends a result, unless the client expects none.
    private mutating func respond(to command: RTMPCommand, _ arguments: [AMF0Value]) {
        guard command.transaction != 0 else { return }
        send(RTMPCommand("_result", transaction: command.transaction, arguments), stream: 0)
    }

    private mutating func reject(_ command: RTMPCommand) {
        counters.ignoredMessages += 1
        guard command.transaction != 0 else { return }
        let name = Self.shortened(command.name)
        let status = RTMPStatus.callFailed("The command \(name) is not supported; publish without it.")
        send(RTMPCommand("_error", transaction: command.transaction, [.null, .object(status.object)]), stream: 0)
    }

    // MARK: Connecting

    private mutating func connect(_ command: RTMPCommand) {
        let information = RTMPClientInformation(command.argument(0)?.object ?? AMF0Object())
        client = information
        phase = .connected
        sendTransportSettings()
        var properties: AMF0Object = ["fmsVer": .string("FMS/3,0,1,123"), "capabilities": .number(31)]
        var status = RTMPStatus.connected.object
        status.properties.append(.init(name: "objectEncoding", value: .number(0)))
        // Clients look for the properties of Enhanced RTMP in either object.
        if information.isEnhanced {
            properties.properties += enhancedProperties.properties
            status.properties += enhancedProperties.properties
        }
        send(
            RTMPCommand("_result", transaction: command.transaction, [.object(properties), .object(status)]),
            stream: 0)
        emit(.connected(information))
    }

    /// The codecs and capabilities of the server (Enhanced RTMP v2, "Enhancing NetConnection connect Command").
    private var enhancedProperties: AMF0Object {
        [
            "fourCcList": .strictArray(
                (configuration.videoCodecs + configuration.audioCodecs).map { .string($0.description) }),
            "videoFourCcInfoMap": .object(Self.map(configuration.videoCodecs)),
            "audioFourCcInfoMap": .object(Self.map(configuration.audioCodecs)),
            "capsEx": .number(Double(RTMPClientInformation.Capabilities.all.rawValue)),
        ]
    }

    private static func map(_ codecs: [FourCC]) -> AMF0Object {
        AMF0Object(codecs.map { .init(name: $0.description, value: canForward) })
    }

    // MARK: Streams

    private mutating func createStream(_ command: RTMPCommand) {
        guard streamCount < Self.maximumStreamCount else { return reject(command) }
        streamCount += 1
        respond(to: command, [.null, .number(Double(streamCount))])
    }

    private mutating func publish(_ command: RTMPCommand, stream: UInt32) {
        guard !isPublishing else {
            return send(.badName("A connection publishes one stream; use another connection."), stream: stream)
        }
        // The name follows the null of the command object.
        let name = command.arguments.lazy.compactMap(\.string).first ?? ""
        guard let address = RTMPPublishAddress(application: client?.application ?? "", name: name) else {
            send(
                .badName("The stream name is too long; use at most \(RTMPPublishAddress.maximumSize) bytes."),
                stream: stream)
            return close(nil)
        }
        phase = .deciding(messageStream: stream)
        emit(.publishRequested(address))
    }

    /// Ends the published stream at the client's request.
    private mutating func unpublish(at now: Instant) {
        guard let stream = publishedStream else { return }
        send(.unpublished, stream: stream)
        endStream()
        restartSetup(at: now)
    }
}
