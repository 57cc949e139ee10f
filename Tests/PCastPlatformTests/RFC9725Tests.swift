import PCastCore
import PCastWebRTC
import Testing

@testable import PCastPlatform

/// Each MUST of RFC 9725 for a server, by its sentence.
@Suite struct RFC9725Tests {
    private static let trickle = "application/trickle-ice-sdpfrag"
    private static let candidate = "a=candidate:1 1 udp 2130706431 192.0.2.1 50000 typ host\r\n"

    private struct Session {
        let platform: TestPlatform
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

    private static let same =
        "a=ice-ufrag:frag\r\na=ice-pwd:0123456789012345678901\r\nm=audio 9 RTP/AVP 0\r\na=mid:0\r\n"
    private static let fresh = "a=ice-ufrag:n3wOne\r\na=ice-pwd:a-n3w-password-of-24-characters\r\n"

    private func run(_ body: (Session) async throws -> Void) async throws {
        try await TestPlatform.run { platform async throws in
            let offer = OfferText.make([OfferText.audio(), OfferText.video()])
            let created = try await platform.post("/whip", offer)
            let location = try #require(created.header("Location"))
            let tag = try #require(created.header("ETag"))
            try await body(Session(platform: platform, created: created, location: location, tag: tag))
        }
    }

    // MARK: 4.1

    @Test("4.1: endpoints and sessions MUST return a 2xx response with no content when a GET request is received")
    func get() async throws {
        try await run { session async throws in
            let viewer = try await session.platform.post("/whep", OfferText.viewer())
            let watched = try #require(viewer.header("Location"))
            for path in ["/whip", "/whip/", "/whep", "/whep/stream-x", session.location, watched] {
                for method in ["GET", "HEAD"] {
                    let answer = try await session.platform.send(method, path)
                    #expect((200..<300).contains(answer.status) && answer.body.isEmpty, "\(method) \(path)")
                }
            }
            #expect(try await session.platform.send("GET", "/whip/resource/none").status == 404)
            // The requests change nothing.
            #expect(try await session.platform.figure("pcast_streams") == 1)
        }
    }

    @Test("Other methods are 405 with Allow", arguments: ["PUT", "TRACE"])
    func otherMethods(method: String) async throws {
        try await run { session async throws in
            for path in ["/whip", "/whep", "/whep/x", session.location] {
                let answer = try await session.platform.send(method, path)
                #expect(answer.status == 405)
                #expect(answer.header("Allow")?.contains("GET, HEAD") == true)
            }
        }
    }

    // MARK: 4.2

    @Test(
        "4.2: the endpoint MUST return 201 with application/sdp, the answer, and a Location of the session",
        arguments: ["/whip", "/whep"])
    func created(endpoint: String) async throws {
        try await run { session async throws in
            let offer = endpoint == "/whip" ? OfferText.make([OfferText.audio()]) : OfferText.viewer()
            let answer = try await session.platform.post(endpoint, offer)
            #expect(answer.status == 201 && answer.header("Content-Type") == "application/sdp")
            #expect(try !SessionDescription(parsing: answer.body).media.isEmpty)
            let location = try #require(answer.header("Location"))
            #expect(try await session.platform.send("DELETE", location).status == 200)
        }
    }

    @Test(
        "4.2: MUST reject a POST whose content type is not application/sdp, or whose SDP is malformed, with 4xx",
        arguments: [
            ("text/plain", 415), ("application/sdpx", 415), ("application/json; a=application/sdp", 415), ("", 415),
            ("APPLICATION/SDP", 201), ("application/sdp;charset=utf-8", 201), ("application/sdp ; x=\"a;b\"", 201),
            ("\tapplication/sdp\t", 201),
        ])
    func contentTypes(type: String, status: Int) async throws {
        try await TestPlatform.run { platform async throws in
            let offer = OfferText.make([OfferText.audio(), OfferText.video()])
            #expect(try await platform.post("/whip", offer, headers: ["Content-Type": type]).status == status)
            #expect(try await platform.post("/whip", "v=0\r\nm=audio\r\n").status == 400)
        }
    }

