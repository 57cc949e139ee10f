import Foundation
import NIOHTTP1
import PCastCore
import PCastEdgeAuth
import PCastWebRTC
import Testing

@testable import PCastPlatform

/// Each MUST of draft-ietf-wish-whep-04 for a server, by its section.
@Suite struct WHEPDraftTests {
    private static let trickle = "application/trickle-ice-sdpfrag"
    private static let candidate = "a=candidate:1 1 udp 2130706431 192.0.2.1 50000 typ host\r\n"
    private static let same =
        "a=ice-ufrag:frag\r\na=ice-pwd:0123456789012345678901\r\nm=audio 9 RTP/AVP 0\r\na=mid:0\r\n"
    private static let fresh = "a=ice-ufrag:n3wOne\r\na=ice-pwd:a-n3w-password-of-24-characters\r\n"
    /// The offer of a player without the video codec of the stream.
    private static let foreign = OfferText.viewer(video: OfferText.hevc)

    private struct Problem: Decodable {
        let title: String
        let status: Int
        let detail: String
        let protocolStatus: String?
    }

    private struct Session {
        let platform: TestPlatform
        let stream: String
        let created: TestPlatform.Response
        let location: String
        let tag: String

        func patch(_ condition: String?, _ body: String, type: String = trickle) async throws
            -> TestPlatform.Response
        {
            var headers = ["Content-Type": type]
            headers["If-Match"] = condition
            return try await platform.send("PATCH", location, headers, body: body)
        }
    }

    /// Runs `body` with a stream and a player's session, which is created by an offer.
    private func run(
        offer: String = OfferText.viewer(), token: String? = nil, _ body: (Session) async throws -> Void
    ) async throws {
        try await TestPlatform.run { platform async throws in
            let published = try await platform.post("/whip", OfferText.make([OfferText.audio(), OfferText.video()]))
            let stream = try #require(published.header("PCast-Stream-Id"))
            let created = try await platform.post("/whep/\(stream)", offer, token: token)
            let location = try #require(created.header("Location"))
            let tag = try #require(created.header("ETag"))
            try await body(
                Session(platform: platform, stream: stream, created: created, location: location, tag: tag))
        }
    }

    // MARK: 4.1

    @Test("4.1: endpoints and sessions MUST return a 2xx response with no content when a GET request is received")
    func get() async throws {
        try await run { session async throws in
            for path in ["/whep", "/whep/\(session.stream)", session.location] {
                let answer = try await session.platform.send("GET", path)
                #expect((200..<300).contains(answer.status) && answer.body.isEmpty, "\(path)")
            }
            #expect(try await session.platform.figure("pcast_viewers") == 1)
        }
    }

    @Test("4.1: errors have problem reports, with the status of the PCast protocol") func problems() async throws {
        try await run { session async throws in
            let (platform, path) = (session.platform, "/whep/\(session.stream)")
            let restart = try await session.patch(nil, Self.fresh)
            for (answer, status, word) in [
                (try await platform.post(path, "v=0"), 400, "bad-request"),
                (try await platform.post(path, OfferText.viewer(), token: "nonsense"), 401, "unauthorized"),
                (try await platform.post("/whep/none", OfferText.viewer()), 409, "no-stream-playing"),
                (try await platform.post(path, OfferText.viewer(), headers: ["Content-Type": "text/x"]), 415, nil),
                (restart, 428, nil), (try await platform.send("DELETE", "/whep/resource/none"), 404, "gone"),
            ] as [(TestPlatform.Response, Int, String?)] {
                #expect(answer.status == status && answer.header("Content-Type") == "application/problem+json")
                let problem = try JSONDecoder().decode(Problem.self, from: Data(answer.body.utf8))
                #expect(problem.status == status && !problem.title.isEmpty && !problem.detail.isEmpty)
                #expect(problem.protocolStatus == word)
            }
        }
    }

    // MARK: 4.2

    @Test("4.2: HEAD is 200 with the media type of descriptions, and MUST have the header fields of GET and no body")
    func head() async throws {
        try await TestPlatform.run { platform async throws in
            for path in ["/whep", "/whep/stream-x"] {
                var fields: [[String]] = []
                for method in ["GET", "HEAD"] {
                    let answer = try await platform.send(method, path)
                    #expect(answer.status == 200 && answer.header("Content-Type") == "application/sdp")
                    #expect(answer.header("Content-Length") == "0" && answer.header("Accept-Post") == "application/sdp")
                    #expect(answer.body.isEmpty)
                    fields.append(answer.headers.map { $0.name.lowercased() }.sorted())
                }
                #expect(fields[0] == fields[1])
            }
        }
    }

