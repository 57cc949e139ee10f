import Foundation
import PCastCore
import PCastRTMP
import PCastWebRTC
import Testing

@testable import PCastPlatform

/// Declared streams of a real platform.
@Suite("Named streams", .timeLimit(.minutes(5)))
struct NamedStreamTests {
    private struct List: Decodable {
        struct Name: Decodable {
            struct Publisher: Decodable {
                let streamId: String
                let role: String
                let isSelected: Bool
            }
            struct Switch: Decodable { let reason: String }

            let name: String
            let streamId: String?
            let state: String
            let viewers: Int
            let publishers: [Publisher]
            let lastSwitch: Switch?
            let failure: String?
        }

        let names: [Name]
    }

    private func run(
        _ declarations: [StreamDeclaration], _ change: (inout PlatformConfiguration) -> Void = { _ in },
        _ body: (TestPlatform, _ port: Int) async throws -> Void
    ) async throws {
        let declared = try StreamDeclarations(declarations)
        try await TestPlatform.runConfigured { configuration in
            configuration.rtmp.port = 0
            configuration.streams = declared
            change(&configuration)
        } _: { platform in
            try await body(platform, try #require(platform.listening.rtmp.port))
        }
    }

    private static func declaration(
        _ name: String, _ change: (inout StreamDeclaration) -> Void = { _ in }
    ) -> StreamDeclaration {
        var declaration = StreamDeclaration(name: name)
        change(&declaration)
        return declaration
    }

    private func name(_ name: String, _ platform: TestPlatform) async throws -> List.Name? {
        let body = try await platform.ask("GET", "/pcast/names").body
        return try JSONDecoder().decode(List.self, from: Data(body.utf8)).names.first { $0.name == name }
    }

    /// Returns whether the state of a name becomes a word.
    private func becomes(_ state: String, _ wanted: String, _ platform: TestPlatform) async throws -> Bool {
        try await eventually { try await name(wanted, platform)?.state == state }
    }

    /// Publishes frames until the connection is closed.
    private func publish(_ key: String, to port: Int) async throws -> RTMPEncoder {
        let encoder = try await RTMPEncoder.publish(key, to: port)
        #expect(try await encoder.receives("NetStream.Publish.Start"))
        try await encoder.sendConfiguration()
        Task {
            var time: UInt32 = 0
            while !encoder.isClosed {
                try await encoder.sendFrame(isKeyFrame: time % 1_000 == 0, timestamp: time)
                time += 50
                try await ContinuousClock().sleep(for: .milliseconds(50))
            }
        }
        return encoder
    }

    private static func token(_ name: String) throws -> String {
        try Tokens.make { $0.forPublishingOnly().applyTag("name:\(name)") }
    }

    @Test("a viewer of a name keeps the session while its RTMP publisher leaves and another one comes")
    func publishers() async throws {
        try await run([Self.declaration("show")]) { platform, port in
            // Nobody publishes, and nothing can be expected.
            #expect(try await platform.post("/whep/show", Offers.viewer()).status == 409)
            let first = try await publish(try Self.token("show"), to: port)
            #expect(try await becomes("live", "show", platform))
            let viewing = try await platform.post("/whep/show", Offers.viewer())
            #expect(viewing.status == 201)
            let session = try #require(viewing.header("Location"))
            let stream = try #require(try await name("show", platform)?.streamId)
            #expect(try await eventually { try await name("show", platform)?.viewers == 1 })
            try await first.close()
            #expect(try await becomes("missing", "show", platform))
            // The media of a delayed publisher is missing before the publisher has left.
            #expect(try await eventually { try await name("show", platform)?.publishers.isEmpty == true })
            #expect(try await platform.send("GET", session).status == 204)
            let second = try await publish(try Self.token("show"), to: port)
            #expect(try await becomes("live", "show", platform))
            #expect(try await platform.send("GET", session).status == 204)
            let state = try #require(try await name("show", platform))
            #expect(state.streamId == stream)
            #expect(state.lastSwitch?.reason == "left")
            #expect(state.publishers.map(\.isSelected) == [true])
            // The publisher itself is not what a viewer without a name receives.
            let newest = try await platform.post("/whep", Offers.viewer())
            #expect(newest.status == 201)
            #expect(try await eventually { try await name("show", platform)?.viewers == 2 })
            try await second.close()
        }
    }

    @Test("a viewer of a name keeps the session, and has video, when a publisher with another codec comes")
    func codecs() async throws {
        try await run([Self.declaration("show")]) { platform, port in
            let first = try await publish(try Self.token("show"), to: port)
            #expect(try await becomes("live", "show", platform))
            let viewer = try FramePeer.viewer()
            let session = try await viewer.view("show", at: platform)
            #expect(try await eventually { viewer.isConnected })
            let stream = try #require(try await name("show", platform)?.streamId)
            #expect(
                try await eventually {
                    try await platform.ask("GET", "/pcast/stream/\(stream)").body.contains(#""codecs":["H264""#)
                })
            let publisher = try FramePeer(.publish(video: .vp8, audio: true))
            _ = try await publisher.publish(to: platform, token: try Self.token("show"))
            #expect(
                try await eventually {
                    try await publisher.sendFrames()
                    return viewer.videoNumbers.count >= 20
                })
            #expect(try await eventually { first.isClosed })
            #expect(try await platform.send("GET", session).status == 204)
            #expect(try await name("show", platform)?.streamId == stream)
            #expect(
                try await eventually {
                    try await platform.ask("GET", "/pcast/stream/\(stream)").body.contains(#""codecs":["VP8""#)
                })
        }
    }

