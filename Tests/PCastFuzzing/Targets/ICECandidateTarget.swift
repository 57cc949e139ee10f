import PCastWebRTC

/// The `candidate` attribute (RFC 8839, section 5.1).
enum ICECandidateTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let candidate = ICECandidate(String(decoding: bytes, as: UTF8.self)) else { return false }
        let text = candidate.description
        try check(text.utf8.count <= 3 * bytes.count + 64, "\(text.utf8.count) bytes of text from \(bytes.count)")
        try check(ICECandidate(text) == candidate, "a candidate that changed: \(text)")
        return true
    }

    static let corpus: [[UInt8]] = [
        "candidate:1467250027 1 udp 2122260223 192.168.0.196 46243 typ host generation 0 ufrag EsAw",
        "candidate:1853887674 1 UDP 1518280447 47.61.61.61 36768 typ srflx raddr 192.168.0.196 rport 36768",
        "candidate:3 1 tcp 1518214911 2001:db8::1 9 typ host tcptype active",
        "candidate:4 1 udp 2113937151 0e3c2b5e-0a5c-4c0e-8d3f-1d2b3c4d5e6f.local 5000 typ host",
        "candidate:5 1 udp 16777215 198.51.100.7 3478 typ relay raddr 0.0.0.0 rport 0",
    ].map { Array($0.utf8) }
}