    @Test("4.2: the endpoint MUST use the recvonly attribute in the SDP answer", arguments: ["sendonly", "sendrecv"])
    func receiveOnly(direction: String) async throws {
        try await TestPlatform.run { platform async throws in
            let sections = [OfferText.audio(direction: direction), OfferText.video(direction: direction)]
            let answer = try await platform.post("/whip", OfferText.make(sections))
            #expect(
                try SessionDescription(parsing: answer.body).media.map(\.direction) == [.receiveOnly, .receiveOnly])
            for wrong in ["recvonly", "inactive"] {
                let sections = [OfferText.audio(direction: wrong), OfferText.video(direction: wrong)]
                #expect(try await platform.post("/whip", OfferText.make(sections)).status == 400)
            }
        }
    }

    @Test("4.2: endpoints MUST support OPTIONS requests for CORS") func options() async throws {
        try await run { session async throws in
            for path in ["/whip", "/whep", "/whep/x", session.location] {
                let answer = try await session.platform.send("OPTIONS", path, ["Origin": "https://player.example"])
                #expect((200..<300).contains(answer.status) && answer.header("Access-Control-Allow-Origin") == "*")
                let allowed = try #require(answer.header("Allow"))
                #expect(path == session.location ? allowed.contains("PATCH") : allowed.contains("POST"))
                if path != session.location { #expect(answer.header("Accept-Post") == "application/sdp") }
            }
        }
    }

    // MARK: 4.3

    @Test("4.3.1: MUST reject a PATCH of another content type, or whose fragment is malformed, with 4xx")
    func patchTypes() async throws {
        try await run { session async throws in
            #expect(try await session.patch(session.tag, Self.same, type: "application/sdp").status == 415)
            #expect(
                try await session.patch(session.tag, Self.same, type: "Application/Trickle-ICE-sdpfrag; a=b").status
                    == 204)
            #expect(try await session.patch(session.tag, "{}").status == 400)
        }
    }

    @Test("4.3.1: a unique strong entity-tag MUST be returned in the 201") func strongTag() async throws {
        try await run { session async throws in
            let other = try await session.platform.post("/whip", OfferText.make([OfferText.audio()]))
            #expect(session.tag.hasPrefix("\"") && session.tag.hasSuffix("\"") && other.header("ETag") != session.tag)
        }
    }

    @Test(
        "4.3.1: sessions MUST ignore any entity-tag of a DELETE",
        arguments: ["\"another\"", "W/\"x\"", "*", "nonsense"])
    func deleteIgnoresConditions(condition: String) async throws {
        try await run { session async throws in
            let answer = try await session.platform.send("DELETE", session.location, ["If-Match": condition])
            #expect(answer.status == 200)
        }
    }

    @Test(
        "RFC 9110, 13.1.1: If-Match is true when one of its tags matches by strong comparison",
        arguments: [
            ("TAG", 204), ("*", 204), (" TAG ", 204), ("\"another\", TAG", 204), ("TAG,\"another\"", 204),
            ("\"a,b\",,TAG", 204), ("W/\"x\", TAG", 204), ("\"another\"", 412), ("\"another\", \"third\"", 412),
            ("W/TAG", 412), ("W/TAG, \"another\"", 412), ("nonsense", 412), ("\"unfinished", 412), ("TAG\"x\"", 412),
        ])
    func conditions(condition: String, status: Int) async throws {
        try await run { session async throws in
            let condition = condition.replacing("TAG", with: session.tag)
            #expect(try await session.patch(condition, Self.same).status == status)
        }
    }

    @Test("4.3.2: trickled candidates MUST be answered by 204 without a body, and the answer MUST NOT have an ETag")
    func noTag() async throws {
        try await run { session async throws in
            let answer = try await session.patch(session.tag, Self.same + Self.candidate)
            #expect(answer.status == 204 && answer.body.isEmpty && answer.header("ETag") == nil)
        }
    }

    @Test(
        "4.3.2: a candidate that cannot be used MUST silently be discarded",
        arguments: [
            "a=candidate:1 1 TCP 1 fe80::1%eth0 9 typ host tcptype active",
            "a=candidate:2 1 udp 1 turn.example 5 typ relay",
            "a=candidate:3 1 udp 1 5b0a6f5e-0000-4000-8000-000000000001.local 9 typ host", "a=candidate:",
            "a=candidate:x y",
        ])
    func oddCandidates(line: String) async throws {
        try await run { session async throws in
            #expect(try await session.patch(session.tag, Self.same + line + "\r\n" + Self.candidate).status == 204)
        }
    }

