import PCastCore
import PCastEdgeAuth
import PCastPlatform
import PCastSignaling
import Testing

/// Clients that resume or take over a stream on a platform without further capacity.
@Suite struct GoingOnTests {
    private static func request(
        _ token: String, _ options: [String], origin: String? = nil, offer: String
    ) -> SignalingRequest {
        guard case .setupStream(var message) = Requests.setUp(token, offer: offer, origin: origin) else {
            preconditionFailure("it is a request for a stream")
        }
        message.createStream.options = options
        return .setupStream(message)
    }

    @Test("resuming a stream or a subscription uses no second place") func places() async throws {
        let configure: (inout PlatformConfiguration) -> Void = {
            $0.limits[.streams] = 1
            $0.limits[.viewers] = 1
            // The bandwidth suffices for one stream.
            $0.limits[.bitrate] = 100_000
        }
        try await TestPlatform.runConfigured(configure: configure) { platform in
            try await ProtocolClient.run(platform) { client in
                _ = try #require(try await client.authenticate())
                let stream = try #require(try await client.setUp(try Requests.publish()))
                let view = try #require(try await client.setUp(try Requests.view(origin: stream)))
                for _ in 0..<3 {
                    let again = Self.request("", ["resume-stream=\(stream)"], offer: try Offers.publisher())
                    #expect(try await client.setUp(again) == stream)
                    let watching = Self.request(
                        "", ["resume-stream=\(view)"], origin: stream, offer: try Offers.viewer())
                    #expect(try await client.setUp(watching) == view)
                }
                #expect(try await client.ask(try Requests.publish()) == .capacity)
                #expect(try await client.ask(try Requests.view(origin: stream)) == .capacity)
                #expect(try await client.ask(Requests.destroy(stream, reason: "ended")) == .ok)
                #expect(try await eventually { try await client.ask(try Requests.publish()) == .ok })
            }
        }
    }

    @Test("a client that resumes nothing starts a stream, with one place and one join") func nothing() async throws {
        let configure: (inout PlatformConfiguration) -> Void = { $0.limits[.streams] = 1 }
        try await TestPlatform.runConfigured(configure: configure) { platform in
            try await ProtocolClient.run(platform) { client in
                _ = try #require(try await client.authenticate())
                let request = Self.request("", ["resume"], offer: try Offers.publisher())
                let stream = try #require(try await client.setUp(request))
                // Its own session resumes it, which does not count as another stream.
                #expect(try await client.setUp(request) == stream)
                #expect(try await platform.figure("pcast_streams") == 1)
            }
        }
    }

    @Test("without remaining bandwidth, a resumed stream waits for some") func bitrate() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client in
                _ = try #require(try await client.authenticate())
                let stream = try #require(try await client.setUp(try Requests.publish()))
                var configuration = platform.configuration
                configuration.limits[.bitrate] = 1_000
                _ = try await platform.platform.apply(configuration)
                let again = Self.request("", ["resume-stream=\(stream)"], offer: try Offers.publisher())
                #expect(try await client.ask(again) == .capacity)
                #expect(try await platform.figure("pcast_streams_reconnecting") == 1)
                configuration.limits[.bitrate] = 0
                _ = try await platform.platform.apply(configuration)
                #expect(try await client.setUp(again) == stream)
            }
        }
    }
}
