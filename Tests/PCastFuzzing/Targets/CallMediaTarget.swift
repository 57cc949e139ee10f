import PCastCore
import PCastRTP
import PCastSFU
import PCastTestSupport
import PCastWebRTC

/// The packets that a platform sends to a connected client. The first byte selects publishing or viewing, and the video
/// codec.
enum CallMediaTarget {
    private static let path = NetworkPath(local: AgreedEnd.peerAddress, remote: AgreedEnd.relayAddress)
    private static let back = NetworkPath(local: AgreedEnd.relayAddress, remote: AgreedEnd.peerAddress)

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        let choice = input.byte()
        let isPublisher = choice & 1 == 0
        let codec: Codec = choice & 2 == 0 ? .vp8 : .h264
        var now = AgreedEnd.now
        guard let certificate = AgreedEnd.certificate else { throw BrokenInvariant(description: "no certificate") }
        var generator = SeededGenerator(seed: 8)
        var connection = PeerConnection(
            isPublisher ? .publish(video: codec, audio: true, layers: 1) : .view(video: true, audio: true),
            configuration: PeerConnection.Configuration(
                certificate: certificate, addresses: [AgreedEnd.peerAddress], clock: AgreedEnd.clock, cname: "fuzz"),
            using: &generator)
        var end = try answer(&connection, certificate, isPublisher: isPublisher, codec, at: now)
        var batch = DatagramBatch()
        try processHandshakes(&connection, &end, &batch, at: &now)
        if isPublisher {
            connection.send(
                EncodedFrame(
                    codec: codec, bytes: codec == .vp8 ? vp8KeyFrame : h264KeyFrame, isKeyFrame: true,
                    timestamp: MediaTime(ticks: 0, rate: .video), captureTime: nil), at: now)
        }
        var packets = AgreedPackets(input)
        var isHeard = false
        while let (packet, pause) = packets.next() {
            let protected =
                switch packet {
                case .rtp(let bytes): end.protect(rtp: bytes)
                case .rtcp(let bytes): end.protect(rtcp: bytes)
                }
            now += pause
            guard let protected else { continue }
            isHeard = true
            var datagram = protected
            datagram.withUnsafeMutableBytes { connection.handle($0, from: path, at: now) }
            try drain(&connection, &batch, at: now) { _ in }
            try pass(&connection, &batch, until: now)
        }
        now += .seconds(2)
        try pass(&connection, &batch, until: now)
        return isHeard
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
            certificate: certificate, role: .server, expectedFingerprints: [certificate.fingerprint])
        return AgreedEnd(SecureTransport(lite: ICELiteAgent(local: local), handshake: handshake, seed: 11))
    }

    private static func processHandshakes(
        _ connection: inout PeerConnection, _ end: inout AgreedEnd, _ batch: inout DatagramBatch, at now: inout Instant
    ) throws(BrokenInvariant) {
        for _ in 0..<200 where !end.isConnected {
            connection.advance(to: now)
            var flight: [[UInt8]] = []
            try drain(&connection, &batch, at: now) { flight.append($0) }
            for datagram in flight { end.handle(datagram, from: back, at: now) }
            end.advance(to: now)
            _ = end.poll(into: &batch, at: now)
            let answers = (0..<batch.count).map { Array(batch.bytes(of: batch[$0])) }
            batch.removeAll()
            for var answer in answers { answer.withUnsafeMutableBytes { connection.handle($0, from: path, at: now) } }
            now += .milliseconds(1)
        }
        try check(end.isConnected, "no keys are agreed on")
    }

    private static func drain(
        _ connection: inout PeerConnection, _ batch: inout DatagramBatch, at now: Instant, _ body: ([UInt8]) -> Void
    ) throws(BrokenInvariant) {
        var rounds = 0
        while true {
            let hasMore = connection.poll(into: &batch, at: now)
            for index in 0..<batch.count {
                let bytes = batch.bytes(of: batch[index])
                try check(bytes.count <= 1_500, "a datagram of \(bytes.count) bytes")
                body(Array(bytes))
            }
            batch.removeAll()
            rounds += 1
            try check(rounds < 1_000, "there is always more to send")
            if !hasMore { break }
        }
        var frames = 0
        while connection.pollFrame(at: now) != nil {
            frames += 1
            try check(frames < 10_000, "frames without end")
        }
        while connection.pollEvent() != nil {}
    }

    private static func pass(
        _ connection: inout PeerConnection, _ batch: inout DatagramBatch, until now: Instant
    ) throws(BrokenInvariant) {
        var rounds = 0
        while let deadline = connection.deadline, deadline <= now {
            connection.advance(to: now)
            try drain(&connection, &batch, at: now) { _ in }
            rounds += 1
            try check(rounds < 1_000, "a deadline does not move on")
        }
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