    @Test("a new publisher replaces the former one, and with a standby it waits until an operator switches")
    func replacement() async throws {
        try await run([Self.declaration("show"), Self.declaration("pair") { $0.hasStandby = true }]) {
            platform, port in
            let first = try await publish(try Self.token("show"), to: port)
            #expect(try await becomes("live", "show", platform))
            let second = try await publish(try Self.token("show"), to: port)
            #expect(try await eventually { first.isClosed })
            #expect(try await eventually { try await name("show", platform)?.publishers.count == 1 })
            #expect(!second.isClosed)

            let one = try await publish(try Self.token("pair"), to: port)
            #expect(try await becomes("live", "pair", platform))
            #expect(try await platform.ask("POST", "/pcast/name/pair/switch").status == 409)
            let two = try await publish(
                try Tokens.make { $0.forPublishingOnly().applyTag("name:pair").applyTag("b") }, to: port)
            #expect(try await eventually { try await name("pair", platform)?.publishers.count == 2 })
            #expect(!one.isClosed && !two.isClosed)
        }
    }

    @Test("only a token with the tag of a name publishes to it, and WHIP names it in the path")
    func whip() async throws {
        try await run([Self.declaration("show"), Self.declaration("cam-*")]) { platform, _ in
            let offer = try Offers.publisher()
            #expect(try await platform.post("/whip/other", offer).status == 404)
            #expect(try await platform.post("/whip/show", offer, token: try Tokens.publishing()).status == 401)
            #expect(try await platform.post("/whip/show", offer, token: try Self.token("other")).status == 401)
            #expect(try await platform.post("/whip/show", offer, token: try Self.token("show")).status == 201)
            #expect(try await platform.post("/whip/show", offer).status == 201)
            #expect(try await platform.post("/whip/cam-1", offer).status == 201)
            #expect(try await eventually { try await name("show", platform)?.publishers.count == 2 })
            #expect(try await eventually { try await name("cam-1", platform)?.publishers.count == 1 })
            // The stream has no media yet.
            #expect(try await name("show", platform)?.state == "waiting")
        }
    }

