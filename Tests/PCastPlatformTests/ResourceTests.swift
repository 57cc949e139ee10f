import PCastCore
import PCastIO
import PCastWebRTC
import Testing

/// WHIP and WHEP resources (RFC 9725, section 4).
@Suite struct ResourceTests {
    private static let trickle = "application/trickle-ice-sdpfrag"

    private func fragment(_ credentials: (ufrag: String, pwd: String)) -> String {
        "a=ice-ufrag:\(credentials.ufrag)\r\na=ice-pwd:\(credentials.pwd)\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\n"
            + "a=mid:0\r\na=candidate:1 1 udp 2130706431 192.0.2.1 50000 typ host\r\n"
    }

    private func credentials(_ offer: String) throws -> (ufrag: String, pwd: String) {
        let media = try #require(try SessionDescription(parsing: offer).media.first)
        return (try #require(media.iceUfrag), try #require(media.icePwd))
    }

    private let fresh = (ufrag: "n3wOne", pwd: "a-n3w-password-of-24-characters")

    @Test(
        "Location is a path that resolves against the endpoint, and DELETE works there", arguments: ["/whip", "/whep"])
    func locationHeader(endpoint: String) async throws {
        try await TestPlatform.run { platform in
            _ = try await platform.publish()
            let offer = endpoint == "/whip" ? try Offers.publisher() : try Offers.viewer()
            let answer = try await platform.post(endpoint, offer)
            #expect(answer.status == 201)
            #expect(answer.header("Content-Type") == "application/sdp")
            #expect(answer.headers.contains { $0.name == "Location" })
            let location = try #require(answer.header("Location"))
            #expect(location.hasPrefix(endpoint + "/resource/"))
            #expect(try SessionDescription(parsing: answer.body).media.count == 2)
            #expect(try await platform.send("DELETE", location).status == 200)
        }
    }

    @Test("without ICE servers there is no Link header for one") func noLinkHeaderWithoutICEServers() async throws {
        try await TestPlatform.run { platform in
            let answer = try await platform.post("/whip", try Offers.publisher())
            #expect(answer.status == 201)
            #expect(!answer.headers.contains { $0.name == "Link" && $0.value.contains("ice-server") })
            #expect(answer.header("Accept-Patch") == Self.trickle)
            #expect(answer.header("Cache-Control") == "no-store")
        }
    }

    @Test("trickle answers 204 unless If-Match is wrong, and then 412") func trickleConditions() async throws {
        try await TestPlatform.run { platform in
            let offer = try Offers.publisher()
            let answer = try await platform.post("/whip", offer)
            let location = try #require(answer.header("Location"))
            let tag = try #require(answer.header("ETag"))
            #expect(tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.count > 8)
            let body = fragment(try credentials(offer))
            func patch(_ condition: String?) async throws -> Int {
                var headers = ["Content-Type": Self.trickle]
                headers["If-Match"] = condition
                return try await platform.send("PATCH", location, headers, body: body).status
            }
            #expect(try await patch(tag) == 204)
            #expect(try await patch(nil) == 204)
            #expect(try await patch("\"another\"") == 412)
            #expect(try await patch("W/" + tag) == 412)
        }
    }

    @Test(
        "an ICE restart requires If-Match: * and answers 200 with new credentials", arguments: ["*", "\"*\""])
    func iceRestartConditions(star: String) async throws {
        try await TestPlatform.run { platform in
            let offer = try Offers.publisher()
            let answer = try await platform.post("/whip", offer)
            let location = try #require(answer.header("Location"))
            let tag = try #require(answer.header("ETag"))
            let old = try #require(try SessionDescription(parsing: answer.body).media.first?.iceUfrag)
            func patch(
                _ condition: String?, _ credentials: (ufrag: String, pwd: String)
            ) async throws -> TestPlatform.Response {
                var headers = ["Content-Type": Self.trickle]
                headers["If-Match"] = condition
                return try await platform.send("PATCH", location, headers, body: fragment(credentials))
            }
            #expect(try await patch(nil, fresh).status == 428)
            #expect(try await patch(tag, fresh).status == 412)
            let restarted = try await patch(star, fresh)
            #expect(restarted.status == 200)
            #expect(restarted.header("Content-Type") == Self.trickle)
            let newTag = try #require(restarted.header("ETag"))
            #expect(newTag != tag)
            let ours = try TrickleFragment(parsing: restarted.body)
            #expect(ours.iceUfrag != nil && ours.iceUfrag != old && ours.icePwd != nil)
            #expect(ours.candidates.filter { $0.contains(" 127.0.0.1 ") }.count == 2, "one by UDP, one by TCP")
            // Now the condition is required, and the old tag is invalid.
            #expect(try await patch(newTag, fresh).status == 204)
            #expect(try await patch(tag, fresh).status == 412)
            #expect(try await patch(nil, fresh).status == 428)
        }
    }

    @Test(
        "a restart without a password, or with a short one, answers 400",
        arguments: [
            "a=ice-ufrag:n3wOne\r\n", "a=ice-ufrag:n3wOne\r\na=ice-pwd:short\r\n", "nonsense", "a=ice-ufrag:x\r\n",
        ])
    func brokenFragments(body: String) async throws {
        try await TestPlatform.run { platform in
            let (_, location) = try await platform.publish()
            let answer = try await platform.send(
                "PATCH", location, ["Content-Type": Self.trickle, "If-Match": "*"], body: body)
            #expect(answer.status == 400)
        }
    }

    @Test("DELETE answers an empty 200, and later requests answer 404") func deleteThenNotFound() async throws {
        try await TestPlatform.run { platform in
            let (_, location) = try await platform.publish()
            let first = try await platform.send("DELETE", location)
            #expect(first.status == 200)
            #expect(first.body.isEmpty)
            #expect(try await platform.send("DELETE", location).status == 404)
            #expect(
                try await platform.send("PATCH", location, ["Content-Type": Self.trickle], body: "a=mid:0\r\n").status
                    == 404)
            #expect(try await platform.reaches("pcast_streams", 0))
        }
    }

