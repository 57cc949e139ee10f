import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@Suite("Answers to viewers")
struct SDPViewerAnswerTests {
    @Test("Chromium's answer has the stream's codec with its RTX, SSRCs and group")
    func chromium() throws {
        let answer = try Answer.toViewer(SDPSamples.chromiumViewerOffer, of: .h264(.stream))
        let video = answer.session.media[0]
        #expect(video.direction == .sendOnly && video.payloadType == 102 && video.rtxPayloadType == 103)
        #expect(video.localSSRC == 1_000 && video.localRTXSSRC == 1_001 && video.remoteSources.isEmpty)
        #expect(video.acceptablePayloads.count == 1 && video.packetizationMode == 1)
        #expect(
            answer.lines(ofSection: 0).suffix(10) == [
                "a=rtcp-fb:102 nack", "a=rtcp-fb:102 nack pli",
                "a=fmtp:102 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42001f",
                "a=rtpmap:103 rtx/90000", "a=fmtp:103 apt=102", "a=ssrc-group:FID 1000 1001",
                "a=ssrc:1000 cname:c", "a=ssrc:1000 msid:s v", "a=ssrc:1001 cname:c", "a=ssrc:1001 msid:s v",
            ])
        #expect(answer.lines(ofSection: 0).contains("a=msid:s v"))
        #expect(answer.lines(ofSection: 0).contains("a=sendonly"))
        #expect(answer.lines(ofSection: 1).suffix(2) == ["a=ssrc:2000 cname:c", "a=ssrc:2000 msid:s a"])
        #expect(answer.session.media[1].localSSRC == 2_000 && answer.session.media[1].localRTXSSRC == nil)
    }

    @Test("a VP8 stream uses the VP8 payload type although H.264 is preferred")
    func chromiumVP8() throws {
        let answer = try Answer.toViewer(SDPSamples.chromiumViewerOffer, of: .vp8)
        #expect(answer.session.media[0].payloadType == 96 && answer.session.media[0].rtxPayloadType == 97)
        #expect(answer.lines(ofSection: 0)[0] == "m=video 9 UDP/TLS/RTP/SAVPF 96 97")
    }

    @Test("a stream uses its own profile first, then a wider one, then the widest of those below")
    func prefersOwnProfile() throws {
        func payloadType(_ profile: H264Profile, _ text: String = SDPSamples.chromiumViewerOffer) throws -> UInt8? {
            let stream = H264Format(profile: profile, level: .level31)
            return try Answer.toViewer(text, of: .h264(stream)).session.media.first { $0.type == .video }?.payloadType
        }
        #expect(try payloadType(.constrainedBaseline) == 102)
        #expect(try payloadType(.main) == 116)
        #expect(try payloadType(.high) == 116)
        #expect(try payloadType(.constrainedHigh) == 116)
        let wide = SDPSamples.gstreamerViewerOffer.replacing("42e01f", with: "64001f")
        #expect(try payloadType(.constrainedBaseline, wide) == 96 && payloadType(.high, wide) == 96)
    }

    @Test("a missing packetization-mode means 0, which a stream of fragments cannot use")
    func missingPacketizationMode() throws {
        let text = SDPSamples.gstreamerViewerOffer.replacing("packetization-mode=1;", with: "")
        let none = try Answer.toViewer(text, of: .h264(.stream))
        #expect(none.session.media.map(\.type) == [.audio] && none.problems.map(\.reason) == [.packetizationMode])
        #expect(none.description.media[0].direction == .inactive)
        let whole = H264Format(profile: .constrainedBaseline, level: .level31, packetizationMode: 0)
        let answer = try Answer.toViewer(text, of: .h264(whole))
        #expect(answer.session.media[0].packetizationMode == 0)
        #expect(answer.description.media[0].formatParameters[96]?["packetization-mode"] == "0")
    }

    @Test("the stream's level is answered with asymmetry, and a format that supports it is preferred")
    func answersWithLevelAsymmetry() throws {
        let stream = H264Format(profile: .constrainedBaseline, level: .level40)
        let chromium = try Answer.toViewer(SDPSamples.chromiumViewerOffer, of: .h264(stream))
        #expect(chromium.session.media[0].format.h264?.profileLevelID == "420028")
        let gstreamer = try Answer.toViewer(SDPSamples.gstreamerViewerOffer, of: .h264(stream))
        #expect(gstreamer.session.media[0].format.h264?.profileLevelID == "42e01f")
        let higher = SDPSamples.chromiumViewerOffer
            .replacing("mode=1;profile-level-id=4d001f", with: "mode=1;profile-level-id=4d0028")
        #expect(try Answer.toViewer(higher, of: .h264(stream)).session.media[0].payloadType == 116)
    }

    @Test("GStreamer's viewer gets both sections and only the feedback it offered")
    func gstreamer() throws {
        let answer = try Answer.toViewer(SDPSamples.gstreamerViewerOffer, of: .h264(.stream))
        #expect(answer.description.bundle == ["video0", "audio1"] && answer.session.media.count == 2)
        #expect(answer.session.media[0].feedback == [.pli, .fir])
        #expect(answer.session.media[0].rtxPayloadType == nil && answer.session.media[0].localRTXSSRC == nil)
        #expect(answer.description.media[0].sources.map(\.ssrc) == [1_000])
        #expect(answer.description.media[0].sourceGroups.isEmpty)
    }

    @Test("the SSRCs of aiortc's viewer are no sources, because it sends nothing")
    func aiortc() throws {
        let answer = try Answer.toViewer(SDPSamples.aiortcViewerOffer, of: .vp8)
        #expect(answer.session.media.allSatisfy { $0.remoteSources.isEmpty && $0.remoteCNAME == nil })
        #expect(answer.session.media[0].payloadType == 97 && answer.session.media[0].feedback == [.nack, .pli, .remb])
        #expect(answer.session.media[1].payloadType == 96)
    }

    @Test("the playout-delay extension is answered to a viewer with its ID")
    func playoutDelayExtension() throws {
        let answer = try Answer.toViewer(SDPSamples.chromiumViewerOffer, of: .vp8)
        #expect(answer.session.media[0].extensionMap.id(of: .playoutDelay) == 5)
        #expect(answer.session.media[0].extensionMap.id(of: .absoluteCaptureTime) == nil)
        #expect(answer.session.media[1].extensionMap.id(of: .playoutDelay) == nil)
    }

    @Test("absolute capture time is answered to a viewer that asks for it")
    func captureTimeExtension() throws {
        let text = SDPSamples.chromiumViewerOffer.replacing(
            "a=extmap:6 http://www.webrtc.org/experiments/rtp-hdrext/video-content-type",
            with: "a=extmap:6 \(RTPHeaderExtension.absoluteCaptureTime.uri)")
        #expect(try Answer.toViewer(text, of: .vp8).session.media[0].extensionMap.id(of: .absoluteCaptureTime) == 6)
    }

    @Test("a viewer receives two channels only if its own fmtp asks for them")
    func stereoOnRequest() throws {
        let mono = try Answer.toViewer(SDPSamples.chromiumViewerOffer, of: .vp8)
        #expect(!mono.session.media[1].opusStereo)
        let text = SDPSamples.chromiumViewerOffer.replacing("useinbandfec=1", with: "useinbandfec=1;stereo=1")
        let stereo = try Answer.toViewer(text, of: .vp8)
        #expect(stereo.session.media[1].opusStereo)
        #expect(stereo.lines.contains("a=fmtp:111 minptime=10;useinbandfec=1;stereo=1;sprop-stereo=1"))
    }

    @Test("without a source nothing is sent")
    func needsSource() throws {
        let answer = try Answer(
            to: SessionDescription(parsing: SDPSamples.chromiumViewerOffer), originSessionID: 1, transport: .test,
            capabilities: MediaCapabilities()
        ) { _, _ in AnswerOptions(direction: .sendOnly) }
        #expect(answer.session.media.allSatisfy { $0.direction == .inactive && $0.localSSRC == nil })
    }

    @Test("RFC 5761: payload types 64 to 95 are never chosen")
    func reservedPayloadTypes() throws {
        let text = SDPSamples.gstreamerViewerOffer
            .replacing("SAVPF 96", with: "SAVPF 72").replacing(":96 ", with: ":72 ")
        #expect(try Answer.toViewer(text, of: .h264(.stream)).session.media.map(\.type) == [.audio])
    }
}

