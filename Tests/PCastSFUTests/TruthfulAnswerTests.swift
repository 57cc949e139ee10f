import PCastCore
import PCastRTP
import PCastSFU
import PCastWebRTC
import Testing

/// Sessions of which a part is impossible are rejected with the reason (RFC 9725, section 4.4.3).
@Suite struct TruthfulAnswerTests {
    private let network = VirtualNetwork()

    /// Returns the offer of a client, modified as other clients would write it.
    private func offer(
        publishes: Bool, _ sections: [OfferSection]? = nil, _ change: (inout SessionDescription) -> Void = { _ in }
    ) -> SessionDescription {
        let msid = MediaStreamIdentification(stream: "s", track: "t")
        let source = OutgoingSource(ssrc: 0x1111, cname: "c", msid: msid)
        let direction: MediaDirection = publishes ? .sendOnly : .receiveOnly
        let typical = [MediaType.audio, .video].map {
            OfferSection(type: $0, direction: direction, source: publishes ? source : nil)
        }
        let credentials = ICECredentials.random(using: &network.generator)
        var description = Offer(
            sections: sections ?? typical, originSessionID: 1,
            transport: TransportDescription(
                iceUfrag: credentials.ufrag, icePwd: credentials.password,
                fingerprint: VirtualNetwork.certificate.fingerprint.attribute, candidates: []),
            capabilities: MediaCapabilities()
        ).description
        change(&description)
        return description
    }

    private func publish(
        _ offer: SessionDescription, terms: PeerOptions = PeerOptions(), stream: String = "stream"
    ) throws(SFUError) -> SessionDescription {
        try network.sfu.publish(
            PeerID(network.generator.next()), stream: StreamID(stream), offer: offer, terms: terms, at: network.now)
    }

    private func view(
        _ offer: SessionDescription, terms: PeerOptions = PeerOptions(), stream: String = "stream"
    ) throws(SFUError) -> SessionDescription {
        try network.sfu.view(
            PeerID(network.generator.next()), stream: StreamID(stream), offer: offer, terms: terms, at: network.now)
    }

    private func codes(_ body: () throws(SFUError) -> SessionDescription) -> [String]? {
        do throws(SFUError) {
            _ = try body()
            return nil
        } catch {
            return error.problemCodes ?? ["\(error)"]
        }
    }

    private static func makeForeign(_ media: inout MediaDescription) {
        media.rtpMaps = media.rtpMaps.map { RTPMap(payloadType: $0.payloadType, encoding: "AV9", clockRate: 90_000) }
    }

    // MARK: Publishers

