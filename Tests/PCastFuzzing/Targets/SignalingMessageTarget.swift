import FoundationEssentials
import PCastCore
import PCastSignaling

/// The messages of the PCast protocol and of rooms, as the platform and a client receive them. The first byte selects
/// the message: a request, the response to it, or a notification. The rest is its payload.
enum SignalingMessageTarget {
    private static let now = Instant(nanoseconds: 0)

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let choice = bytes.first.map({ Int($0) % (2 * requests.count + events.count) }) else { return false }
        let payload = Data(bytes.dropFirst())
        switch choice {
        case ..<requests.count: return try request(requests[choice], payload)
        case ..<(2 * requests.count): return try response(to: requests[choice - requests.count], payload)
        default: return try event(events[choice - 2 * requests.count].typeName, payload)
        }
    }

    /// A client sends a request, which the platform refuses.
    private static func request(_ example: SignalingRequest, _ payload: Data) throws(BrokenInvariant) -> Bool {
        var envelope = MQRequest()
        (envelope.requestID, envelope.type, envelope.payload) = ("7", example.typeName, payload)
        var server = server(for: example)
        server.handle(.received(SignalingFrame(envelope, form: .binary)), at: now)
        guard case .request(_, let request)? = server.poll() else { return false }
        try check(request.typeName == example.typeName, "\(request) in place of \(example)")
        if case .sendCaptions(let message) = request { try captions(message.cues) }
        for status in [RequestStatus.ok, .rateLimited] {
            let (again, response) = try exchange(request, request.response(status))
            try check(again == request, "a request that changed: \(request)")
            try check(response.status == status, "\(response.status) in place of \(status)")
        }
        return true
    }

    /// The platform sends a response.
    private static func response(
        to example: SignalingRequest, _ payload: Data
    ) throws(BrokenInvariant) -> Bool {
        var client = ClientSignalingMachine(form: .binary)
        client.handle(.connected, at: now)
        _ = client.request(example, at: now)
        _ = client.poll()
        var envelope = MQResponse()
        (envelope.requestID, envelope.type, envelope.payload) = ("1", example.typeName + "Response", payload)
        client.handle(.received(SignalingFrame(envelope, form: .binary)), at: now)
        guard case .answered(_, let result)? = client.poll() else {
            throw BrokenInvariant(description: "a request without a result")
        }
        guard case .success(let response) = result else { return false }
        _ = (response.status, response.statusText)
        if case .setupStream(let message) = response {
            try check((message.refusalReason?.utf8.count ?? 0) <= payload.count, "a reason out of nothing")
        }
        let (_, again) = try exchange(example, response)
        try check(again == response, "a response that changed: \(response.typeName)")
        return true
    }

    /// The platform sends a notification.
    private static func event(_ type: String, _ payload: Data) throws(BrokenInvariant) -> Bool {
        var envelope = MQResponse()
        (envelope.messageType, envelope.requestID, envelope.type) = (.event, "", type)
        envelope.payload = payload
        guard let event = receive(SignalingFrame(envelope, form: .binary)) else { return false }
        if case .streamCaptions(let message) = event { try captions(message.cues) }
        var server = ServerSignalingMachine(at: now)
        server.handle(.event(event), at: now)
        guard case .send(let frame)? = server.poll() else {
            throw BrokenInvariant(description: "a notification that is not sent: \(event.typeName)")
        }
        try check(receive(frame) == event, "a notification that changed: \(event.typeName)")
        return true
    }

    private static func receive(_ frame: SignalingFrame) -> SignalingEvent? {
        var client = ClientSignalingMachine(form: frame.form)
        client.handle(.connected, at: now)
        client.handle(.received(frame), at: now)
        guard case .event(let event)? = client.poll() else { return nil }
        return event
    }

    /// Sends a request and its response, as a client and the platform do. Returns what arrives.
    private static func exchange(
        _ request: SignalingRequest, _ response: SignalingResponse
    ) throws(BrokenInvariant) -> (SignalingRequest, SignalingResponse) {
        var client = ClientSignalingMachine(form: .text)
        var server = server(for: request)
        client.handle(.connected, at: now)
        _ = client.request(request, at: now)
        guard case .send(let sent)? = client.poll() else {
            throw BrokenInvariant(description: "a request that is not sent: \(request)")
        }
        server.handle(.received(sent), at: now)
        guard case .request(let id, let received)? = server.poll() else {
            throw BrokenInvariant(description: "a request that does not arrive: \(request)")
        }
        server.handle(.respond(id, response), at: now)
        guard case .send(let answer)? = server.poll() else {
            throw BrokenInvariant(description: "a response that is not sent: \(response.typeName)")
        }
        client.handle(.received(answer), at: now)
        guard case .answered(_, .success(let arrived))? = client.poll() else {
            throw BrokenInvariant(description: "a response that does not arrive: \(response.typeName)")
        }
        return (received, arrived)
    }

    /// Returns a platform that accepts the request: its client has authenticated, unless the request does so.
    private static func server(for request: SignalingRequest) -> ServerSignalingMachine {
        var server = ServerSignalingMachine(at: now)
        if case .authenticate = request { return server }
        var client = ClientSignalingMachine(form: .binary)
        client.handle(.connected, at: now)
        _ = client.request(requests[0], at: now)
        if case .send(let frame)? = client.poll() { server.handle(.received(frame), at: now) }
        if case .request(let id, let request)? = server.poll() {
            server.handle(.respond(id, request.response(.ok)), at: now)
        }
        while server.poll() != nil {}
        return server
    }

    private static func captions(_ messages: [PCastCaptionCue]) throws(BrokenInvariant) {
        for message in messages {
            guard let cue = CaptionCue(message) else { continue }
            try check(cue.duration >= .zero, "a caption of a negative duration")
            try check(PCastCaptionCue(cue).captureTime == message.captureTime, "a caption at another time")
            _ = cue.problem
        }
    }

    static let corpus: [[UInt8]] = {
        var all: [[UInt8]] = []
        for (index, request) in requests.enumerated() {
            all.append([UInt8(index)] + payload(of: request))
            all.append([UInt8(requests.count + index)] + responsePayload(of: request))
        }
        for (index, event) in events.enumerated() {
            all.append([UInt8(2 * requests.count + index)] + payload(of: event))
        }
        return all
    }()

    private static func payload(of request: SignalingRequest) -> [UInt8] {
        var client = ClientSignalingMachine(form: .binary)
        client.handle(.connected, at: now)
        _ = client.request(request, at: now)
        guard case .send(let frame)? = client.poll(), let envelope = try? frame.request() else { return [] }
        return Array(envelope.payload)
    }

    private static func responsePayload(of request: SignalingRequest) -> [UInt8] {
        var server = server(for: request)
        var envelope = MQRequest()
        (envelope.requestID, envelope.type, envelope.payload) = ("7", request.typeName, Data(payload(of: request)))
        server.handle(.received(SignalingFrame(envelope, form: .binary)), at: now)
        guard case .request(let id, let received)? = server.poll() else { return [] }
        server.handle(.respond(id, received.response(.ok)), at: now)
        guard case .send(let frame)? = server.poll(), let response = try? frame.response() else { return [] }
        return Array(response.payload)
    }

    private static func payload(of event: SignalingEvent) -> [UInt8] {
        var server = ServerSignalingMachine(at: now)
        server.handle(.event(event), at: now)
        guard case .send(let frame)? = server.poll(), let envelope = try? frame.response() else { return [] }
        return Array(envelope.payload)
    }
}