extension TransportDescription {
    static let candidate = "candidate:1 1 udp 2130706431 192.0.2.7 8443 typ host"
    static let tcpCandidate = "candidate:2 1 tcp 1671430143 192.0.2.7 8443 typ host tcptype passive"

    /// The transport of a lite server.
    static let test = TransportDescription(
        iceUfrag: "srvU", icePwd: "serverPasswordOf22char", isLite: true,
        fingerprint: FingerprintAttribute(algorithm: "sha-256", bytes: Array(0..<32)),
        candidates: [candidate, tcpCandidate])

    static let client = TransportDescription(
        iceUfrag: "cliU", icePwd: "clientPasswordOf22char",
        fingerprint: FingerprintAttribute(algorithm: "sha-256", bytes: Array(32..<64)), candidates: [],
        hasAllCandidates: false)
}

extension OutgoingSource {
    static let video = OutgoingSource(
        ssrc: 1_000, rtxSSRC: 1_001, cname: "c", msid: MediaStreamIdentification(stream: "s", track: "v"))
    static let audio = OutgoingSource(
        ssrc: 2_000, cname: "c", msid: MediaStreamIdentification(stream: "s", track: "a"))
}

extension H264Format {
    static let stream = H264Format(profile: .constrainedBaseline, level: .level31)
}

extension Answer {
    /// Returns a server's answer to a publisher.
    static func toPublisher(
        _ text: String, capabilities: MediaCapabilities = MediaCapabilities()
    ) throws -> Answer {
        try Answer(
            to: SessionDescription(parsing: text), originSessionID: 77, transport: .test, capabilities: capabilities
        ) { _, ordinal in ordinal == 0 ? .receive : nil }
    }

    /// Returns a server's answer to a viewer.
    static func toViewer(
        _ text: String, of video: SourceFormat, capabilities: MediaCapabilities = MediaCapabilities()
    ) throws -> Answer {
        try Answer(
            to: SessionDescription(parsing: text), originSessionID: 77, transport: .test, capabilities: capabilities
        ) { type, _ in type == .video ? .send(video, from: .video) : .send(.opus, from: .audio) }
    }

    var lines: [String] { description.text.split(separator: "\r\n").map(String.init) }

    /// Returns the lines of one section, without the transport's.
    func lines(ofSection index: Int) -> [String] {
        let starts = lines.indices.filter { lines[$0].hasPrefix("m=") } + [lines.count]
        let transport = ["a=ice-", "a=fingerprint", "a=candidate", "a=end-of", "c="]
        return lines[starts[index]..<starts[index + 1]].filter { line in !transport.contains { line.hasPrefix($0) } }
    }
}