    @Test("of two simultaneous DELETE requests, one answers 200 and one 404") func simultaneousDeletes() async throws {
        try await TestPlatform.run { platform in
            let (_, location) = try await platform.publish()
            async let one = platform.send("DELETE", location).status
            async let other = platform.send("DELETE", location).status
            let statuses = try await [one, other].sorted()
            #expect(statuses == [200, 404])
        }
    }

    @Test("unsupported methods answer 405 with Allow", arguments: ["PUT", "POST", "TRACE"])
    func unsupportedMethods(method: String) async throws {
        try await TestPlatform.run { platform in
            let (_, location) = try await platform.publish()
            let resource = try await platform.send(method, location)
            #expect(resource.status == 405)
            #expect(resource.header("Allow") == "GET, HEAD, PATCH, DELETE, OPTIONS")
            for path in ["/whip", "/whep", "/whep/some-stream"] where method != "POST" {
                let endpoint = try await platform.send(method, path)
                #expect(endpoint.status == 405)
                #expect(endpoint.header("Allow") == "GET, HEAD, POST, OPTIONS")
            }
        }
    }

    @Test(
        "a response to HEAD has no body, which would be read as the next response",
        arguments: [
            ("/whip", 204), ("/whep/stream-x", 200), ("/nowhere", 404), ("/whip/a/b/c", 404), ("/", 200),
            ("/healthz", 200),
        ])
    func heads(path: String, status: Int) async throws {
        try await TestPlatform.run { platform in
            // The same connection is used, so that a body would disturb the next response.
            for _ in 0..<4 {
                #expect(try await platform.send("HEAD", path).status == status)
                let health = try await platform.send("GET", "/healthz")
                #expect(health.body == #"{"status":"ok"}"#)
            }
        }
    }

    @Test("other content types answer 415 with the right one") func unsupportedContentTypes() async throws {
        try await TestPlatform.run { platform in
            let (_, location) = try await platform.publish()
            for type in ["text/plain", "application/json", "application/sdpx", ""] {
                let post = try await platform.post(
                    "/whip", try Offers.publisher(), headers: ["Content-Type": type])
                #expect(post.status == 415)
                #expect(post.header("Accept-Post") == "application/sdp")
                let patch = try await platform.send("PATCH", location, ["Content-Type": type], body: "a=mid:0\r\n")
                #expect(patch.status == 415)
                #expect(patch.header("Accept-Patch") == Self.trickle)
            }
            let typical = ["Content-Type": "Application/SDP ; charset=utf-8"]
            #expect(try await platform.post("/whip", try Offers.publisher(), headers: typical).status == 201)
        }
    }

    @Test("a viewer's resource is removed when its stream has ended") func resourceOfAnEndedStream() async throws {
        try await TestPlatform.run { platform in
            let (stream, publisher) = try await platform.publish()
            let viewer = try await platform.post("/whep/\(stream)", try Offers.viewer())
            let location = try #require(viewer.header("Location"))
            #expect(try await platform.send("DELETE", publisher).status == 200)
            #expect(try await platform.reaches("pcast_viewers", 0))
            // The resource is removed after the viewer.
            #expect(try await eventually { try await platform.send("GET", location).status == 404 })
            #expect(try await platform.send("DELETE", location).status == 404)
        }
    }
}
