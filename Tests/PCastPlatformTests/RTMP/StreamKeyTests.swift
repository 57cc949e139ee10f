import Foundation
import PCastCore
import PCastDatabase
import Synchronization
import Testing

@testable import PCastPlatform

/// Stream keys by REST, and encoders that use them.
@Suite("Stream keys", .timeLimit(.minutes(5)))
struct StreamKeyTests {
    private struct Key: Decodable {
        let name: String
        let streamKey: String?
        let tags: [String]
        let capabilities: [String]
        let rotated: Int64?
    }

    private struct One: Decodable { let key: Key }
    private struct All: Decodable { let keys: [Key] }

    private func one(_ answer: TestPlatform.Response) throws -> Key {
        try #require(answer.status == 200, "\(answer.body)")
        return try JSONDecoder().decode(One.self, from: Data(answer.body.utf8)).key
    }

    private func run(_ body: (TestPlatform, _ port: Int) async throws -> Void) async throws {
        try await TestPlatform.runConfigured { configuration in
            configuration.rtmp.port = 0
        } _: { platform in
            try await body(platform, try #require(platform.listening.rtmp.port))
        }
    }

    private func publish(_ key: String, to platform: TestPlatform, _ port: Int) async throws -> RTMPEncoder {
        let encoder = try await RTMPEncoder.publish(key, to: port)
        #expect(try await encoder.receives("NetStream.Publish.Start"))
        try await encoder.sendConfiguration()
        try await encoder.sendFrame(isKeyFrame: true, timestamp: 0)
        #expect(try await platform.reaches("pcast_streams", 1))
        return encoder
    }

    @Test("a key is created, changed, listed without its secret, rotated and revoked")
    func life() async throws {
        try await run { platform, _ in
            let made = try one(
                try await platform.ask("PUT", "/pcast/key/studio-1", #"{"tags":["a"],"capabilities":["streaming"]}"#))
            let secret = try #require(made.streamKey)
            #expect(secret.hasPrefix("key-") && secret.count == 30)
            #expect(made.tags == ["a"] && made.capabilities == ["streaming"] && made.rotated == nil)
            let changed = try one(try await platform.ask("PUT", "/pcast/key/studio-1", #"{"tags":["b"]}"#))
            #expect(changed.streamKey == secret && changed.tags == ["b"] && changed.capabilities.isEmpty)
            #expect(try one(try await platform.ask("GET", "/pcast/key/studio-1")).streamKey == secret)
            let list = try await platform.ask("GET", "/pcast/keys")
            #expect(!list.body.contains(secret))
            #expect(try JSONDecoder().decode(All.self, from: Data(list.body.utf8)).keys.map(\.name) == ["studio-1"])
            let rotated = try one(try await platform.ask("POST", "/pcast/key/studio-1/rotation"))
            #expect(rotated.streamKey != secret && rotated.tags == ["b"] && rotated.rotated != nil)
            #expect(try await platform.ask("DELETE", "/pcast/key/studio-1").status == 200)
            #expect(try await platform.ask("DELETE", "/pcast/key/studio-1").status == 404)
            #expect(try await platform.ask("POST", "/pcast/key/studio-1/rotation").status == 404)
            #expect(try await platform.ask("GET", "/pcast/key/studio-1").status == 404)
        }
    }

    @Test("a key has limits, which its publishers may not exceed")
    func limits() async throws {
        try await run { platform, port in
            let answer = try await platform.ask(
                "PUT", "/pcast/key/small", #"{"limits":{"bitrate":2000000,"width":32,"connections":2}}"#)
            let secret = try #require(try one(answer).streamKey)
            #expect(answer.body.contains(#""bitrate":2000000"#))
            let list = try await platform.ask("GET", "/pcast/keys")
            #expect(list.body.contains(#""connections":2"#))
            // The encoder's video is wider.
            let encoder = try await RTMPEncoder.publish(secret, to: port)
            #expect(try await encoder.receives("NetStream.Publish.Start"))
            try await encoder.sendConfiguration()
            #expect(try await encoder.receives("the stream key permits at most 32 wide"))
            #expect(try await eventually { encoder.isClosed })

            _ = try one(try await platform.ask("PUT", "/pcast/key/small", #"{"limits":{"connections":2}}"#))
            let first = try await publish(secret, to: platform, port)
            // The rejected encoder may use the key for a moment after its connection was closed.
            let accepted = Mutex<RTMPEncoder?>(nil)
            #expect(
                try await eventually {
                    let next = try await RTMPEncoder.publish(secret, to: port)
                    accepted.withLock { $0 = next }
                    return try await next.isAccepted()
                })
            let second = try #require(accepted.withLock { $0 })
            let third = try await RTMPEncoder.publish(secret, to: port)
            #expect(try await third.receives("NetStream.Publish.BadName"))
            try await first.close()
            try await second.close()
        }
    }

    @Test(
        "invalid keys are rejected",
        arguments: [
            ("/pcast/key/a%20b", "{}"), ("/pcast/key/a", #"{"tags":[""]}"#),
            ("/pcast/key/a", #"{"capabilities":[""]}"#),
            ("/pcast/key/a", "[]"), ("/pcast/key/a", #"{"limits":{"bitrate":1}}"#),
            ("/pcast/key/a", #"{"limits":{"connections":0}}"#),
        ])
    func invalid(path: String, body: String) async throws {
        try await run { (platform, _) async throws in
            #expect(try await platform.ask("PUT", path, body).status == 400)
            #expect(try await platform.send("PUT", path, body: body).status == 401)
        }
    }

    @Test("an encoder publishes with a key, and its stream has the key's tags and capabilities")
    func publish() async throws {
        try await run { platform, port in
            let body = #"{"tags":["studio"],"capabilities":["streaming"]}"#
            let key = try one(try await platform.ask("PUT", "/pcast/key/a", body))
            let encoder = try await publish(try #require(key.streamKey), to: platform, port)
            #expect(await platform.platform.streams().first?.tags == ["studio"])
            #expect(try await platform.reaches("pcast_hls_streams", 1))
            // Another publisher with the key is rejected while this one sends.
            let second = try await RTMPEncoder.publish(try #require(key.streamKey), to: port)
            var timestamp: UInt32 = 0
            #expect(
                try await eventually {
                    timestamp += 20
                    try await encoder.sendFrame(isKeyFrame: false, timestamp: timestamp)
                    return second.hasReceived("Another publisher uses this stream key")
                })
        }
    }

    @Test("a revoked or rotated key ends its stream, and is then rejected like a wrong one", arguments: [true, false])
    func revoke(isRotated: Bool) async throws {
        try await run { platform, port in
            let key = try #require(try one(try await platform.ask("PUT", "/pcast/key/a", "{}")).streamKey)
            let encoder = try await publish(key, to: platform, port)
            let answer =
                isRotated
                ? try await platform.ask("POST", "/pcast/key/a/rotation")
                : try await platform.ask("DELETE", "/pcast/key/a")
            #expect(answer.status == 200)
            #expect(try await encoder.receives("The platform has ended the stream: stream key revoked."))
            #expect(try await platform.reaches("pcast_streams", 0))
            let former = try await RTMPEncoder.publish(key, to: port)
            #expect(try await former.receives("The stream key is not valid: get a new one."))
            guard isRotated else { return }
            let new = try #require(try one(answer).streamKey)
            _ = try await publish(new, to: platform, port)
        }
    }

    @Test("the keys of another application are separate, and those of a removed application are rejected")
    func applications() async throws {
        try await run { platform, port in
            let key = try #require(try one(try await platform.ask("PUT", "/pcast/key/a", "{}")).streamKey)
            let other = TestPlatform.otherApplication
            let credentials = Base64.encode(Array("\(other.id):\(other.secret)".utf8))
            let header = ["Authorization": "Basic \(credentials)"]
            #expect(try await platform.send("GET", "/pcast/key/a", header).status == 404)
            #expect(try await platform.send("DELETE", "/pcast/key/a", header).status == 404)
            var configuration = platform.configuration
            configuration.applications = [other]
            _ = try await platform.platform.apply(configuration)
            let encoder = try await RTMPEncoder.publish(key, to: port)
            #expect(try await encoder.receives("NetStream.Publish.BadName"))
        }
    }
}
