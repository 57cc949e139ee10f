import PCastCore
import PCastSignaling

/// WebSocket messages to both halves of the conversation. The first byte selects text or binary.
enum SignalingTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let form = bytes.first else { return false }
        let content = Array(bytes.dropFirst())
        let frame =
            form & 1 == 0 ? SignalingFrame.binary(content) : .text(String(decoding: content, as: UTF8.self))
        var isRead = false
        if let request = try? frame.request() {
            isRead = true
            let again = try? SignalingFrame(request, form: frame.form).request()
            try check(again == request, "a request that changed")
        }
        if let response = try? frame.response() {
            isRead = true
            // Times may be NaN and therefore unequal to themselves, but their bytes are equal.
            let written = SignalingFrame(response, form: frame.form)
            let again = (try? written.response()).map { SignalingFrame($0, form: frame.form) }
            try check(again == written, "a response that changed")
        }
        try serve(frame)
        try listen(to: frame)
        return isRead
    }

    private static func serve(_ frame: SignalingFrame) throws(BrokenInvariant) {
        var now = Instant(nanoseconds: 0)
        var conversation = ServerSignalingMachine(at: now)
        var outputs = 0
        for _ in 0..<3 {
            conversation.handle(.received(frame), at: now)
            while let output = conversation.poll() {
                outputs += 1
                guard case .request(let id, let request) = output else { continue }
                conversation.handle(.respond(id, request.response(.ok)), at: now)
            }
            try check(outputs <= 12, "\(outputs) outputs of three messages")
            now += .seconds(1 as Int64)
        }
        conversation.advance(to: now + .seconds(100 as Int64))
        while conversation.poll() != nil {}
        try check(conversation.deadline == nil, "a conversation that outlives silence")
    }

    private static func listen(to frame: SignalingFrame) throws(BrokenInvariant) {
        let now = Instant(nanoseconds: 0)
        var conversation = ClientSignalingMachine(form: frame.form)
        conversation.handle(.connected, at: now)
        var message = PCastBye()
        message.sessionID = "s"
        message.reason = "r"
        _ = conversation.request(.bye(message), at: now)
        conversation.handle(.received(frame), at: now)
        var outputs = 0
        while conversation.poll() != nil { outputs += 1 }
        try check(outputs <= 4, "\(outputs) outputs of one message")
    }

    /// Field 2 is the request's number, field 3 its type, field 5 its payload.
    private static func envelope(_ type: String, _ payload: [UInt8]) -> [UInt8] {
        [0x12, 1, 0x31, 0x1A, UInt8(type.utf8.count)] + Array(type.utf8) + [0x2A, UInt8(payload.count)] + payload
    }

    private static let authenticate: [UInt8] = {
        var message = PCastAuthenticate()
        message.clientVersion = "1"
        message.deviceID = "d"
        message.platform = "Linux"
        message.platformVersion = "6"
        message.authenticationToken = "DIGEST:x"
        var client = ClientSignalingMachine(form: .binary)
        client.handle(.connected, at: Instant(nanoseconds: 0))
        _ = client.request(.authenticate(message), at: Instant(nanoseconds: 0))
        guard case .send(.binary(let bytes))? = client.poll() else { return [] }
        return bytes
    }()

    private static let bye = envelope("pcast.Bye", [0x0A, 1, 0x73, 0x12, 1, 0x72])

    static let corpus: [[UInt8]] = [
        [0] + authenticate, [0] + bye, [1] + Array(Base64.encode(bye).utf8),
        [0] + envelope("pcast.ByeResponse", [0x0A, 2, 0x6F, 0x6B]), [0] + envelope("mq.PingPong", [0x08, 1]),
        [1] + Array(Base64.encode(authenticate).utf8),
        [0] + envelope("chat.JoinRoom", [0x12, 1, 0x61, 0x22, 2, 0x18, 3]),
        [0] + envelope("chat.RoomEvent", [0x12, 1, 0x72, 0x18, 1]),
    ]
}
