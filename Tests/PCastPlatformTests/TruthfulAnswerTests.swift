import Foundation
import PCastCore
import PCastEdgeAuth
import PCastSignaling
import PCastWebRTC
import Testing

/// An offer that can be accepted only in part is rejected as a whole. The answer names the section and the reason (RFC
/// 9725, sections 4.4.2 and 4.4.3).
@Suite struct TruthfulAnswerTests {
    private struct Problem: Decodable {
        struct Section: Decodable {
            let index: Int
            let mid: String?
            let kind: String
            let reason: String
            let detail: String
        }

        let type: String
        let title: String
        let status: Int
        let detail: String
        let sections: [Section]?
    }

    private func problem(_ answer: TestPlatform.Response) throws -> Problem {
        #expect(answer.status == 422 && answer.header("Content-Type") == "application/problem+json")
        let problem = try JSONDecoder().decode(Problem.self, from: Data(answer.body.utf8))
        #expect(problem.status == 422 && problem.type == "about:blank" && problem.title == "Unprocessable Content")
        return problem
    }

    /// Offers that cannot be published, with the section and the reason that the answer names.
    private static let unpublishable: [(String, section: Int, reason: String)] = {
        let make = OfferText.make
        let (audio, video) = (OfferText.audio(), OfferText.video())
        let noMux = video.filter { $0 != "a=rtcp-mux" }
        let ten = OfferText.h264(profile: "6e0028")
        return [
            (make([audio, OfferText.video("1", "96", OfferText.vvc)], nil), 1, "codec"),
            (make([OfferText.video("1", "96", OfferText.vvc)], nil), 0, "codec"),
            (make([OfferText.audio("0", "0 8", []), video], nil), 0, "codec"),
            (make([audio, OfferText.video("1", "96", ten)], nil), 1, "profile"),
            (make([audio, OfferText.video("1", "96", OfferText.h264(profile: "42e01f", mode: 2))], nil), 1, "profile"),
            (make([audio, video, OfferText.video("2")], nil), 2, "further-section"),
            (make([audio, OfferText.audio("2"), video], nil), 1, "further-section"),
            (make([audio, video], []), 1, "no-bundle"), (make([audio, video], ["0"]), 1, "not-bundled"),
            (make([audio, video], ["0", "1"]), 1, "not-bundled"), (make([audio, noMux], nil), 1, "no-rtcp-mux"),
            (make([OfferText.dataChannel("d"), audio, video], nil), 0, "kind"),
            (make([audio, video], nil).replacing("sha-256", with: "sha-1"), 0, "fingerprint"),
            (make([audio, video], nil).replacing("AB:AB\r\n", with: "AB\r\n"), 0, "fingerprint"),
            (make([audio, video], nil).replacing("video 9 UDP/TLS", with: "video 9 UDP/X"), 1, "transport-protocol"),
        ]
    }()

    @Test(
        "WHIP: a section that cannot be accepted answers 422 with its index, its mid and the reason",
        arguments: unpublishable)
    func whip(offer: String, section: Int, reason: String) async throws {
        try await TestPlatform.run { platform async throws in
            let problem = try problem(try await platform.post("/whip", offer))
            let named = try #require(problem.sections?.first)
            #expect(problem.sections?.count == 1 && named.index == section && named.reason == reason)
            let mid = try SessionDescription(parsing: offer).media[section].mid
            #expect(named.mid == mid && !named.detail.isEmpty)
            #expect(problem.detail.contains(named.detail) && problem.detail.contains("section \(section)"))
            #expect(try await platform.figure("pcast_streams") == 0)
        }
    }