    @Test("a token for viewing a name is valid for it only")
    func viewingToken() async throws {
        try await run([Self.declaration("show"), Self.declaration("other")]) { platform, port in
            let encoder = try await publish(try Self.token("show"), to: port)
            #expect(try await becomes("live", "show", platform))
            let token = try Tokens.make { $0.forStreamingOnly().forOriginStream("show") }
            #expect(try await platform.post("/whep/show", Offers.viewer(), token: token).status == 201)
            let wrong = try Tokens.make { $0.forStreamingOnly().forOriginStream("other") }
            #expect(try await platform.post("/whep/show", Offers.viewer(), token: wrong).status == 401)
            try await encoder.close()
        }
    }

    @Test("the management API declares, changes and removes streams, and rejects mistakes")
    func management() async throws {
        try await run([Self.declaration("fixed")]) { platform, port in
            let created = try await platform.ask("PUT", "/pcast/name/show", #"{"fallback":"fixed"}"#)
            #expect(created.status == 200)
            #expect(try await name("show", platform)?.state == "idle")
            for body in [
                #"{"fallback":""}"#, #"{"slate":"\n"}"#, #"{"source":"gopher://x"}"#, #"{"closeAfter":-1}"#, "[]",
            ] {
                #expect(try await platform.ask("PUT", "/pcast/name/show", body).status == 400, "\(body)")
            }
            for body in [#"{"fallback":"none"}"#, #"{"fallback":"show"}"#, #"{"onDemand":true}"#] {
                #expect(try await platform.ask("PUT", "/pcast/name/show", body).status == 409, "\(body)")
            }
            // The stream is the fallback of another one.
            #expect(try await platform.ask("PUT", "/pcast/name/base", "{}").status == 200)
            #expect(try await platform.ask("PUT", "/pcast/name/show", #"{"fallback":"base"}"#).status == 200)
            #expect(try await platform.ask("DELETE", "/pcast/name/base").status == 400)
            #expect(try await platform.ask("DELETE", "/pcast/name/show").status == 200)
            #expect(try await platform.ask("DELETE", "/pcast/name/show").status == 404)
            // Declarations of the configuration are changed there.
            #expect(try await platform.ask("DELETE", "/pcast/name/fixed").status == 404)

            let encoder = try await publish(try Self.token("fixed"), to: port)
            #expect(try await becomes("live", "fixed", platform))
            #expect(try await platform.ask("POST", "/pcast/name/fixed/off").status == 200)
            #expect(try await becomes("off", "fixed", platform))
            #expect(try await eventually { encoder.isClosed })
            let rejected = try await RTMPEncoder.publish(try Self.token("fixed"), to: port)
            #expect(try await rejected.receives("is switched off"))
            #expect(try await platform.ask("POST", "/pcast/name/fixed/on").status == 200)
            #expect(try await becomes("idle", "fixed", platform))
            #expect(try await platform.ask("POST", "/pcast/name/fixed/none").status == 404)
        }
    }

    @Test("declarations of the management API outlast the platform, and those that do not fit are not used")
    func restart() async throws {
        try await withTemporaryDirectory { directory in
            let keeping: @Sendable (inout PlatformConfiguration) -> Void = { configuration in
                configuration.storage.directory = directory
            }
            try await run([Self.declaration("fixed")], keeping) { platform, _ async throws in
                let body = #"{"fallback":"fixed","slate":"Soon","standby":true,"closeAfter":2.5}"#
                #expect(try await platform.ask("PUT", "/pcast/name/show", body).status == 200)
                #expect(try await platform.ask("PUT", "/pcast/name/other", "{}").status == 200)
                #expect(try await platform.ask("PUT", "/pcast/name/removed", "{}").status == 200)
                #expect(try await platform.ask("DELETE", "/pcast/name/removed").status == 200)
            }
            // Its fallback is missing.
            try await run([], keeping) { platform, _ async throws in
                #expect(try await name("show", platform) == nil)
                #expect(try await name("other", platform)?.state == "idle")
                #expect(try await name("removed", platform) == nil)
                #expect(try await platform.ask("DELETE", "/pcast/name/other").status == 200)
            }
            try await run([Self.declaration("fixed")], keeping) { platform, _ async throws in
                #expect(try await name("other", platform) == nil)
                let answer = try await platform.ask("GET", "/pcast/name/show")
                #expect(answer.status == 200)
                #expect(answer.body.contains(#""standby":true"#))
                #expect(try await platform.ask("DELETE", "/pcast/name/show").status == 200)
            }
        }
    }

    @Test("backends receive the events of a name in order")
    func notifications() async throws {
        struct Event: Decodable {
            struct Content: Decodable {
                let name: String?
                let streamId: String?
                let publisherId: String?
                let reason: String?
            }
            let entity: String
            let what: String
            let data: Content
        }
        try await Backend.run { backend, backendPort in
            try await run([Self.declaration("show") { $0.closeAfter = .seconds(5) }]) { configuration in
                configuration.storage.webhookAllowedNetworks = [IPNetwork("127.0.0.0/8")].compactMap(\.self)
            } _: { platform, port in
                let registered = try await platform.ask(
                    "PUT", "/pcast/application/first/callback",
                    #"{"callback":{"host":"127.0.0.1","port":\#(backendPort),"path":"/hook"}}"#)
                #expect(registered.status == 200)
                let encoder = try await publish(try Self.token("show"), to: port)
                #expect(try await becomes("live", "show", platform))
                let stream = try #require(try await name("show", platform)?.streamId)
                let publisher = try #require(try await name("show", platform)?.publishers.first?.streamId)
                try await encoder.close()
                #expect(try await becomes("idle", "show", platform))
                let received = {
                    backend.received.compactMap { try? JSONDecoder().decode(Event.self, from: Data($0.body)) }
                        .filter { $0.entity == "name" }
                }
                #expect(try await eventually { received().count == 3 })
                let events = received()
                #expect(events.map(\.what) == ["ready", "switched", "ended"])
                #expect(events.map(\.data.name) == ["show", "show", "show"])
                #expect(events.map(\.data.streamId) == [stream, stream, stream])
                #expect(events.map(\.data.publisherId) == [nil, publisher, nil])
                #expect(events.map(\.data.reason) == [nil, "began", nil])
            }
        }
    }

    @Test("a changed configuration ends removed streams, and keeps the others")
    func reload() async throws {
        try await run([Self.declaration("kept"), Self.declaration("removed")]) { platform, port in
            let kept = try await publish(try Self.token("kept"), to: port)
            let removed = try await publish(try Self.token("removed"), to: port)
            #expect(try await becomes("live", "kept", platform))
            #expect(try await becomes("live", "removed", platform))
            var configuration = platform.configuration
            configuration.streams = try StreamDeclarations([Self.declaration("kept"), Self.declaration("added")])
            let changes = try await platform.platform.apply(configuration)
            #expect(changes.applied == [.streams])
            #expect(try await eventually { removed.isClosed })
            #expect(!kept.isClosed)
            #expect(try await name("kept", platform)?.state == "live")
            #expect(try await name("removed", platform) == nil)
            #expect(try await name("added", platform)?.state == "idle")
        }
    }

    @Test("a source that cannot be opened is reported, and viewers are asked to retry")
    func failingSource() async throws {
        let declaration = Self.declaration("camera") {
            $0.source = "rtsp://127.0.0.1:9/none"
            $0.isOnDemand = true
        }
        try await run([declaration]) { configuration in
            // Private addresses are rejected before a process starts.
            configuration.jobs = JobConfiguration(program: "/bin/false", arguments: [])
        } _: { platform, _ in
            #expect(try await name("camera", platform)?.state == "idle")
            let answer = try await platform.post("/whep/camera", Offers.viewer())
            #expect(answer.status == 409)
            #expect(answer.header("Retry-After") != nil)
            #expect(try await eventually { try await name("camera", platform)?.failure != nil })
        }
    }
}