// Examples of all messages, with their required fields.
extension SignalingMessageTarget {
    private static func changed<Message>(_ message: Message, _ body: (inout Message) -> Void) -> Message {
        var message = message
        body(&message)
        return message
    }

    private static let description = changed(PCastSessionDescription()) {
        ($0.type, $0.sdp) = (.answer, "v=0\r\n")
    }

    private static let cue = changed(PCastCaptionCue()) {
        ($0.captureTime, $0.duration, $0.text) = (1_790_000_000_000, 2_000, "Hello")
    }

    private static let member = changed(ChatMember()) {
        ($0.sessionID, $0.screenName, $0.role, $0.state, $0.lastUpdate) = ("s", "A", .presenter, .active, 3)
        var stream = ChatStream()
        (stream.type, stream.uri) = (.user, "pcast://x")
        (stream.audioState, stream.videoState) = (.trackEnabled, .trackEnded)
        $0.streams = [stream]
    }

    private static let room = changed(ChatRoom()) {
        ($0.roomID, $0.alias, $0.name, $0.description_p, $0.type) = ("r", "a", "n", "d", .channel)
    }

    private static let message = changed(ChatChatMessage()) {
        ($0.messageID, $0.timestamp, $0.message) = ("1", 1_790_000_000_000, "Hello")
        $0.from.screenName = "A"
    }

