import FoundationEssentials
import PCastCore
import PCastSignaling
import PCastWeb
import SwiftProtobuf
import Testing

/// Invalid messages of the protocol.
@Suite struct BrokenMessageTests {
    private func envelope(_ type: String, payload: [UInt8], id: String = "900") -> SignalingFrame {
        var request = MQRequest()
        request.requestID = id
        request.type = type
        request.payload = Data(payload)
        return SignalingFrame(request, form: .binary)
    }

    private func error(_ frame: SignalingFrame?) throws -> String? {
        guard let response = try frame?.response(), response.type == "mq.Error" else { return nil }
        return try MQError(serializedBytes: response.payload).reason
    }

    @Test("unknown types, truncated payloads and reused request IDs are answered with an error") func answeredErrors()
        async throws
    {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                try await client.sendRaw(envelope("pcast.MakeCoffee", payload: []))
                try await client.sendRaw(envelope("pcast.Authenticate", payload: [0x0A, 0x7F, 0x00]))
                #expect(try await eventually { await client.received.count == 2 })
                #expect(try error(await client.received.first) == "unknown type")
                #expect(try error(await client.received.last) == "malformed payload")
                #expect(try await client.authenticate() != nil)
            }
        }
    }

    @Test(
        "invalid messages are ignored until there are too many of them",
        arguments: [
            SignalingFrame.text("this is no base 64!"), .text("AAAA"), .binary([0xFF, 0xFF, 0xFF]), .binary([]),
            .text(""),
        ])
    func garbage(frame: SignalingFrame) async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                for _ in 1..<ServerSignalingMachine.maximumMalformed { try await client.sendRaw(frame) }
                #expect(try await client.authenticate() != nil)
                try await client.sendRaw(frame)
                #expect(try await client.closes())
            }
            #expect(try await platform.send("GET", "/healthz").status == 200)
        }
    }

    @Test("a message beyond the limit closes the connection, and the platform continues") func tooLarge() async throws {
        try await TestPlatform.run { platform in
            try? await ProtocolClient.run(platform) { client in
                #expect(try await client.authenticate() != nil)
                try await client.sendRaw(
                    .binary([UInt8](repeating: 0, count: WebSocketConnection.messageSizeLimit + 1)))
                #expect(try await client.closes())
            }
            try await ProtocolClient.run(platform) { client async throws in
                #expect(try await client.authenticate() != nil)
            }
        }
    }

    @Test("requests beyond the maximum of pending ones are rate-limited, each once") func flood() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                #expect(try await client.authenticate() != nil)
                let count = 300
                for number in 0..<count {
                    try await client.sendRaw(envelope("pcast.UpdateStreamState", payload: state, id: "f\(number)"))
                }
                #expect(try await eventually { await client.received.count == count + 1 })
                let ids = try await client.received.dropFirst().map { try $0.response().requestID }
                #expect(Set(ids).count == count)
                #expect(try await client.ask(try Requests.publish()) == .ok)
            }
        }
    }

    /// `UpdateStreamState` with its four required fields empty.
    private let state: [UInt8] = [0x0A, 0, 0x12, 0, 0x1A, 0, 0x22, 0]
}
