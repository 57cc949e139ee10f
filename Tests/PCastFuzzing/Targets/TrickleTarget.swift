import PCastWebRTC

/// Trickle ICE fragments, as WHIP and WHEP clients send them.
enum TrickleTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        guard let fragment = try? TrickleFragment(parsing: String(decoding: bytes, as: UTF8.self)) else {
            return false
        }
        for candidate in fragment.candidates { _ = ICECandidate(candidate) }
        let text = fragment.text
        guard text.utf8.count <= 60_000 else { return true }
        guard let again = try? TrickleFragment(parsing: text) else {
            throw BrokenInvariant(description: "a written fragment that does not read back")
        }
        try check(again.candidates == fragment.candidates, "candidates that changed")
        try check(
            again.iceUfrag == fragment.iceUfrag && again.icePwd == fragment.icePwd
                && again.hasEndOfCandidates == fragment.hasEndOfCandidates, "a fragment that changed")
        return true
    }

    static let corpus: [[UInt8]] = [
        """
        a=ice-ufrag:EsAw
        a=ice-pwd:bP+XJMM09aR8AiX1jdukzR6Y
        m=audio 9 UDP/TLS/RTP/SAVPF 0
        a=mid:0
        a=candidate:1467250027 1 udp 2122260223 192.168.0.196 46243 typ host
        m=video 9 UDP/TLS/RTP/SAVPF 96
        a=mid:1
        a=candidate:3 1 tcp 1518214911 192.168.0.196 9 typ host tcptype active
        a=end-of-candidates

        """
    ].map { Array($0.utf8) }
}