    // MARK: 4.3

    @Test("4.3.1: an accepted offer MUST be answered by 201 with application/sdp and a Location")
    func accepted() async throws {
        try await run { session async throws in
            #expect(session.created.status == 201 && session.created.header("Content-Type") == "application/sdp")
            #expect(try SessionDescription(parsing: session.created.body).media.count == 2)
            #expect(try await session.platform.send("GET", session.location).status == 204)
        }
    }

    @Test("4.3.2: a rejected offer MUST be answered by 406 with a counter-offer, its HTTP-date and a Location")
    func counterOffer() async throws {
        try await run(offer: Self.foreign) { session async throws in
            let answer = session.created
            #expect(answer.status == 406 && answer.header("Accept-Patch") == "application/sdp")
            let type = try #require(answer.header("Content-Type"))
            let parts = type.components(separatedBy: "; valid-until=")
            #expect(parts.count == 2 && parts[0] == "application/sdp")
            #expect(parts[1].hasPrefix("\"") && parts[1].hasSuffix(" GMT\""))
            let formatter = DateFormatter()
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
            let date = try #require(formatter.date(from: String(parts[1].dropFirst().dropLast())))
            #expect(abs(date.timeIntervalSinceNow) < 3_600)

            let offer = try SessionDescription(parsing: answer.body)
            // 4.3.5: inactive and recvonly MUST NOT be used.
            #expect(offer.media.map(\.direction) == [.sendOnly, .sendOnly])
            #expect(offer.media.map { $0.payloadFormats.first?.codec } == [.opus, .h264])
            #expect(offer.media.allSatisfy { $0.setup == .actpass && !$0.candidates.isEmpty })
            #expect(try await session.platform.figure("pcast_viewers") == 1)
        }
    }

    @Test("4.3.2: the answer to a counter-offer MUST get 204, once, and malformed ones MUST be rejected with 4xx")
    func counterOfferAnswered() async throws {
        try await run(offer: Self.foreign) { session async throws in
            let sdp = "application/sdp"
            for malformed in ["", "v=0\r\n", "v=0\r\nm=video\r\n"] {
                #expect(try await session.patch(nil, malformed, type: sdp).status == 400)
            }
            let early = try await session.patch(session.tag, Self.same)
            #expect(early.status == 409, "candidates cannot be trickled before the answer")
            let answer = try PlatformOfferTests.answer(session.created.body, sends: false)
            let sending = answer.replacing("recvonly", with: "sendonly")
            #expect(try await session.patch(nil, sending, type: sdp).status == 400)
            #expect(try await session.patch("\"another\"", answer, type: sdp).status == 412)
            #expect(try await session.patch(session.tag, answer, type: sdp).status == 204)
            #expect(try await session.patch(session.tag, answer, type: sdp).status == 409)
            #expect(try await session.platform.send("GET", session.location).header("Accept-Patch") == Self.trickle)

            // The session is like any other one.
            let media = try SessionDescription(parsing: answer).media[0]
            let (ufrag, password) = (try #require(media.iceUfrag), try #require(media.icePwd))
            let own = "a=ice-ufrag:\(ufrag)\r\na=ice-pwd:\(password)\r\nm=audio 9 RTP/AVP 0\r\na=mid:0\r\n"
            #expect(try await session.patch(session.tag, own + Self.candidate).status == 204)
            #expect(try await session.patch("*", Self.fresh).status == 200)
            #expect(try await session.platform.send("DELETE", session.location).status == 200)
            #expect(try await session.platform.reaches("pcast_viewers", 0))
        }
    }

    @Test("4.3.2: a counter-offer that is not answered in time ends with its session") func expired() async throws {
        let token = try Tokens.make { $0.forStreamingOnly().withCapability("setup-deadline=PT3S") }
        try await run(offer: Self.foreign, token: token) { session async throws in
            #expect(session.created.status == 406)
            #expect(try await eventually { try await session.platform.send("GET", session.location).status == 404 })
            let answer = try PlatformOfferTests.answer(session.created.body, sends: false)
            #expect(try await session.patch(nil, answer, type: "application/sdp").status == 404)
            #expect(try await session.platform.reaches("pcast_viewers", 0))
        }
    }

    @Test("a player may end a session whose counter-offer it cannot answer") func abandoned() async throws {
        try await run(offer: Self.foreign) { session async throws in
            #expect(try await session.platform.send("DELETE", session.location).status == 200)
            #expect(try await session.platform.reaches("pcast_viewers", 0))
        }
    }

    @Test(
        "a player that accepts problem reports gets one instead of a counter-offer",
        arguments: [
            ("application/problem+json", 422), ("application/sdp, Application/Problem+JSON;q=0.5", 422), ("*/*", 406),
            ("application/sdp", 406),
        ])
    func preference(accept: String, status: Int) async throws {
        try await TestPlatform.run { platform async throws in
            let published = try await platform.post("/whip", OfferText.make([OfferText.audio(), OfferText.video()]))
            #expect(published.status == 201)
            #expect(try await platform.post("/whep", Self.foreign, headers: ["Accept": accept]).status == status)
            #expect(try await platform.figure("pcast_viewers") == (status == 406 ? 1 : 0))
        }
    }

    @Test("4.3.4: MUST reject a POST of another content type, or whose SDP is malformed, with 4xx")
    func contentTypes() async throws {
        try await run { session async throws in
            for (type, body, status) in [
                ("text/plain", OfferText.viewer(), 415), ("", OfferText.viewer(), 415),
                ("application/sdp", "v=0\r\nm=audio\r\n", 400), ("application/sdp; x=y", OfferText.viewer(), 201),
            ] {
                let answer = try await session.platform.post("/whep", body, headers: ["Content-Type": type])
                #expect(answer.status == status)
            }
        }
    }

    @Test("4.3.5: the answer MUST be sendonly, and offers that are sendonly or inactive are rejected")
    func directions() async throws {
        try await run { session async throws in
            for direction in ["recvonly", "sendrecv"] {
                let offer = OfferText.viewer().replacing("recvonly", with: direction)
                let answer = try await session.platform.post("/whep", offer)
                #expect(
                    try SessionDescription(parsing: answer.body).media.map(\.direction) == [.sendOnly, .sendOnly])
            }
            for direction in ["sendonly", "inactive"] {
                let offer = OfferText.viewer().replacing("recvonly", with: direction)
                #expect(try await session.platform.post("/whep", offer).status == 400)
            }
        }
    }