    @Test("the protocol rejects the same offers with a reason", arguments: unpublishable)
    func signaling(offer: String, section: Int, reason: String) async throws {
        try await TestPlatform.run { platform async throws in
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate()
                let request = Requests.setUp("", offer: offer, origin: nil)
                guard case .setupStream(let response)? = try await client.response(request) else {
                    Issue.record("SetupStream was not answered")
                    return
                }
                #expect(response.status == "unsupported-features")
                #expect(response.refusalReason?.contains("section \(section)") == true)
            }
        }
    }

    @Test("the media that a token permits is accepted, and the rest is inactive, first or not")
    func tokens() async throws {
        try await TestPlatform.run { platform async throws in
            let audio = try Tokens.make { $0.forPublishingOnly().withCapability("audio-only") }
            let frames = try Tokens.make { $0.forPublishingOnly().withCapability("video-only") }
            let hevc = OfferText.video("1", "96", OfferText.hevc)
            for (token, kept, sections) in [
                (audio, 0, [OfferText.audio(), OfferText.video()]), (audio, 1, [hevc, OfferText.audio()]),
                (frames, 1, [OfferText.audio(), OfferText.video()]),
                (frames, 1, [OfferText.audio("0", "0", []), OfferText.video()]),
            ] {
                let answer = try await platform.post("/whip", OfferText.make(sections), token: token)
                #expect(answer.status == 201)
                let media = try SessionDescription(parsing: answer.body).media
                #expect(media.allSatisfy { $0.port != 0 && $0.iceUfrag != nil })
                #expect(
                    media.indices.map { media[$0].direction } == [0, 1].map { $0 == kept ? .receiveOnly : .inactive })
            }
        }
    }

    @Test("opus/48000 and opus/48000/1 are Opus", arguments: ["opus/48000", "opus/48000/1"])
    func opus(encoding: String) async throws {
        try await TestPlatform.run { platform async throws in
            let offer = OfferText.make([OfferText.audio(), OfferText.video()]).replacing("opus/48000/2", with: encoding)
            #expect(try await platform.post("/whip", offer).status == 201)
            let viewer = OfferText.viewer().replacing("opus/48000/2", with: encoding)
            #expect(try await platform.post("/whep", viewer).status == 201)
        }
    }

    @Test("WHEP: media that the viewer cannot receive answers 422, and media that the stream lacks is inactive")
    func whep() async throws {
        try await TestPlatform.run { platform async throws in
            let both = try await platform.post("/whip", OfferText.make([OfferText.audio(), OfferText.video()]))
            let stream = try #require(both.header("PCast-Stream-Id"))
            // Without this field, the platform makes a counter-offer.
            let headers = ["Accept": "application/problem+json"]
            let foreign = OfferText.viewer(video: OfferText.hevc)
            let hevc = try problem(try await platform.post("/whep/\(stream)", foreign, headers: headers))
            #expect(hevc.sections?.map(\.reason) == ["codec"] && hevc.sections?.first?.index == 1)
            #expect(hevc.detail.contains("H265") && hevc.detail.contains("H264"))
            let whole = OfferText.h264(profile: "42e01f", mode: 0)
            let mode = try problem(
                try await platform.post("/whep/\(stream)", OfferText.viewer(video: whole), headers: headers))
            #expect(mode.sections?.map(\.reason) == ["packetization-mode"])
            #expect(try await platform.figure("pcast_viewers") == 0)

            let silent = try await platform.post("/whip", OfferText.make([OfferText.video()]))
            let frames = try #require(silent.header("PCast-Stream-Id"))
            for first in [
                OfferText.audio(direction: "recvonly"), OfferText.audio("0", "0", [], direction: "recvonly"),
                OfferText.dataChannel("0"),
            ] {
                let offer = OfferText.make([first, OfferText.video(direction: "recvonly")])
                let answer = try await platform.post("/whep/\(frames)", offer)
                #expect(answer.status == 201)
                let description = try SessionDescription(parsing: answer.body)
                #expect(description.bundle == ["0", "1"] && description.media.allSatisfy { $0.port != 0 })
                #expect(description.media[1].direction == .sendOnly)
            }
            // The viewer can receive none of the stream's media.
            let audio = OfferText.make([OfferText.audio(direction: "recvonly")])
            let answer = try await platform.post("/whep/\(frames)", audio, headers: headers)
            #expect(try problem(answer).detail.contains("track"))
        }
    }

    @Test(
        "every H.264 viewer receives H.264 High", arguments: ["640c1f", "42e01f", "42001f", "4d001f", "64001f"])
    func high(profile: String) async throws {
        try await TestPlatform.run { platform async throws in
            for published in ["640028", "640c28", "4d0028"] {
                let video = OfferText.video("1", "96", OfferText.h264(profile: published))
                let publisher = try await platform.post("/whip", OfferText.make([OfferText.audio(), video]))
                let stream = try #require(publisher.header("PCast-Stream-Id"))
                let viewer = OfferText.viewer(video: OfferText.h264(profile: profile))
                let answer = try await platform.post("/whep/\(stream)", viewer)
                #expect(answer.status == 201)
                let media = try SessionDescription(parsing: answer.body).media[1]
                #expect(media.direction == .sendOnly && media.payloadTypes == [96])
                #expect(media.payloadFormats.first?.h264?.profileLevelID.prefix(4) == profile.prefix(4))
            }
        }
    }

    @Test("a data channel does not make a viewer of the protocol a publisher") func channelOfViewer() async throws {
        try await TestPlatform.run { platform async throws in
            let (stream, _) = try await platform.publish()
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate()
                let sections = [
                    OfferText.audio(direction: "recvonly"), OfferText.video(direction: "recvonly"),
                    OfferText.dataChannel("2"),
                ]
                let request = Requests.setUp("", offer: OfferText.make(sections), origin: stream)
                guard case .setupStream(let response)? = try await client.response(request) else {
                    Issue.record("SetupStream was not answered")
                    return
                }
                #expect(response.createStreamResponse.streamID.hasPrefix("view-"))
            }
            #expect(try await platform.figure("pcast_streams") == 1)
        }
    }
}

