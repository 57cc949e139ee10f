import PCastCore
import PCastRTP
import PCastSFU
import PCastTestSupport
import PCastWebRTC

/// The packets that a connected publisher or viewer sends to the SFU. The first byte selects the role and the video
/// codec.
enum RelayMediaTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        let choice = input.byte()
        let isPublisher = choice & 1 == 0
        let codec: Codec = choice & 2 == 0 ? .vp8 : .h264
        var sfu = try sfu()
        let end = try join(&sfu, asPublisher: isPublisher, codec)
        var session = AgreedSession(
            sfu, at: AgreedEnd.relayAddress, with: end, at: AgreedEnd.peerAddress
        ) { sfu, _ in while sfu.pollEvent() != nil {} }
        try session.processHandshakes()
        return try session.send(AgreedPackets(input))
    }

    private static func sfu() throws(BrokenInvariant) -> SFU {
        guard let certificate = AgreedEnd.certificate else { throw BrokenInvariant(description: "no certificate") }
        return SFU(
            configuration: SFUConfiguration(
                certificate: certificate, advertised: [AgreedEnd.relayAddress], offersTCP: false, clock: AgreedEnd.clock
            ),
            generator: SeededGenerator(seed: 5))
    }

    /// Admits a publisher of two tracks with the SSRCs 0x1111 (retransmissions: 0x1112) and 0x1113, or its viewer.
    private static func join(
        _ sfu: inout SFU, asPublisher: Bool, _ codec: Codec
    ) throws(BrokenInvariant) -> AgreedEnd {
        var generator = SeededGenerator(seed: 6)
        do {
            if !asPublisher {
                // The publisher is silent and never connects.
                let (offer, _) = try offer(sections(asPublisher: true, codec), &generator)
                _ = try sfu.publish(
                    PeerID(1), stream: AgreedEnd.stream, offer: offer.description, at: AgreedEnd.now)
            }
            let (offer, credentials) = try offer(sections(asPublisher: asPublisher, codec), &generator)
            let answer =
                asPublisher
                ? try sfu.publish(PeerID(2), stream: AgreedEnd.stream, offer: offer.description, at: AgreedEnd.now)
                : try sfu.view(
                    PeerID(2), stream: AgreedEnd.stream, offer: offer.description, terms: PeerOptions(),
                    at: AgreedEnd.now)
            let session = try offer.accept(answer)
            let remote = session.remoteTransport
            guard let theirs = ICECredentials(ufrag: remote.iceUfrag, password: remote.icePwd),
                let certificate = AgreedEnd.certificate
            else { throw BrokenInvariant(description: "an answer without credentials") }
            var agent = ICEControllingAgent(
                local: credentials, remote: theirs, tieBreaker: 1, addresses: [AgreedEnd.peerAddress], seed: 2)
            for candidate in remote.candidates.compactMap({ ICECandidate($0) }) {
                agent.addRemoteCandidate(candidate, at: AgreedEnd.now)
            }
            let handshake = OpenSSLHandshake(
                certificate: certificate, role: session.isDTLSClient ? .client : .server,
                expectedFingerprints: remote.fingerprints.compactMap { DTLSFingerprint($0) })
            return AgreedEnd(SecureTransport(controlling: agent, handshake: handshake, seed: 3))
        } catch let error as BrokenInvariant {
            throw error
        } catch {
            throw BrokenInvariant(description: "\(error)")
        }
    }

    private static func sections(asPublisher: Bool, _ codec: Codec) -> [OfferSection] {
        guard asPublisher else {
            return [
                OfferSection(type: .video, direction: .receiveOnly),
                OfferSection(type: .audio, direction: .receiveOnly),
            ]
        }
        let msid = MediaStreamIdentification(stream: "s", track: "t")
        return [
            OfferSection(
                type: .video, direction: .sendOnly, codecs: [codec],
                source: OutgoingSource(ssrc: 0x1111, rtxSSRC: 0x1112, cname: "c", msid: msid)),
            OfferSection(
                type: .audio, direction: .sendOnly, source: OutgoingSource(ssrc: 0x1113, cname: "c", msid: msid)),
        ]
    }

    private static func offer(
        _ sections: [OfferSection], _ generator: inout SeededGenerator
    ) throws(BrokenInvariant) -> (Offer, ICECredentials) {
        guard let certificate = AgreedEnd.certificate else { throw BrokenInvariant(description: "no certificate") }
        let credentials = ICECredentials.random(using: &generator)
        let offer = Offer(
            sections: sections, originSessionID: 7,
            transport: TransportDescription(
                iceUfrag: credentials.ufrag, icePwd: credentials.password,
                fingerprint: certificate.fingerprint.attribute, candidates: []),
            capabilities: MediaCapabilities(feedback: .all))
        return (offer, credentials)
    }

    static let corpus: [[UInt8]] = {
        let media: [AgreedPackets.Packet] = [
            // A VP8 key frame in two packets, and audio.
            .rtp(hexadecimal("80600001 00000bb8 00001111 10 50010029 d0020000 00000000 00000000")),
            .rtp(hexadecimal("80e00002 00000bb8 00001111 00 01020304 05060708")),
            .rtp(hexadecimal("806f0001 000003c0 00001113 7801020304")),
            .rtcp(hexadecimal("80c80006 00001111 e0000000 80000000 00000bb8 00000002 00000020")),
        ]
        let reports: [AgreedPackets.Packet] = [
            .rtcp(hexadecimal("81c90007 00000001 00001111 00000000 00000001 00000001 00000000 00000000")),
            .rtcp(hexadecimal("81cd0003 00000001 00001111 00018001 81ce0002 00000001 00001111")),
            .rtcp(hexadecimal("8fcd0005 00000001 00001111 00000001 00000100 20010400")),
        ]
        return [
            [0] + AgreedPackets.input(media), [0] + AgreedPackets.input(media + AgreedPackets.edges),
            [1] + AgreedPackets.input(reports), [1] + AgreedPackets.input(reports + AgreedPackets.edges),
            [2] + AgreedPackets.input(AgreedPackets.h264 + Array(media.suffix(2))),
            [3] + AgreedPackets.input(reports),
        ]
    }()
}