    @Test("4.3.8: without a publisher, the response SHALL be 409 with Retry-After", arguments: ["/whep", "/whep/none"])
    func noPublisher(path: String) async throws {
        try await TestPlatform.run { platform async throws in
            for offer in [OfferText.viewer(), Self.foreign] {
                let answer = try await platform.post(path, offer)
                #expect(answer.status == 409 && answer.header("Retry-After").flatMap { Int($0) } ?? 0 > 0)
            }
            let (stream, resource) = try await platform.publish()
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer()).status == 201)
            #expect(try await platform.send("DELETE", resource).status == 200)
            #expect(try await platform.post("/whep/\(stream)", try Offers.viewer()).status == 409)
        }
    }

    // MARK: 4.4

    @Test("4.4: after DELETE, the session is removed and its resources are freed") func termination() async throws {
        try await run { session async throws in
            #expect(try await session.platform.send("DELETE", session.location).status == 200)
            #expect(try await session.platform.reaches("pcast_viewers", 0))
            for path in ["", "/events", "/layer", "/clock"] {
                #expect(try await session.platform.send("GET", session.location + path).status == 404)
            }
        }
    }

    @Test("4.4: endpoints MUST support OPTIONS requests for CORS, with Accept-Post") func options() async throws {
        try await run { session async throws in
            let headers = ["Origin": "https://player.example"]
            for path in ["/whep", "/whep/\(session.stream)"] {
                let answer = try await session.platform.send("OPTIONS", path, headers)
                #expect((200..<300).contains(answer.status) && answer.header("Access-Control-Allow-Origin") == "*")
                #expect(answer.header("Accept-Post") == "application/sdp")
            }
            for (path, method) in [("", "PATCH"), ("/events", "POST"), ("/events/x", "DELETE"), ("/layer", "POST")] {
                let answer = try await session.platform.send("OPTIONS", session.location + path, headers)
                #expect(answer.header("Access-Control-Allow-Methods")?.contains(method) == true, "\(path)")
            }
        }
    }

    // MARK: 4.5

    @Test("4.5.1: MUST reject a PATCH of another content type, or whose fragment is malformed, with 4xx")
    func patchTypes() async throws {
        try await run { session async throws in
            #expect(try await session.patch(session.tag, Self.same, type: "text/plain").status == 415)
            #expect(try await session.patch(session.tag, "{}").status == 400)
            let description = try await session.patch(session.tag, OfferText.viewer(), type: "application/sdp")
            #expect(description.status == 409, "a session without a counter-offer has nothing to answer")
        }
    }

    @Test("4.5.1: a unique strong entity-tag MUST be returned in the 201, and DELETE MUST ignore any")
    func entityTags() async throws {
        try await run { session async throws in
            let other = try await session.platform.post("/whep", OfferText.viewer())
            #expect(session.tag.hasPrefix("\"") && session.tag.hasSuffix("\"") && other.header("ETag") != session.tag)
            let headers = ["If-Match": "\"another\""]
            #expect(try await session.platform.send("DELETE", session.location, headers).status == 200)
        }
    }

    @Test("4.5.2: the answer SHALL contain the full list of candidates") func candidates() async throws {
        try await run { session async throws in
            let first = try #require(try SessionDescription(parsing: session.created.body).media.first)
            #expect(!first.candidates.isEmpty && first.hasEndOfCandidates)
        }
    }

    @Test("4.5.2: new candidates MUST get 204 without ETag, and unusable ones MUST silently be discarded")
    func trickled() async throws {
        try await run { session async throws in
            let odd = "a=candidate:2 1 udp 1 turn.example 5 typ relay\r\n"
            let answer = try await session.patch(session.tag, Self.same + odd + Self.candidate)
            #expect(answer.status == 204 && answer.body.isEmpty && answer.header("ETag") == nil)
            #expect(try await session.patch("\"outdated\"", Self.same + Self.candidate).status == 412)
        }
    }

    @Test("4.5.3: new credentials MUST be a restart: 200, a fragment with the same ice-options, and a new entity-tag")
    func restart() async throws {
        try await run { session async throws in
            let answer = try await session.patch("*", Self.fresh)
            #expect(answer.status == 200 && answer.header("Content-Type") == Self.trickle)
            #expect(try #require(answer.header("ETag")) != session.tag)
            let fragment = try TrickleFragment(parsing: answer.body)
            let described = try SessionDescription(parsing: session.created.body)
            #expect(fragment.iceUfrag != described.media[0].iceUfrag && fragment.icePwd != described.media[0].icePwd)
            #expect(fragment.isICELite == described.isICELite && fragment.iceOptions == described.media[0].iceOptions)
            #expect(!fragment.candidates.isEmpty)
        }
    }

    @Test("4.5.3: a restart that cannot be satisfied MUST NOT terminate the session") func failedRestart() async throws
    {
        try await run { session async throws in
            #expect(try await session.patch("*", "a=ice-ufrag:n3wOne\r\na=ice-pwd:short\r\n").status == 400)
            #expect(try await session.patch(session.tag, Self.same).status == 204)
            #expect(try await session.platform.figure("pcast_viewers") == 1)
        }
    }

    // MARK: 4.6 to 4.10

    @Test(
        "4.6.1, 4.6.2: each section MUST be bundled, with rtcp-mux-only and the msid of a single MediaStream",
        arguments: [OfferText.viewer(), foreign])
    func constraints(offer: String) async throws {
        try await run(offer: offer) { session async throws in
            let description = try SessionDescription(parsing: session.created.body)
            let media = description.media
            #expect(description.bundle == media.map { $0.mid ?? "" } && media.count == 2)
            #expect(media.allSatisfy { $0.multiplexesRTCP && $0.requiresRTCPMultiplexing })
            let streams = media.map(\.msid?.stream)
            #expect(streams[0] != nil && Set(streams).count == 1)
            #expect(Set(media.map(\.kind)) == [.audio, .video])
        }
    }

    @Test("4.7: statuses 301 and 302 MUST NOT be used") func redirections() async throws {
        try await run { session async throws in
            for path in ["/whep", "/whep/", "/whep/\(session.stream)", "/whep/\(session.stream)/"] {
                let status = try await session.platform.post(path, OfferText.viewer()).status
                #expect(!(300..<400).contains(status), "\(path)")
            }
        }
    }

    @Test("4.9: bearer token authentication MUST be supported") func bearer() async throws {
        try await TestPlatform.run(host: "0.0.0.0") { platform async throws in
            _ = try await platform.publish(token: try Tokens.publishing())
            let viewing = try Tokens.viewing()
            #expect(try await platform.post("/whep", OfferText.viewer(), token: viewing).status == 201)
            let refused = try await platform.post("/whep", OfferText.viewer())
            #expect(refused.status == 401 && refused.header("WWW-Authenticate")?.hasPrefix("Bearer") == true)
        }
    }

    @Test(
        "4.10: each extension MUST be announced in a Link of its own, also with a counter-offer",
        arguments: [OfferText.viewer(), foreign])
    func links(offer: String) async throws {
        try await run(offer: offer) { session async throws in
            let links = session.created.headers["Link"]
            for (name, path) in [("layer", "layer"), ("server-sent-events", "events")] {
                let start = "<\(session.location)/\(path)>; rel=\"urn:ietf:params:whep:ext:core:\(name)\""
                #expect(links.filter { $0.hasPrefix(start) }.count == 1)
            }
        }
    }
}
