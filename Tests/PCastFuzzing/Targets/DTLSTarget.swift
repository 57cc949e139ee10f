import PCastCore
import PCastWebRTC

/// A DTLS client and a server, between which every datagram may be lost, modified, repeated or forged.
enum DTLSTarget {
    /// The operations on a queued datagram.
    private enum Fate: UInt8 {
        case delivered, damaged, repeated, cut, lost, forged
    }

    private static let now = Instant(nanoseconds: 1_000_000_000)

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let certificate else { throw BrokenInvariant(description: "no certificate") }
        var input = FuzzInput(Array(bytes.prefix(512)))
        let ends = [DTLSRole.client, .server].map {
            OpenSSLHandshake(certificate: certificate, role: $0, expectedFingerprints: [certificate.fingerprint])
        }
        var time = now
        var isHeard = false
        for end in ends { end.start(at: time) }
        for _ in 0..<64 where !input.isAtEnd {
            let operation = input.byte()
            let isServer = operation & 0x80 != 0
            let waiting = try poll(ends[isServer ? 0 : 1], before: operation & 0x40 != 0)
            for datagram in suffer(Fate(rawValue: operation & 7) ?? .delivered, waiting, &input) {
                isHeard = isHeard || !datagram.isEmpty
                datagram.withByteView { ends[isServer ? 1 : 0].handle($0, at: time) }
            }
            time += .milliseconds(Int64(operation & 0x38) * 4)
            for end in ends { end.advance(to: time) }
        }
        try evaluate(ends)
        for end in ends { end.close() }
        return isHeard
    }

    /// Returns the next datagram, or all of a flight.
    private static func poll(_ end: OpenSSLHandshake, before first: Bool) throws(BrokenInvariant) -> [[UInt8]] {
        let memory = ByteStorage(byteCount: 2048)
        let buffer = memory.bytes
        var datagrams: [[UInt8]] = []
        while let length = end.poll(into: buffer) {
            try check(length > 0 && length <= 1500, "a datagram of \(length) bytes")
            datagrams.append(Array(buffer[..<length]))
            try check(datagrams.count <= 64, "an endless flight")
            if first { break }
        }
        return datagrams
    }

    private static func suffer(_ fate: Fate, _ datagrams: [[UInt8]], _ input: inout FuzzInput) -> [[UInt8]] {
        switch fate {
        case .delivered: return datagrams
        case .lost: return []
        case .repeated: return datagrams + datagrams
        case .forged: return [input.chunk()] + datagrams
        case .cut:
            let length = Int(input.byte())
            return datagrams.map { Array($0.prefix(length)) }
        case .damaged:
            let (place, mask) = (Int(input.integer(UInt16.self)), input.byte())
            return datagrams.map { datagram in
                var datagram = datagram
                datagram[place % datagram.count] ^= mask
                return datagram
            }
        }
    }

    /// Checks that two ends that have finished hold the same keys.
    private static func evaluate(_ ends: [OpenSSLHandshake]) throws(BrokenInvariant) {
        guard case .established(let client) = ends[0].state, case .established(let server) = ends[1].state else {
            return
        }
        try check(client.profile == server.profile, "two ends of two profiles")
        try check(client.localKey == server.remoteKey, "a client whose key the server lacks")
        try check(client.remoteKey == server.localKey, "a server whose key the client lacks")
        try check(client.localSalt == server.remoteSalt, "a client whose salt the server lacks")
    }

    private static let certificate = try? DTLSCertificate.generate(
        at: WallTime(millisecondsSinceEpoch: 1_700_000_000_000))

    static let corpus: [[UInt8]] = [
        // Datagrams to the server and to the client in turns.
        [0x80, 0x00, 0x80, 0x00, 0x80, 0x00],
        // The first flight is lost and repeated, and the response arrives twice.
        [0x84, 0x38, 0x38, 0x38, 0x38, 0x80, 0x02, 0x80, 0x00, 0x80],
        // A ClientHello of another source, then the real one with a modified byte.
        [0x85, 0, 25] + hexadecimal("16feff0000000000000000000c010000000000000000000000") + [0x81, 0, 60, 1, 0x00],
    ]
}