    /// The first one is `Authenticate`.
    private static let requests: [SignalingRequest] = [
        .authenticate(
            changed(PCastAuthenticate()) {
                ($0.clientVersion, $0.deviceID, $0.platform, $0.platformVersion) = ("1", "d", "Linux", "6")
                $0.authenticationToken = "DIGEST:x"
            }),
        .bye(changed(PCastBye()) { ($0.sessionID, $0.reason) = ("s", "r") }),
        .setupStream(
            changed(PCastSetupStream()) {
                $0.streamToken = "DIGEST:x"
                ($0.createStream.sessionID, $0.createStream.options) = ("s", ["streaming"])
                $0.createStream.setRemoteDescription.streamID = ""
                $0.createStream.setRemoteDescription.sessionDescription = description
            }),
        .setupPlaylistStream(changed(PCastSetupPlaylistStream()) { ($0.sessionID, $0.streamToken) = ("s", "t") }),
        .setLocalDescription(
            changed(PCastSetLocalDescription()) { ($0.streamID, $0.sessionDescription) = ("x", description) }),
        .setRemoteDescription(
            changed(PCastSetRemoteDescription()) { ($0.streamID, $0.sessionDescription) = ("x", description) }),
        .createOfferDescription(changed(PCastCreateOfferDescription()) { ($0.streamID, $0.apiVersion) = ("x", 1) }),
        .createAnswerDescription(changed(PCastCreateAnswerDescription()) { ($0.streamID, $0.options) = ("x", ["a"]) }),
        .addIceCandidates(
            changed(PCastAddIceCandidates()) {
                $0.streamID = "x"
                var candidate = PCastIceCandidate()
                (candidate.candidate, candidate.sdpMlineIndex, candidate.sdpMid) = ("candidate:1", 0, "0")
                $0.candidates = [candidate]
            }),
        .updateStreamState(
            changed(PCastUpdateStreamState()) {
                ($0.streamID, $0.signalingState, $0.iceGatheringState) = ("x", "Stable", "Complete")
                $0.iceConnectionState = "Connected"
            }),
        .destroyStream(changed(PCastDestroyStream()) { ($0.streamID, $0.reason) = ("x", "ended") }),
        .sendCaptions(
            changed(PCastSendCaptions()) { ($0.streamID, $0.timestamp, $0.cues) = ("x", 1_790_000_000_000, [cue]) }),
        .joinRoom(changed(ChatJoinRoom()) { ($0.alias, $0.member, $0.timestamp) = ("a", member, 1) }),
        .updateMember(
            changed(ChatUpdateMember()) {
                ($0.roomID, $0.member.screenName, $0.member.updateStreams) = ("r", "B", true)
                $0.member.streams = member.streams
            }),
        .leaveRoom(changed(ChatLeaveRoom()) { ($0.roomID, $0.sessionID) = ("r", "s") }),
        .createRoom(changed(ChatCreateRoom()) { $0.room = room }),
        .getRoomInfo(changed(ChatGetRoomInfo()) { ($0.roomID, $0.options) = ("r", ["a"]) }),
        .updateRoom(changed(ChatUpdateRoom()) { ($0.room, $0.timestamp) = (room, 1) }),
        .sendMessageToRoom(changed(ChatSendMessageToRoom()) { ($0.roomID, $0.chatMessage) = ("r", message) }),
        .fetchRoomConversation(
            changed(ChatFetchRoomConversation()) { ($0.roomID, $0.limit, $0.options) = ("r", 10, [.subscribe]) }),
    ]

    private static let events: [SignalingEvent] = [
        .streamEnded(changed(PCastStreamEnded()) { ($0.sessionID, $0.streamID, $0.reason) = ("s", "x", "ended") }),
        .streamIdle(changed(PCastStreamIdle()) { ($0.sessionID, $0.streamID) = ("s", "x") }),
        .streamDataQuality(
            changed(PCastStreamDataQuality()) {
                ($0.sessionID, $0.streamID, $0.timestamp) = ("s", "x", 1_790_000_000_000)
                ($0.status, $0.reason) = (.audioOnly, .networkLimited)
            }),
        .streamCaptions(
            changed(PCastStreamCaptions()) {
                ($0.sessionID, $0.streamID, $0.timestamp, $0.cues) = ("s", "x", 1_790_000_000_000, [cue])
            }),
        .room(
            changed(ChatRoomEvent()) {
                ($0.roomID, $0.eventType, $0.members, $0.timestamp) = ("r", .memberJoined, [member], 1)
            }),
        .roomConversation(
            changed(ChatRoomConversationEvent()) {
                ($0.roomID, $0.eventType, $0.chatMessages) = ("r", .message, [message])
            }),
        .connectionDisconnected(
            changed(PCastConnectionDisconnected()) { ($0.connectionID, $0.reasonCode) = ("c", 1_001) }),
    ]
}
