import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@Suite("Answers to publishers")
struct SDPPublisherAnswerTests {
    @Test("Chromium's answer has transport-cc alone, and no absolute send time")
    func chromium() throws {
        let answer = try Answer.toPublisher(SDPSamples.chromiumPublisherOffer)
        #expect(
            answer.lines.prefix { !$0.hasPrefix("m=") } == [
                "v=0", "o=- 77 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0 1", "a=ice-lite",
                "a=extmap-allow-mixed", "a=msid-semantic: WMS *",
            ])
        #expect(
            answer.lines(ofSection: 0) == [
                "m=video 9 UDP/TLS/RTP/SAVPF 96 97", "a=setup:passive", "a=mid:0",
                "a=extmap:1 urn:ietf:params:rtp-hdrext:toffset", "a=extmap:3 urn:3gpp:video-orientation",
                "a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
                "a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay",
                "a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid",
                "a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id",
                "a=extmap:11 urn:ietf:params:rtp-hdrext:sdes:repaired-rtp-stream-id", "a=recvonly", "a=rtcp-mux",
                "a=rtcp-mux-only", "a=rtcp-rsize", "a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 transport-cc",
                "a=rtcp-fb:96 ccm fir",
                "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli", "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96",
            ])
        #expect(
            answer.lines(ofSection: 1) == [
                "m=audio 9 UDP/TLS/RTP/SAVPF 63 111", "a=setup:passive", "a=mid:1",
                "a=extmap:14 urn:ietf:params:rtp-hdrext:ssrc-audio-level",
                "a=extmap:4 http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01",
                "a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid", "a=recvonly", "a=rtcp-mux",
                "a=rtcp-mux-only", "a=rtcp-rsize",
                "a=rtpmap:63 red/48000/2", "a=fmtp:63 111/111",
                "a=rtpmap:111 opus/48000/2", "a=rtcp-fb:111 transport-cc",
                "a=fmtp:111 minptime=10;useinbandfec=1;stereo=1;sprop-stereo=1",
            ])
        let remote = answer.session.remoteTransport
        #expect(remote.iceUfrag == "O2qB" && remote.icePwd == "gzDqo0D+wnXrhnEUCDz8aI6Z")
        #expect(remote.supportsTrickle && !remote.isLite && remote.candidates.count == 4)
        #expect(remote.candidates[0].hasPrefix("candidate:2403656460 1 udp 2122260223 127.0.0.1 55265 "))
        let video = try #require(answer.session.media(withMid: "0"))
        #expect(video.codec == .vp8 && video.payloadType == 96 && video.rtxPayloadType == 97)
        #expect(video.remoteSources == [IncomingSource(ssrc: 3_581_312_365, rtxSSRC: 1_083_918_172)])
        #expect(video.remoteCNAME == "eyeNqzxnUo0CJhJl")
        #expect(video.remoteMSID?.track == "3799e764-85ac-4af2-8171-d7613c67597b")
        #expect(video.feedback == [.nack, .pli, .fir, .transportCC] && video.localSSRC == nil)
        #expect(video.format(ofPayloadType: 97)?.isRetransmission == true && video.format(ofPayloadType: 98) == nil)
        #expect(answer.session.media[1].opusStereo && answer.session.media[1].direction == .receiveOnly)
    }

    @Test("every accepted section of the answer has the transport")
    func transport() throws {
        let answer = try Answer.toPublisher(SDPSamples.aiortcPublisherOffer)
        for media in answer.description.media {
            #expect(media.iceUfrag == "srvU" && media.icePwd == "serverPasswordOf22char")
            #expect(media.fingerprints == [TransportDescription.test.fingerprint])
            #expect(media.candidates == [TransportDescription.candidate, TransportDescription.tcpCandidate])
            #expect(media.hasEndOfCandidates && media.multiplexesRTCP && media.port == 9)
        }
    }

    @Test("aiortc's answer has its own IDs, REMB and absolute send time, and H.264 before VP8")
    func aiortc() throws {
        let answer = try Answer.toPublisher(SDPSamples.aiortcPublisherOffer)
        let video = answer.session.media[0]
        #expect(video.codec == .h264 && video.payloadType == 99 && video.rtxPayloadType == 100)
        #expect(video.feedback == [.nack, .pli, .remb])
        #expect(video.extensionMap.id(of: .mid) == 1 && video.extensionMap.id(of: .absoluteSendTime) == 3)
        #expect(video.extensionMap.id(of: .transportSequenceNumber) == nil && !video.extensionMap.allowsTwoByte)
        #expect(answer.session.media[1].extensionMap.id(of: .audioLevel) == 2)
        #expect(
            answer.lines(ofSection: 0).filter { $0.contains(":99 ") || $0.contains(":100 ") } == [
                "a=rtpmap:99 H264/90000", "a=rtcp-fb:99 goog-remb", "a=rtcp-fb:99 nack", "a=rtcp-fb:99 nack pli",
                "a=fmtp:99 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f",
                "a=rtpmap:100 rtx/90000", "a=fmtp:100 apt=99",
            ])
        #expect(!answer.lines.contains("a=extmap-allow-mixed") && !answer.lines.contains("a=rtcp-rsize"))
        #expect(answer.session.remoteTransport.fingerprints.count == 3)
        #expect(answer.session.remoteTransport.hasAllCandidates && !answer.session.isDTLSClient)
    }

    @Test("FFmpeg, which offers passive, is answered with active")
    func ffmpeg() throws {
        let answer = try Answer.toPublisher(SDPSamples.ffmpegPublisherOffer)
        #expect(answer.session.isDTLSClient && answer.description.media.allSatisfy { $0.setup == .active })
        #expect(answer.session.media.map(\.type) == [.audio, .video])
        #expect(answer.description.media.map(\.mid) == ["0", "1"])
        let video = answer.session.media[1]
        #expect(video.codec == .h264 && video.payloadType == 106 && video.rtxPayloadType == 105)
        #expect(video.feedback == [.nack] && video.extensionMap == extensionMap(allowsTwoByte: true))
        #expect(video.remoteSources == [IncomingSource(ssrc: 3_989_638_464, rtxSSRC: 3_989_638_465)])
        #expect(video.format.h264?.profile == .constrainedBaseline && video.format.h264?.level == .level31)
        #expect(!answer.session.media[0].allowsReducedSizeRTCP && video.allowsReducedSizeRTCP)
    }

    private func extensionMap(allowsTwoByte: Bool) -> RTPHeaderExtensionMap {
        var map = RTPHeaderExtensionMap()
        map.allowsTwoByte = allowsTwoByte
        return map
    }

    @Test("an answer never has actpass, active is answered with passive, and holdconn is rejected")
    func answeredDTLSRoles() throws {
        let active = SDPSamples.aiortcPublisherOffer.replacing("a=setup:actpass", with: "a=setup:active")
        #expect(try Answer.toPublisher(active).description.media.allSatisfy { $0.setup == .passive })
        let hold = SDPSamples.aiortcPublisherOffer.replacing("a=setup:actpass", with: "a=setup:holdconn")
        #expect(throws: SDPError.unusableSetup) { try Answer.toPublisher(hold) }
    }

    @Test("GStreamer's bundle-only section with port 0 is accepted, and transport-cc without its extension is not")
    func gstreamer() throws {
        let answer = try Answer.toPublisher(SDPSamples.gstreamerPublisherOffer)
        #expect(answer.description.bundle == ["video0", "audio1"])
        #expect(answer.description.media.map(\.port) == [9, 9])
        #expect(answer.description.media.allSatisfy { !$0.isBundleOnly && $0.setup == .passive })
        let (video, audio) = (answer.session.media[0], answer.session.media[1])
        #expect(video.feedback == [.pli, .fir] && video.rtxPayloadType == nil && video.payloadType == 96)
        #expect(audio.codec == .opus && audio.payloadType == 97 && audio.feedback.isEmpty)
        #expect(audio.remoteSources == [IncomingSource(ssrc: 3_397_115_239)])
        #expect(audio.remoteMSID?.track == "webrtctransceiver1")
        #expect(
            answer.description.media[0].formatParameters[96]
                == ["level-asymmetry-allowed": "1", "packetization-mode": "1", "profile-level-id": "42c01f"])
    }

    @Test("simulcast is mirrored with the extensions that identify the layers")
    func mirrorsSimulcast() throws {
        let answer = try Answer.toPublisher(SDPSamples.chromiumSimulcastOffer)
        let lines = answer.lines(ofSection: 0)
        #expect(
            lines.filter { $0.hasPrefix("a=rid") || $0.hasPrefix("a=simulcast") } == [
                "a=rid:l recv", "a=rid:m recv", "a=rid:h recv", "a=simulcast:recv l;m;h",
            ])
        let video = answer.session.media[0]
        #expect(video.rids == ["l", "m", "h"] && video.remoteSources.isEmpty)
        #expect(video.extensionMap.id(of: .mid) == 9 && video.extensionMap.id(of: .rid) == 10)
        #expect(video.extensionMap.id(of: .repairedRid) == 11)
        #expect(!lines.contains { $0.contains("dependency-descriptor") })
    }

    @Test("the dependency descriptor is accepted for codecs with layers in one SSRC that need it, in two-byte form")
    func dependencyDescriptor() throws {
        var capabilities = MediaCapabilities(codecs: [.vp9, .vp8, .opus])
        capabilities.headerExtensions.insert(.dependencyDescriptor)
        let vp9 = SDPSamples.chromiumSimulcastOffer.replacing("VP8/90000", with: "VP9/90000")
        let answer = try Answer.toPublisher(vp9, capabilities: capabilities)
        #expect(answer.session.media[0].codec == .vp9)
        #expect(answer.session.media[0].extensionMap.id(of: .dependencyDescriptor) == 13)
        #expect(answer.lines(ofSection: 0).contains { $0.hasPrefix("a=extmap:13 ") })
        let vp8 = try Answer.toPublisher(SDPSamples.chromiumSimulcastOffer, capabilities: capabilities)
        #expect(vp8.session.media[0].extensionMap.id(of: .dependencyDescriptor) == nil)
        let oneByte = try Answer.toPublisher(
            vp9.replacing("a=extmap-allow-mixed", with: "a=other"), capabilities: capabilities)
        #expect(oneByte.session.media[0].extensionMap.id(of: .dependencyDescriptor) == nil)
        // The temporal layers of H.264 are in the descriptor only.
        capabilities.codecs = [.h264, .opus]
        let h264 = try Answer.toPublisher(
            SDPSamples.chromiumSimulcastOffer.replacing(
                "a=rtpmap:96 VP8/90000",
                with: "a=rtpmap:96 H264/90000\na=fmtp:96 packetization-mode=1;profile-level-id=42e01f"),
            capabilities: capabilities)
        #expect(h264.session.media[0].codec == .h264)
        #expect(h264.session.media[0].extensionMap.id(of: .dependencyDescriptor) == 13)
    }

    @Test("the dependency descriptor is offered with a track of AV1 or VP9 only, and only by an SFU")
    func offeredDependencyDescriptor() {
        var capabilities = MediaCapabilities(codecs: [.av1, .vp9, .vp8])
        func isOffered(_ format: SourceFormat?) -> Bool {
            let offer = Offer(
                sections: [OfferSection(type: .video, direction: .sendOnly, format: format, source: .video)],
                originSessionID: 1, transport: .client, capabilities: capabilities)
            return offer.description.media[0].extensions.contains {
                $0.uri == RTPHeaderExtension.dependencyDescriptor.uri
            }
        }
        #expect(!isOffered(SourceFormat(codec: .av1)))
        capabilities.headerExtensions.insert(.dependencyDescriptor)
        #expect(isOffered(SourceFormat(codec: .av1)) && isOffered(SourceFormat(codec: .vp9)))
        #expect(!isOffered(SourceFormat(codec: .vp8)) && !isOffered(nil))
    }

    @Test("paused layers are mirrored, one alternative is accepted, and RIDs of other formats are omitted")
    func mirrorsPausedLayers() throws {
        let text = SDPSamples.chromiumSimulcastOffer
            .replacing("a=rid:h send", with: "a=rid:h send pt=97\na=rid:x send pt=96,97;max-width=640")
            .replacing("send l;m;h", with: "send h,x;~l;l;missing;m")
        let answer = try Answer.toPublisher(text)
        #expect(answer.session.media[0].rids == ["x", "l", "m"])
        #expect(answer.lines.contains("a=rid:x recv pt=96;max-width=640"))
        #expect(answer.lines.contains("a=simulcast:recv x;~l;m"))
    }

    @Test("of more than three layers the first three are accepted, and none with an invalid name")
    func threeLayers() throws {
        let long = String(repeating: "x", count: 17)
        let text = SDPSamples.chromiumSimulcastOffer
            .replacing("a=rid:h send", with: "a=rid:h send\na=rid:n send\na=rid:\(long) send")
            .replacing("send l;m;h", with: "send l;\(long);m;n;h")
        let answer = try Answer.toPublisher(text)
        #expect(answer.session.media[0].rids == ["l", "m", "n"])
        #expect(answer.lines.contains("a=simulcast:recv l;m;n"))
        #expect(!answer.lines.contains { $0.hasPrefix("a=rid:h") || $0.contains(long) })
    }

    @Test("without the RID extension there is no simulcast")
    func noSimulcastWithoutRID() throws {
        let text = SDPSamples.chromiumSimulcastOffer.replacing("sdes:rtp-stream-id", with: "sdes:unknown")
        let answer = try Answer.toPublisher(text)
        #expect(answer.session.media[0].rids.isEmpty && !answer.lines.contains { $0.hasPrefix("a=simulcast") })
    }

    @Test("omitted sections keep their position: inactive, or with port 0 and outside the group")
    func rejectedSectionsKeepPosition() throws {
        let offer = try SessionDescription(
            parsing: SDPSamples.chromiumPublisherOffer
                .replacing("BUNDLE 0 1", with: "BUNDLE 0 1 2")
                + "\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\na=mid:2\na=rtcp-mux\na=sctp-port:5000\n")
        let answer = try Answer(
            to: offer, originSessionID: 1, transport: .test, capabilities: MediaCapabilities()
        ) { type, _ in type == .audio ? .receive : nil }
        #expect(answer.description.bundle == ["0", "1"])
        #expect(answer.description.media.map(\.mid) == ["0", "1", "2"])
        #expect(answer.description.media.map(\.port) == [9, 9, 0])
        #expect(
            answer.lines(ofSection: 0) == [
                "m=video 9 UDP/TLS/RTP/SAVPF 96", "a=setup:passive", "a=mid:0", "a=inactive", "a=rtcp-mux",
                "a=rtcp-mux-only", "a=rtcp-rsize", "a=rtpmap:96 VP8/90000",
            ])
        #expect(answer.lines(ofSection: 2) == ["m=application 0 UDP/DTLS/SCTP webrtc-datachannel", "a=mid:2"])
        #expect(answer.session.media.map(\.index) == [1])
        #expect(answer.problems.map(\.index) == [2] && answer.problems[0].reason == .kind("application"))
    }

    @Test("an offer without any accepted media is answered with all sections rejected")
    func rejectsAllSections() throws {
        let offer = try SessionDescription(parsing: SDPSamples.chromiumPublisherOffer)
        let answer = try Answer(
            to: offer, originSessionID: 1, transport: .test, capabilities: MediaCapabilities()
        ) { _, _ in nil }
        #expect(answer.session.media.isEmpty && answer.description.media.map(\.port) == [0, 0])
        #expect(!answer.lines.contains { $0.hasPrefix("a=group") })
    }

    @Test("sections outside the bundle, or without rtcp-mux, are not accepted")
    func oneTransport() throws {
        let apart = SDPSamples.chromiumPublisherOffer.replacing("BUNDLE 0 1", with: "BUNDLE 0")
        #expect(try Answer.toPublisher(apart).session.media.map(\.mid) == ["0"])
        let none = SDPSamples.chromiumPublisherOffer.replacing("a=group:BUNDLE 0 1\n", with: "")
        #expect(try Answer.toPublisher(none).session.media.map(\.mid) == ["0"])
        #expect(try Answer.toPublisher(none).description.bundle == nil)
        let split = SDPSamples.chromiumPublisherOffer.replacing("a=rtcp-mux\n", with: "")
        #expect(try Answer.toPublisher(split).session.media.isEmpty)
    }

    @Test("of several BUNDLE groups the first with media applies, and media in another is rejected")
    func severalGroups() throws {
        func problems(_ sections: [OfferText.Section], _ groups: [String]) throws -> [String] {
            let answer = try Answer.toPublisher(OfferText.make(sections, groups: groups))
            return answer.problems.map { "\($0.index) \($0.reason.code)" }
        }
        let apart = OfferText.make([.audio(), .video()], groups: ["0", "1"])
        let answer = try Answer.toPublisher(apart)
        #expect(answer.problems.map(\.reason) == [.notBundled] && answer.problems[0].index == 1)
        #expect(answer.description.bundle == ["0"] && answer.description.furtherBundles.isEmpty)
        #expect(answer.description.media.map(\.isRejected) == [false, true])
        // A group without media is skipped: a data channel, an inactive section, unknown names.
        #expect(try problems([.audio(), .video(), .dataChannel()], ["2", "0 1"]) == ["2 kind"])
        #expect(try problems([.audio(), .video()], ["9", "0 1"]).isEmpty)
        #expect(try problems([.audio(), .video()], ["", "0 1"]).isEmpty)
        var idle = OfferText.Section.audio("2")
        idle.direction = "inactive"
        #expect(try problems([idle, .audio(), .video()], ["2", "0 1"]).isEmpty)
        let passed = try Answer.toPublisher(OfferText.make([idle, .audio(), .video()], groups: ["2", "0 1"]))
        #expect(passed.description.bundle == ["0", "1"])
        #expect(passed.session.remoteTransport.iceUfrag == "0frag")
        // A repeated group changes nothing.
        #expect(try problems([.audio(), .video()], ["0 1", "0 1"]).isEmpty)
        let description = try SessionDescription(parsing: apart)
        #expect(try SessionDescription(parsing: description.text) == description)
    }

    @Test("an extension that is offered in one direction is answered in the other if the media flow so")
    func extensionDirections() throws {
        let text = SDPSamples.chromiumPublisherOffer
            .replacing("a=extmap:3 ", with: "a=extmap:3/sendonly ")
            .replacing("a=extmap:5 ", with: "a=extmap:5/recvonly ")
        let answer = try Answer.toPublisher(text)
        #expect(answer.lines.contains("a=extmap:3/recvonly urn:3gpp:video-orientation"))
        #expect(answer.session.media[0].extensionMap.id(of: .videoOrientation) == 3)
        #expect(answer.session.media[0].extensionMap.id(of: .playoutDelay) == nil)
        #expect(!answer.lines.contains { $0.hasPrefix("a=extmap:5") })
    }

    @Test("IDs above 14 need the two-byte form, and the first use of an ID counts")
    func extensionIDs() throws {
        let text = SDPSamples.chromiumPublisherOffer
            .replacing("a=extmap:3 ", with: "a=extmap:20 ").replacing("a=extmap:11 ", with: "a=extmap:10 ")
        let mixed = try Answer.toPublisher(text).session.media[0].extensionMap
        #expect(mixed.id(of: .videoOrientation) == 20 && mixed.allowsTwoByte)
        #expect(mixed.id(of: .rid) == 10 && mixed.id(of: .repairedRid) == nil)
        let plain = try Answer.toPublisher(text.replacing("a=extmap-allow-mixed\n", with: "")).session.media[0]
        #expect(plain.extensionMap.id(of: .videoOrientation) == nil && !plain.extensionMap.allowsTwoByte)
    }

    @Test("the start bit rate is written to publishers of video alone")
    func startBitrateParameter() throws {
        let capabilities = MediaCapabilities(startBitrate: .kilobits(1_500))
        let answer = try Answer.toPublisher(SDPSamples.chromiumPublisherOffer, capabilities: capabilities)
        #expect(answer.description.media[0].formatParameters[96] == ["x-google-start-bitrate": "1500"])
        #expect(answer.description.media[1].formatParameters[111]?["x-google-start-bitrate"] == nil)
        let viewer = try Answer.toViewer(SDPSamples.chromiumViewerOffer, of: .vp8, capabilities: capabilities)
        #expect(!viewer.lines.contains { $0.contains("x-google") })
    }

    @Test("an offer without credentials or fingerprint is rejected")
    func incomplete() {
        let lines = SDPSamples.ffmpegPublisherOffer.split(separator: "\n")
        #expect(throws: SDPError.missingICECredentials) {
            try Answer.toPublisher(lines.filter { !$0.hasPrefix("a=ice-pwd") }.joined(separator: "\n"))
        }
        #expect(throws: SDPError.missingFingerprint) {
            try Answer.toPublisher(lines.filter { !$0.hasPrefix("a=fingerprint") }.joined(separator: "\n"))
        }
    }

    @Test("a section of a bundle may omit the transport of the first one")
    func sharedTransport() throws {
        let sections = SDPSamples.ffmpegPublisherOffer.split(separator: "m=video")
        let video = sections[1].split(separator: "\n")
            .filter { !$0.hasPrefix("a=ice") && !$0.hasPrefix("a=fing") && !$0.hasPrefix("a=setup") }
        let text = sections[0] + "m=video" + video.joined(separator: "\n")
        let answer = try Answer(
            to: SessionDescription(parsing: String(text)), originSessionID: 1, transport: .test,
            capabilities: MediaCapabilities()
        ) { type, _ in type == .video ? .receive : nil }
        #expect(answer.session.remoteTransport.iceUfrag == "0a4c0e4d" && answer.session.isDTLSClient)
        #expect(answer.session.remoteTransport.fingerprints.count == 1)
    }
}
