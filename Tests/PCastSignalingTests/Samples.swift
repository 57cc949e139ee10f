import FoundationEssentials
import PCastCore
import PCastSignaling

/// Messages of the tests, and their encoding.
enum Samples {
    static func authenticate(token: String = "DIGEST:x") -> SignalingRequest {
        var message = PCastAuthenticate()
        message.clientVersion = "1"
        message.deviceID = "d"
        message.platform = "Linux"
        message.platformVersion = "6"
        message.authenticationToken = token
        return .authenticate(message)
    }

    static func authenticated(_ status: RequestStatus, sessionID: String = "s") -> SignalingResponse {
        var message = PCastAuthenticateResponse()
        message.status = status.wire
        if status == .ok { message.sessionID = sessionID }
        return .authenticate(message)
    }

    static func setupStream(sessionID: String = "") -> SignalingRequest {
        var message = PCastSetupStream()
        message.streamToken = "DIGEST:y"
        message.createStream = PCastCreateStream()
        message.createStream.sessionID = sessionID
        message.createStream.originStreamID = "o"
        return .setupStream(message)
    }

    static let bye: SignalingRequest = {
        var message = PCastBye()
        message.sessionID = "s"
        message.reason = "r"
        return .bye(message)
    }()

    static let streamEnded: SignalingEvent = {
        var message = PCastStreamEnded()
        message.sessionID = "s"
        message.streamID = "o"
        message.reason = "ended"
        return .streamEnded(message)
    }()

    /// `pcast.Bye {sessionId: "s", reason: "r"}` as request 1: field 2 "1", field 3 its type, field 5 its bytes.
    static let byeEnvelope: [UInt8] =
        [0x12, 1, 0x31, 0x1A, 9] + Array("pcast.Bye".utf8) + [0x2A, 6, 0x0A, 1, 0x73, 0x12, 1, 0x72]

    /// `pcast.ByeResponse {status: "ok"}` to request 1.
    static let byeResponseEnvelope: [UInt8] =
        [0x12, 1, 0x31, 0x1A, 17] + Array("pcast.ByeResponse".utf8) + [0x2A, 4, 0x0A, 2, 0x6F, 0x6B]

    static func request(_ type: String, id: String = "1", payload: [UInt8] = []) -> SignalingFrame {
        var envelope = MQRequest()
        envelope.requestID = id
        envelope.type = type
        envelope.payload = Data(payload)
        return SignalingFrame(envelope, form: .text)
    }

    static func response(_ type: String, id: String = "1", payload: [UInt8] = []) -> SignalingFrame {
        var envelope = MQResponse()
        envelope.requestID = id
        envelope.messageType = .response
        envelope.type = type
        envelope.payload = Data(payload)
        return SignalingFrame(envelope, form: .text)
    }
}

extension Machine where Self: Copyable {
    /// Returns all pending outputs.
    mutating func pollAll() -> [Output] {
        var outputs: [Output] = []
        while let output = poll() { outputs.append(output) }
        return outputs
    }
}

/// A small generator with a reproducible sequence (Knuth's MMIX).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state ^ state >> 29) &* 0x9E37_79B9_7F4A_7C15
    }
}

/// Returns the time this many milliseconds after the beginning of a test.
func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: 0) + .milliseconds(milliseconds) }
