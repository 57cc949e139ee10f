import PCastCore
import PCastRTP
import PCastSFU
import PCastTestSupport
import PCastWebRTC

/// The packets that a platform sends to a connected client. The first byte selects publishing or viewing, and the video
/// codec.
enum CallMediaTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        let choice = input.byte()
        let isPublisher = choice & 1 == 0
        let codec: Codec = choice & 2 == 0 ? .vp8 : .h264
        guard let certificate = AgreedEnd.certificate else { throw BrokenInvariant(description: "no certificate") }
        var generator = SeededGenerator(seed: 8)
        var connection = PeerConnection(
            isPublisher ? .publish(video: codec, audio: true, layers: 1) : .view(video: true, audio: true),
            configuration: PeerConnection.Configuration(
                certificate: certificate, addresses: [AgreedEnd.peerAddress], clock: AgreedEnd.clock, cname: "fuzz"),
            using: &generator)
        let end = try answer(&connection, certificate, isPublisher: isPublisher, codec, at: AgreedEnd.now)
        var session = AgreedSession(
            connection, at: AgreedEnd.peerAddress, with: end, at: AgreedEnd.relayAddress, drainOutputs: drainOutputs)
        try session.processHandshakes()
        if isPublisher {
            let now = session.now
            session.machine.send(
                EncodedFrame(
                    codec: codec, bytes: codec == .vp8 ? vp8KeyFrame : h264KeyFrame, isKeyFrame: true,
                    timestamp: MediaTime(ticks: 0, rate: .video), captureTime: nil), at: now)
        }
        return try session.send(AgreedPackets(input))
    }

    private static func drainOutputs(_ connection: inout PeerConnection, at now: Instant) throws(BrokenInvariant) {
        var frames = 0
        while connection.pollFrame(at: now) != nil {
            frames += 1
            try check(frames < 10_000, "frames without end")
        }
        while connection.pollEvent() != nil {}
    }

    private static let vp8KeyFrame: [UInt8] = [0x50, 0x01, 0x00, 0x9D, 0x01, 0x2A, 0x10, 0, 0x10, 0]
    /// A key frame in Annex B format.
    private static let h264KeyFrame: [UInt8] =
        [0, 0, 0, 1, 0x67, 0x42, 0xC0, 0x1F, 0xDA, 0x02, 0x80, 0, 0, 0, 1, 0x68, 0xCE, 0x3C, 0x80]
        + [0, 0, 0, 1, 0x65, 0x88, 0x84, 1, 2, 3]

    /// Returns the SFU's answer, with the credentials of an end that sends arbitrary data.
    private static func answer(
        _ connection: inout PeerConnection, _ certificate: DTLSCertificate, isPublisher: Bool, _ codec: Codec,
        at now: Instant
    ) throws(BrokenInvariant) -> AgreedEnd {
        var generator = SeededGenerator(seed: 9)
        let local = ICECredentials.random(using: &generator)
        do {
            var sfu = SFU(
                configuration: SFUConfiguration(
                    certificate: certificate, advertised: [AgreedEnd.relayAddress], offersTCP: false,
                    clock: AgreedEnd.clock), generator: SeededGenerator(seed: 10))
            var answer: SessionDescription
            if isPublisher {
                answer = try sfu.publish(PeerID(1), stream: AgreedEnd.stream, offer: connection.offer, at: now)
            } else {
                let publisher = PeerConnection(
                    .publish(video: codec, audio: true, layers: 1),
                    configuration: PeerConnection.Configuration(
                        certificate: certificate, addresses: [AgreedEnd.peerAddress], clock: AgreedEnd.clock,
                        cname: "publisher"), using: &generator)
                _ = try sfu.publish(PeerID(1), stream: AgreedEnd.stream, offer: publisher.offer, at: now)
                answer = try sfu.view(
                    PeerID(2), stream: AgreedEnd.stream, offer: connection.offer, terms: PeerOptions(), at: now)
            }
            for index in answer.media.indices where answer.media[index].iceUfrag != nil {
                answer.media[index].iceUfrag = local.ufrag
                answer.media[index].icePwd = local.password
            }
            try connection.accept(answer, at: now)
        } catch {
            throw BrokenInvariant(description: "\(error)")
        }
        let handshake = OpenSSLHandshake(
            certificate: certificate, role: isPublisher ? .server : .client,
            expectedFingerprints: [certificate.fingerprint])
        return AgreedEnd(SecureTransport(lite: ICELiteAgent(local: local), handshake: handshake, seed: 11))
    }

    static let corpus: [[UInt8]] = {
        let reports: [AgreedPackets.Packet] = [
            .rtcp(hexadecimal("80c80006 00001111 e0000000 80000000 00000bb8 00000002 00000020")),
            .rtp(hexadecimal("80600001 00000bb8 00001111 10 50010029 d0020000 00000000 00000000")),
            .rtcp(hexadecimal("81ce0002 00000001 00001111")),
        ]
        return [
            [0] + AgreedPackets.input(reports), [1] + AgreedPackets.input(reports),
            [0] + AgreedPackets.input(AgreedPackets.edges), [1] + AgreedPackets.input(AgreedPackets.edges),
            [2] + AgreedPackets.input(reports), [3] + AgreedPackets.input(AgreedPackets.h264 + AgreedPackets.edges),
        ]
    }()
}