    @Test("4.3.3: new credentials MUST be taken as a restart: 200 with a fragment and the new entity-tag")
    func restart() async throws {
        try await run { session async throws in
            let answer = try await session.patch("*", Self.fresh)
            #expect(answer.status == 200 && answer.header("Content-Type") == Self.trickle)
            let tag = try #require(answer.header("ETag"))
            #expect(tag != session.tag)
            let fragment = try TrickleFragment(parsing: answer.body)
            #expect(fragment.iceUfrag != nil && fragment.icePwd != nil && !fragment.candidates.isEmpty)
            #expect(try await session.patch(session.tag, Self.fresh).status == 412)
            #expect(try await session.patch("\"another\", \(tag)", Self.fresh).status == 204)
        }
    }

    @Test("4.3.3: the response MUST include the same ice-options and ice-lite as the answer") func restartOptions()
        async throws
    {
        try await run { session async throws in
            let described = try SessionDescription(parsing: session.created.body)
            let fragment = try TrickleFragment(parsing: try await session.patch("*", Self.fresh).body)
            #expect(fragment.isICELite == described.isICELite && described.isICELite)
            #expect(fragment.iceOptions == described.media[0].iceOptions && !fragment.iceOptions.isEmpty)
        }
    }

    @Test("4.3.3: a restart that cannot be satisfied MUST NOT terminate the session") func failedRestart() async throws
    {
        try await run { session async throws in
            #expect(try await session.patch("*", "a=ice-ufrag:n3wOne\r\na=ice-pwd:short\r\n").status == 400)
            #expect(try await session.patch(session.tag, Self.same).status == 204)
            #expect(try await session.platform.figure("pcast_streams") == 1)
        }
    }

    // MARK: 4.4 to 4.7

    @Test("4.4.1: rtcp-mux-only MUST be in each bundled section") func multiplexing() async throws {
        try await run { session async throws in
            let media = try SessionDescription(parsing: session.created.body).media
            #expect(media.count == 2 && media.allSatisfy { $0.multiplexesRTCP && $0.requiresRTCPMultiplexing })
        }
    }