    @Test("one unacceptable section of a publisher rejects the whole offer, and creates no stream")
    func publisher() throws {
        #expect(
            codes { () throws(SFUError) in try publish(offer(publishes: true) { Self.makeForeign(&$0.media[1]) }) }
                == ["codec"])
        #expect(
            codes { () throws(SFUError) in try publish(offer(publishes: true) { Self.makeForeign(&$0.media[0]) }) }
                == ["codec"])
        #expect(
            codes { () throws(SFUError) in try publish(offer(publishes: true) { $0.bundle = nil }) } == ["no-bundle"])
        #expect(
            codes { () throws(SFUError) in try publish(offer(publishes: true) { $0.bundle = ["1"] }) } == [
                "not-bundled"
            ])
        let split = offer(publishes: true) { $0.media[1].multiplexesRTCP = false }
        #expect(codes { () throws(SFUError) in try publish(split) } == ["no-rtcp-mux"])
        let twice = offer(publishes: true) { description in
            description.media.append(description.media[1])
            description.media[2].mid = "2"
            description.bundle?.append("2")
        }
        #expect(codes { () throws(SFUError) in try publish(twice) } == ["further-section"])
        let channel = offer(publishes: true) { description in
            var media = MediaDescription(kind: .application, transportProtocol: "UDP/DTLS/SCTP")
            media.mid = "data"
            media.otherFormats = ["webrtc-datachannel"]
            description.media.insert(media, at: 0)
            description.bundle?.insert("data", at: 0)
        }
        #expect(codes { () throws(SFUError) in try publish(channel) } == ["kind"])
        let short = offer(publishes: true) { description in
            for index in 0..<2 {
                description.media[index].fingerprints = [FingerprintAttribute(algorithm: "sha-256", bytes: [1])]
            }
        }
        #expect(codes { () throws(SFUError) in try publish(short) } == ["fingerprint"])
        // None of these offers has reserved the stream's identifier.
        #expect(try publish(offer(publishes: true)).media.map(\.direction) == [.receiveOnly, .receiveOnly])
    }

    @Test("media that the token does not permit become inactive sections, even with an unknown codec")
    func token() throws {
        for (type, isCrossTraffic) in [(MediaType.video, false), (.audio, false), (.video, true), (.audio, true)] {
            let left = type == .video ? 0 : 1
            let offer = offer(publishes: true) { if isCrossTraffic { Self.makeForeign(&$0.media[left]) } }
            let answer =
                try publish(offer, terms: PeerOptions(media: [type]), stream: "\(type)\(isCrossTraffic)")
                as SessionDescription?
            let media = try #require(answer?.media)
            guard !isCrossTraffic else { continue }
            #expect(media[left].direction == .inactive && media[left].port != 0 && media[left].payloadTypes.count == 1)
            #expect(media[1 - left].direction == .receiveOnly && answer?.bundle == ["0", "1"])
        }
    }

    @Test("an offer without the codec that a token demands is rejected") func demandedCodec() throws {
        let terms = PeerOptions(preferring: [.vp8], insistsOnCodecs: true)
        let source = OutgoingSource(ssrc: 1, cname: "c", msid: MediaStreamIdentification(stream: "s", track: "t"))
        let sections = [
            OfferSection(type: .audio, direction: .sendOnly, source: source),
            OfferSection(type: .video, direction: .sendOnly, codecs: [.h264], source: source),
        ]
        #expect(
            codes { () throws(SFUError) in try publish(offer(publishes: true, sections), terms: terms) } == ["codec"])
        #expect(try publish(offer(publishes: true), terms: terms).media[1].payloadFormats.map(\.codec) == [.vp8])
    }

    // MARK: Viewers

    private func publishVideo(_ codec: Codec, stream: String = "stream") throws {
        let source = OutgoingSource(ssrc: 7, cname: "c", msid: MediaStreamIdentification(stream: "s", track: "t"))
        let section = OfferSection(type: .video, direction: .sendOnly, codecs: [codec], source: source)
        _ = try publish(offer(publishes: true, [section]), stream: stream)
    }

    @Test("a track that the stream does not have is an inactive section within the bundle")
    func lacking() throws {
        try publishVideo(.vp8)
        for kinds in [[MediaType.audio, .video], [.video, .audio]] {
            let sections = kinds.map { OfferSection(type: $0, direction: .receiveOnly) }
            let answer = try view(offer(publishes: false, sections))
            let audio = kinds.firstIndex(of: .audio) ?? 0
            #expect(answer.media[audio].direction == .inactive && answer.media[audio].port != 0)
            #expect(answer.media[audio].iceUfrag == answer.media[1 - audio].iceUfrag)
            #expect(answer.media[1 - audio].direction == .sendOnly && answer.bundle == ["0", "1"])
        }
    }

    @Test("an offer that cannot receive one of the stream's tracks is rejected") func unreceivable() throws {
        _ = try publish(offer(publishes: true))
        #expect(
            codes { () throws(SFUError) in try view(offer(publishes: false) { Self.makeForeign(&$0.media[1]) }) } == [
                "codec"
            ])
        #expect(
            codes { () throws(SFUError) in try view(offer(publishes: false) { Self.makeForeign(&$0.media[0]) }) } == [
                "codec"
            ])
        #expect(
            codes { () throws(SFUError) in try view(offer(publishes: false) { $0.bundle = nil }) } == ["no-bundle"])
        #expect(
            codes { () throws(SFUError) in try view(offer(publishes: false) { $0.bundle = ["0"] }) } == [
                "not-bundled"
            ])
        let whole = offer(publishes: false) { description in
            for type in description.media[1].payloadTypes {
                description.media[1].formatParameters[type]?["packetization-mode"] = nil
            }
            description.media[1].payloadTypes = [102]
        }
        #expect(codes { () throws(SFUError) in try view(whole) } == ["packetization-mode"])
        // An offer that asks for audio alone receives it.
        let audio = offer(publishes: false, [OfferSection(type: .audio, direction: .receiveOnly)])
        #expect(try view(audio).media.map(\.direction) == [.sendOnly])
    }

    @Test("further sections of the same kind in a viewer's offer are inactive") func further() throws {
        _ = try publish(offer(publishes: true))
        let sections = [MediaType.video, .video, .audio, .audio].map { OfferSection(type: $0, direction: .receiveOnly) }
        let answer = try view(offer(publishes: false, sections))
        #expect(answer.media.map(\.direction) == [.sendOnly, .inactive, .sendOnly, .inactive])
        #expect(answer.media.allSatisfy { $0.port != 0 } && answer.bundle == ["0", "1", "2", "3"])
        // If only one of two sections is usable, that one is used.
        let second = try view(offer(publishes: false, sections) { Self.makeForeign(&$0.media[0]) })
        #expect(second.media.map(\.direction) == [.inactive, .sendOnly, .sendOnly, .inactive])
    }

    @Test("a stream of High profile is sent to a viewer that offers Baseline profile")
    func high() throws {
        let source = OutgoingSource(ssrc: 7, cname: "c", msid: MediaStreamIdentification(stream: "s", track: "t"))
        let format = SourceFormat.h264(H264Format(profile: .high, level: .level40))
        let section = OfferSection(type: .video, direction: .sendOnly, format: format, source: source)
        let high = offer(publishes: true, [section]) { description in
            description.media[0].payloadTypes = [102]
        }
        #expect(
            try publish(high, stream: VirtualNetwork.stream.description).media[0].payloadFormats[0].h264?.profile
                == .high)
        let viewing = try network.answerAsViewer()
        #expect(
            viewing.offer.media[0].payloadFormats.compactMap(\.h264?.profile) == [
                .high, .constrainedHigh, .main, .constrainedBaseline,
            ])
        let viewer = try view(offer(publishes: false), stream: VirtualNetwork.stream.description)
        #expect(viewer.media.map(\.direction) == [.inactive, .sendOnly])
        #expect(viewer.media[1].payloadFormats[0].h264?.profileLevelID.hasPrefix("42e0") == true)
    }
}

extension SFUError {
    /// The reasons of the rejected sections; nil for another error.
    var problemCodes: [String]? {
        guard case .unacceptable(let problems) = self else { return nil }
        return problems.map(\.reason.code)
    }
}
