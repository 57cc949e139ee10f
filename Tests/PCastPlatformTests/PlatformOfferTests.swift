import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastSignaling
import PCastWebRTC
import Testing

/// Streams for which the platform makes the offer, and the client answers with `SetRemoteDescription`.
@Suite struct PlatformOfferTests {
    static func request(
        _ ideals: [String], token: String = "", origin: String? = nil, tags: [String] = []
    ) -> SignalingRequest {
        var message = PCastSetupStream()
        message.streamToken = token
        message.createStream.sessionID = ""
        message.createStream.tags = tags
        message.createStream.createOfferDescription.streamID = ""
        message.createStream.createOfferDescription.options = ideals
        if let origin { message.createStream.originStreamID = origin }
        return .setupStream(message)
    }

    static func remote(
        _ stream: String, _ text: String, _ type: PCastSessionDescription.TypeEnum = .answer
    ) -> SignalingRequest {
        var message = PCastSetRemoteDescription()
        message.streamID = stream
        message.sessionDescription.type = type
        message.sessionDescription.sdp = text
        return .setRemoteDescription(message)
    }

    private static let certificate = Result { try DTLSCertificate.generate(at: MonotonicClock.wallTime()) }

    /// Returns a client's answer to an offer.
    static func answer(_ offer: String, sends: Bool) throws -> String {
        var generator = SystemRandomNumberGenerator()
        let credentials = ICECredentials.random(using: &generator)
        let transport = TransportDescription(
            iceUfrag: credentials.ufrag, icePwd: credentials.password,
            fingerprint: try certificate.get().fingerprint.attribute, candidates: [])
        let answer = try Answer(
            to: SessionDescription(parsing: offer), originSessionID: 7, transport: transport,
            capabilities: MediaCapabilities()
        ) { type, _ in
            let msid = MediaStreamIdentification(stream: "s", track: type.rawValue)
            let ssrc: UInt32 = type == .video ? 1 : 3
            return sends ? .send(nil, from: OutgoingSource(ssrc: ssrc, cname: "c", msid: msid)) : .receive
        }
        return answer.description.text
    }

    /// Returns the response to a successful request.
    static func created(
        _ client: ProtocolClient, _ request: SignalingRequest
    ) async throws -> PCastCreateStreamResponse? {
        guard case .setupStream(let response)? = try await client.response(request) else { return nil }
        return response.status == "ok" ? response.createStreamResponse : nil
    }