    @Test("4.4.4: an offer of the DTLS client alone is accepted", arguments: ["active", "passive", "actpass"])
    func setup(role: String) async throws {
        try await TestPlatform.run { platform async throws in
            let offer = OfferText.make([OfferText.audio()]).replacing("setup:actpass", with: "setup:\(role)")
            let answer = try await platform.post("/whip", offer)
            #expect(
                try SessionDescription(parsing: answer.body).media[0].setup == (role == "passive" ? .active : .passive))
        }
    }

    @Test("4.7: the bearer token MUST be supported, as RFC 9110 and RFC 6750 write it")
    func bearer() async throws {
        try await TestPlatform.run(host: "0.0.0.0") { platform async throws in
            let token = try Tokens.publishing()
            let offer = OfferText.make([OfferText.audio()])
            func status(_ authorization: String) async throws -> Int {
                try await platform.post("/whip", offer, headers: ["Authorization": authorization]).status
            }
            for good in ["Bearer \(token)", "bearer \(token)", "BEARER   \(token)", "  Bearer  \(token)  "] {
                #expect(try await status(good) == 201)
            }
            for bad in ["Bearer", "Bearer ", "Bearer\(token)", "Basic \(token)", token, "Bearer \(token) \(token)"] {
                #expect(try await status(bad) == 401)
            }
            let refused = try await platform.post("/whip", offer)
            #expect(refused.status == 401 && refused.header("WWW-Authenticate")?.hasPrefix("Bearer") == true)
        }
    }

    @Test("4.9: each extension MUST be announced in a Link of its own in the 201") func links() async throws {
        try await run { session async throws in
            let viewer = try await session.platform.post("/whep", OfferText.viewer())
            for (answer, count) in [(session.created, 1), (viewer, 2)] {
                let links = answer.headers.filter { $0.name.lowercased() == "link" }.map(\.value)
                #expect(
                    links.count == count
                        && links.allSatisfy { $0.hasPrefix("<") && $0.contains("; rel=\"urn:ietf:params:wh") })
            }
        }
    }

    // MARK: RFC 9110, 10.1.1

    private func head(_ method: String, _ path: String, _ type: String, _ more: [String]) -> [String] {
        ["\(method) \(path) HTTP/1.1", "Host: 127.0.0.1", "Content-Type: \(type)", "Expect: 100-continue"] + more
    }

    @Test(
        "RFC 9110, 10.1.1: 100 (Continue) MUST come at once where the content is wanted, on every route that takes one")
    func expectations() async throws {
        try await run { session async throws in
            let viewer = try await session.platform.post("/whep", OfferText.viewer())
            let watched = try #require(viewer.header("Location"))
            let offer = OfferText.make([OfferText.audio()])
            for (method, path, type, body, status) in [
                ("POST", "/whip", "application/sdp", offer, 201),
                ("POST", "/whep", "application/sdp", OfferText.viewer(), 201),
                ("PATCH", session.location, Self.trickle, Self.same, 204),
                ("POST", watched + "/layer", "application/json", "{}", 200),
            ] {
                let request = try await RawRequest(
                    session.platform, lines: head(method, path, type, ["Content-Length: \(body.utf8.count)"]))
                #expect(try await request.statuses(1) == [100], "\(path)")
                try await request.send(body)
                #expect(try await request.statuses(2) == [100, status], "\(path)")
                try await request.close()
            }
        }
    }

    @Test("RFC 9110, 10.1.1: a final status MUST come at once where the head suffices, and the connection ends")
    func refusedExpectations() async throws {
        try await TestPlatform.run { platform async throws in
            for (lines, status) in [
                (head("POST", "/whip", "application/sdp", ["Authorization: Bearer nobody", "Content-Length: 9"]), 401),
                (head("POST", "/whip", "text/plain", ["Content-Length: 9"]), 415),
                (head("POST", "/whip", "application/sdp", ["Content-Length: 9000000"]), 413),
                (head("POST", "/nowhere", "application/sdp", ["Content-Length: 9"]), 404),
                (head("PUT", "/whip", "application/sdp", ["Content-Length: 9"]), 405),
                (head("PATCH", "/whip/resource/none", Self.trickle, ["Content-Length: 9"]), 404),
            ] {
                let request = try await RawRequest(platform, lines: lines)
                #expect(try await request.statuses(1) == [status])
                #expect(try await eventually { request.isEnded })
                #expect(request.text.lowercased().contains("connection: close"))
            }
        }
    }

    @Test("RFC 9112, 9.3: after a request of HTTP/1.0 without keep-alive the connection MUST be closed")
    func oldVersion() async throws {
        try await TestPlatform.run { platform async throws in
            let offer = OfferText.make([OfferText.audio()])
            let request = try await RawRequest(
                platform,
                lines: [
                    "POST /whip HTTP/1.0", "Host: 127.0.0.1", "Content-Type: application/sdp", "Expect: 100-continue",
                    "Content-Length: \(offer.utf8.count)", "Authorization: Bearer \(try Tokens.publishing())",
                ], body: offer)
            #expect(try await eventually { request.isEnded })
            #expect(try await request.statuses(1) == [201])
        }
    }
}

/// The values of `If-Match`.
@Suite struct EntityTagConditionTests {
    @Test(
        "lists are parsed by RFC 9110",
        arguments: [
            (["*"], EntityTagCondition.any), ([" * "], .any), (["\"a\""], .tags(["\"a\""])),
            (["\"a\" , \"b,c\""], .tags(["\"a\"", "\"b,c\""])), (["\"a\"", "\"b\""], .tags(["\"a\"", "\"b\""])),
            (["W/\"a\", \"b\""], .tags(["\"b\""])), ([",, \"a\" ,,"], .tags(["\"a\""])), ([""], .tags([])),
            (["\"*\""], .tags(["\"*\""])), (["\"\""], .tags(["\"\""])),
        ])
    func lists(fields: [String], condition: EntityTagCondition) {
        #expect(EntityTagCondition(fields) == condition)
    }

    @Test(
        "bad lists are rejected", arguments: ["a", "\"a", "\"a\"b", "w/\"a\"", "W/a", "*, \"a\"", "\"a\" \"b\"", "W/"])
    func nonsense(field: String) { #expect(EntityTagCondition([field]) == nil) }
}
