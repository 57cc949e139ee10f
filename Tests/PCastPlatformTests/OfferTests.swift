import PCastCore
import PCastIO
import PCastPlatform
import PCastWebRTC
import Testing

/// The answers of endpoints to offers.
@Suite struct OfferTests {
    @Test("an unknown stream answers 409", arguments: ["/whep", "/whep/stream-none"])
    func noStream(path: String) async throws {
        try await TestPlatform.run { platform async throws in
            #expect(try await platform.post(path, try Offers.viewer()).status == 409)
            #expect(try await platform.post(path, try Offers.viewer(), token: try Tokens.viewing()).status == 409)
        }
    }

    @Test("an offer without a common codec answers 422") func noCommonCodec() async throws {
        try await TestPlatform.run { platform in
            _ = try await platform.publish()
            let foreign = try Offers.foreignCodecs()
            let viewer = try await platform.post("/whep", foreign, headers: ["Accept": "application/problem+json"])
            #expect(viewer.status == 422)
            #expect(
                try await platform.post("/whip", foreign.replacing("recvonly", with: "sendonly")).status == 422)
            #expect(try await platform.figure("pcast_viewers") == 0)
            #expect(try await platform.figure("pcast_streams") == 1)
        }
    }

    @Test(
        "an offer to receive answers 400 at WHIP, and one to send at WHEP, whatever their codecs",
        arguments: ["/whip", "/whep"])
    func direction(endpoint: String) async throws {
        try await TestPlatform.run { platform in
            _ = try await platform.publish()
            let (sending, receiving) = (try Offers.publisher(), try Offers.viewer())
            let foreign = try Offers.foreignCodecs()
            let wrong =
                endpoint == "/whip"
                ? [receiving, foreign] : [sending, foreign.replacing("recvonly", with: "sendonly")]
            for offer in wrong + [receiving.replacing("recvonly", with: "inactive")] {
                let answer = try await platform.post(endpoint, offer)
                #expect(answer.status == 400)
                #expect(answer.body.contains("recvonly"), "the error states what is expected")
            }
            #expect(try await platform.figure("pcast_viewers") == 0)
            #expect(try await platform.figure("pcast_streams") == 1)
            #expect(try await platform.post(endpoint, endpoint == "/whip" ? sending : receiving).status == 201)
        }
    }

    @Test("a truncated or invalid offer answers 400", arguments: ["/whip", "/whep"])
    func nonsense(endpoint: String) async throws {
        try await TestPlatform.run { platform in
            _ = try await platform.publish()
            let offer = endpoint == "/whip" ? try Offers.publisher() : try Offers.viewer()
            for text in [
                "", "nonsense", "v=0\r\n", String(offer.prefix(40)), "\u{0}\u{1}\u{FFFD}", "v=0\r\nm=video\r\n",
            ] {
                #expect(try await platform.post(endpoint, text).status == 400, "\(text.debugDescription)")
            }
            for attribute in ["ice-ufrag", "fingerprint", "ice-pwd"] {
                let text = offer.replacing("a=\(attribute):", with: "a=x-\(attribute):")
                #expect(try await platform.post(endpoint, text).status == 400, "without \(attribute)")
            }
            #expect(try await platform.post(endpoint, offer).status == 201)
        }
    }

    @Test("an offer beyond 64 KiB answers 413, whatever its padding", arguments: [65_537, 300_000, 5_000_000])
    func tooLarge(size: Int) async throws {
        try await TestPlatform.run { platform in
            let offer = try Offers.publisher()
            let line = "a=x-padding:" + String(repeating: "x", count: size - offer.utf8.count - 14) + "\r\n"
            #expect(try await platform.post("/whip", offer + line).status == 413)
            #expect(try await platform.figure("pcast_streams") == 0)
            #expect(try await platform.post("/whip", offer).status == 201)
        }
    }

    @Test("a full platform answers 503 with Retry-After until a client leaves") func full() async throws {
        try await TestPlatform.run(maximumPeers: 2) { platform in
            _ = try await platform.publish()
            let (_, second) = try await platform.publish()
            for endpoint in ["/whip", "/whep"] {
                let offer = endpoint == "/whip" ? try Offers.publisher() : try Offers.viewer()
                let answer = try await platform.post(endpoint, offer)
                #expect(answer.status == 503)
                #expect(answer.header("Retry-After") == "5")
            }
            try await ProtocolClient.run(platform) { client in
                _ = try await client.authenticate()
                #expect(try await client.ask(try Requests.view()) == .capacity)
            }
            #expect(try await platform.send("DELETE", second).status == 200)
            #expect(try await eventually { try await platform.post("/whep", try Offers.viewer()).status == 201 })
        }
    }

    @Test("every advertised address is a candidate, with UDP before TCP") func advertisedCandidates() async throws {
        try await TestPlatform.run(advertise: ["192.0.2.7", "2001:db8::7"].compactMap { .init($0) }) { platform in
            let answer = try await platform.post("/whip", try Offers.publisher())
            let port = platform.listening.rtcPort
            let candidates = answer.body.split(separator: "\r\n").filter { $0.hasPrefix("a=candidate:") }
                .map { $0.split(separator: " ") }.prefix(4)
            #expect(candidates.map { $0[2].lowercased() } == ["udp", "udp", "tcp", "tcp"])
            #expect(candidates.map { String($0[4]) } == ["192.0.2.7", "2001:db8::7", "192.0.2.7", "2001:db8::7"])
            #expect(candidates.allSatisfy { $0[5] == "\(port)" })
            let priorities = candidates.compactMap { UInt32($0[3]) }
            #expect(priorities[1] > priorities[2])
        }
    }
}

/// Offers as the project's clients create them.
enum Offers {
    private static let certificate = Result { try DTLSCertificate.generate(at: MonotonicClock.wallTime()) }

    static func publisher(video: Codec = .h264, layers: Int = 1) throws -> String {
        try text(.publish(video: video, audio: true, layers: layers))
    }

    static func viewer() throws -> String { try text(.view(video: true, audio: true)) }

    private static func text(_ purpose: PeerConnection.Purpose) throws -> String {
        var generator = SystemRandomNumberGenerator()
        let configuration = PeerConnection.Configuration(
            certificate: try certificate.get(), addresses: [], clock: MonotonicClock.reference(), cname: "test")
        let connection = PeerConnection(purpose, configuration: configuration, using: &generator)
        return connection.offer.text
    }

    /// Returns an offer without a supported codec.
    static func foreignCodecs() throws -> String {
        try viewer()
            .replacing("H264/90000", with: "H266/90000").replacing("H265/90000", with: "H266/90000")
            .replacing("VP8/90000", with: "H266/90000").replacing("VP9/90000", with: "H266/90000")
            .replacing("AV1/90000", with: "H266/90000").replacing("opus/48000/2", with: "L16/48000/2")
    }
}