    @Test("upload and download use the steps of the published protocol") func steps() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate()
                let upload = try #require(
                    try await Self.created(client, Self.request(["upload", "Chrome", "120", "screen=1920x1080"])))
                let stream = upload.streamID
                #expect(stream.hasPrefix("stream-"))
                // Phenix's Web SDK does not make an RTCBundlePolicy of the name, and browsers reject what it makes.
                #expect(!upload.rtcConfiguration.hasBundlePolicy)
                #expect(upload.rtcConfiguration.rtcpMuxPolicy == .require)
                #expect(upload.createOfferDescriptionResponse.status == "ok")
                let offered = upload.createOfferDescriptionResponse.sessionDescription
                #expect(offered.type == .offer)
                let offer = try SessionDescription(parsing: offered.sdp)
                #expect(offer.isICELite && offer.media.map(\.kind) == [.audio, .video])
                // Phenix's Web SDK limits its bandwidth after "mid:video".
                #expect(offer.media.map(\.mid) == ["audio", "video"])
                #expect(offer.media.allSatisfy { $0.direction == .receiveOnly && $0.setup == .actpass })
                #expect(offer.media.allSatisfy { !$0.candidates.isEmpty && $0.hasEndOfCandidates })

                // Nobody can watch before the offer is answered.
                #expect(try await client.ask(try Requests.view(origin: stream)) == .noStreamPlaying)
                let text = try Self.answer(offered.sdp, sends: true)
                guard case .setRemoteDescription(let set)? = try await client.response(Self.remote(stream, text)) else {
                    Issue.record("SetRemoteDescription was not answered")
                    return
                }
                #expect(set.status == "ok" && set.options == ["ice-candidates"])
                #expect(set.sessionDescription.type == .answer && set.sessionDescription.sdp == text)

                let download = try #require(try await Self.created(client, Self.request(["download"], origin: stream)))
                let tracks = try SessionDescription(
                    parsing: download.createOfferDescriptionResponse.sessionDescription.sdp)
                #expect(tracks.media.map(\.direction) == [.sendOnly, .sendOnly])
                #expect(tracks.media.map { $0.payloadFormats.map(\.codec) } == [[.opus], [.h264]])
                // Chromium rejects an audio section with a group of sources.
                #expect(tracks.media.map(\.sources.count) == [1, 2])
                #expect(tracks.media.map { $0.sourceGroups.map(\.semantics) } == [[], ["FID"]])
                #expect(tracks.media.map { $0.payloadFormats.map { $0.rtxPayloadType == nil } } == [[true], [false]])
                let viewer = try Self.answer(
                    download.createOfferDescriptionResponse.sessionDescription.sdp, sends: false)
                #expect(try await client.ask(Self.remote(download.streamID, viewer)) == .ok)
                #expect(try await platform.figure("pcast_viewers") == 1)

                #expect(try await client.ask(Requests.destroy(stream, reason: "ended")) == .ok)
                #expect(try await client.reason(download.streamID) == "ended")
                #expect(try await client.reason(stream) == "ended")
            }
        }
    }

    @Test("an unanswered offer is repeated to its session only, and an answered one is not")
    func again() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate()
                let created = try #require(try await Self.created(client, Self.request(["upload"])))
                var message = PCastCreateOfferDescription()
                message.streamID = created.streamID
                guard
                    case .createOfferDescription(let received)? = try await client.response(
                        .createOfferDescription(message))
                else {
                    Issue.record("CreateOfferDescription was not answered by its response")
                    return
                }
                let offered = created.createOfferDescriptionResponse.sessionDescription
                #expect(received.status == "ok" && received.sessionDescription.type == .offer)
                #expect(received.sessionDescription.sdp == offered.sdp)
                try await ProtocolClient.run(platform) { [message] other async throws in
                    _ = try await other.authenticate()
                    #expect(try await other.ask(.createOfferDescription(message)) == .gone)
                }
                let answer = try Self.answer(offered.sdp, sends: true)
                #expect(try await client.ask(Self.remote(created.streamID, answer)) == .ok)
                #expect(try await client.ask(.createOfferDescription(message)) == .conflict)
                message.streamID = "stream-other"
                #expect(try await client.ask(.createOfferDescription(message)) == .gone)
            }
        }
    }

    @Test("candidates and states are accepted for streams of the session only") func candidates() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate()
                let created = try #require(try await Self.created(client, Self.request(["upload"])))
                for (stream, status) in [(created.streamID, RequestStatus.ok), ("stream-other", .gone)] {
                    var candidates = PCastAddIceCandidates()
                    candidates.streamID = stream
                    var candidate = PCastIceCandidate()
                    candidate.candidate = "candidate:1 1 udp 2130706431 192.0.2.1 50000 typ host"
                    candidate.sdpMlineIndex = 0
                    candidate.sdpMid = "0"
                    candidates.candidates = [candidate]
                    #expect(try await client.ask(.addIceCandidates(candidates)) == status)
                    candidates.candidates = []
                    candidates.options = ["completed"]
                    #expect(try await client.ask(.addIceCandidates(candidates)) == status)
                    var state = PCastUpdateStreamState()
                    state.streamID = stream
                    state.signalingState = "stable"
                    state.iceGatheringState = "complete"
                    state.iceConnectionState = "connected"
                    #expect(try await client.ask(.updateStreamState(state)) == status)
                }
            }
        }
    }

    @Test("a wrong answer is a bad request, a right one is then accepted, and a second one is a conflict")
    func badAnswers() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate()
                let created = try #require(try await Self.created(client, Self.request(["upload"])))
                let stream = created.streamID
                let offer = created.createOfferDescriptionResponse.sessionDescription.sdp
                let good = try Self.answer(offer, sends: true)
                let cut = good.prefix(upTo: try #require(good.firstRange(of: "m=video")).lowerBound)
                for bad in [
                    "", "nonsense", offer, String(cut), good.replacing("a=setup:passive", with: "a=setup:actpass"),
                ] {
                    #expect(try await client.ask(Self.remote(stream, bad)) == .badRequest)
                }
                #expect(try await client.ask(Self.remote("stream-other", good)) == .gone)
                #expect(try await client.ask(Self.remote(stream, good)) == .ok)
                #expect(try await client.ask(Self.remote(stream, good)) == .conflict)
            }
        }
    }

    @Test("a request for neither or both directions is a bad request, and an unknown stream is not offered")
    func requestedDirections() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate()
                for ideals in [[], ["Chrome"], ["upload", "download"]] {
                    #expect(try await client.ask(Self.request(ideals)) == .badRequest)
                }
                #expect(try await client.ask(Self.request(["download"], origin: "stream-none")) == .noStreamPlaying)
                #expect(try await platform.figure("pcast_streams") == 0)
            }
        }
    }

    @Test("a stream without an answer ends, and its session is notified, and it can be withdrawn before")
    func unanswered() async throws {
        try await TestPlatform.run { platform in
            let token = try Tokens.make { $0.forPublishingOnly().withCapability("setup-deadline=PT1.5S") }
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate(try Tokens.make())
                // On a busy machine its time may be over before it is answered.
                if let created = try await Self.created(client, Self.request(["upload"], token: token)) {
                    #expect(try await client.reason(created.streamID) == "failed")
                }
                let other = try #require(
                    try await Self.created(client, Self.request(["upload"], token: try Tokens.publishing())))
                #expect(try await client.ask(Requests.destroy(other.streamID, reason: "")) == .ok)
                #expect(try await client.reason(other.streamID) == "ended")
                #expect(try await platform.reaches("pcast_streams", 0))
            }
        }
    }

    @Test("ICE of a stream that the platform offered restarts by the client's offer") func restart() async throws {
        try await TestPlatform.run { platform in
            try await ProtocolClient.run(platform) { client async throws in
                _ = try await client.authenticate()
                let created = try #require(try await Self.created(client, Self.request(["upload"])))
                let offer = created.createOfferDescriptionResponse.sessionDescription.sdp
                let answer = try Self.answer(offer, sends: true)
                #expect(try await client.ask(Self.remote(created.streamID, answer)) == .ok)
                let again = try Self.answer(offer, sends: true).replacing("a=setup:passive", with: "a=setup:actpass")
                let response = try await client.response(Self.remote(created.streamID, again, .offer))
                guard case .setRemoteDescription(let restarted)? = response else {
                    Issue.record("the offer has no response: \(String(describing: response))")
                    return
                }
                #expect(restarted.status == "ok")
                let ours = try SessionDescription(parsing: restarted.sessionDescription.sdp)
                #expect(ours.media.allSatisfy { $0.setup == .active })
                #expect(ours.media[0].iceUfrag != (try SessionDescription(parsing: offer)).media[0].iceUfrag)
            }
        }
    }
}