/// Offers line by line, as various clients write them.
enum OfferText {
    static let opus = ["a=rtpmap:111 opus/48000/2", "a=fmtp:111 minptime=10;useinbandfec=1"]
    static let h264 = h264(profile: "42e01f")
    static let hevc = ["a=rtpmap:96 H265/90000", "a=fmtp:96 level-id=93;profile-id=1"]
    static let vvc = ["a=rtpmap:96 H266/90000"]
    static let fingerprint = "sha-256 " + (0..<32).map { _ in "AB" }.joined(separator: ":")

    static func h264(profile: String, mode: Int = 1) -> [String] {
        [
            "a=rtpmap:96 H264/90000", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli",
            "a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=\(mode);profile-level-id=\(profile)",
        ]
    }

    static func audio(
        _ mid: String = "0", _ types: String = "111", _ lines: [String] = opus, direction: String = "sendonly"
    ) -> [String] {
        section("m=audio 9 UDP/TLS/RTP/SAVPF \(types)", mid, ["a=\(direction)", "a=rtcp-mux"] + lines)
    }

    static func video(
        _ mid: String = "1", _ types: String = "96", _ lines: [String] = h264, direction: String = "sendonly"
    ) -> [String] {
        section("m=video 9 UDP/TLS/RTP/SAVPF \(types)", mid, ["a=\(direction)", "a=rtcp-mux"] + lines)
    }

    static func dataChannel(_ mid: String) -> [String] {
        section("m=application 9 UDP/DTLS/SCTP webrtc-datachannel", mid, ["a=sctp-port:5000"])
    }

    private static func section(_ first: String, _ mid: String, _ lines: [String]) -> [String] {
        [
            first, "c=IN IP4 0.0.0.0", "a=mid:\(mid)", "a=ice-ufrag:frag", "a=ice-pwd:0123456789012345678901",
            "a=fingerprint:\(fingerprint)", "a=setup:actpass",
        ] + lines
    }

    /// Returns an offer of sections. Nil for `groups` makes one BUNDLE group of all MIDs.
    static func make(_ sections: [[String]], groups: [String]? = nil) -> String {
        let mids = sections.flatMap { $0 }.filter { $0.hasPrefix("a=mid:") }.map { $0.dropFirst(6) }
        let groups = groups ?? [mids.joined(separator: " ")]
        let head = ["v=0", "o=- 1 2 IN IP4 127.0.0.1", "s=-", "t=0 0"] + groups.map { "a=group:BUNDLE \($0)" }
        return (head + sections.flatMap { $0 }).map { $0 + "\r\n" }.joined()
    }

    /// Returns the offer of a viewer in a browser.
    static func viewer(video: [String] = h264) -> String {
        make([audio(direction: "recvonly"), OfferText.video("1", "96", video, direction: "recvonly")])
    }
}
