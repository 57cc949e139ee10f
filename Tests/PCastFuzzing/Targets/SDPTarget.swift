import PCastCore
import PCastWebRTC

/// Session descriptions that are read, written and read again, answered, and used as an answer to an offer.
enum SDPTarget {
    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let description = try? SessionDescription(parsing: text) else { return false }
        try roundTrip(description)
        try answer(description, sends: false)
        try answer(description, sends: true)
        let offer = Offer(
            sections: [
                OfferSection(type: .audio, direction: .receiveOnly),
                OfferSection(type: .video, direction: .receiveOnly),
            ], originSessionID: 1, transport: transport, capabilities: MediaCapabilities())
        if let session = try? offer.accept(description) {
            try check(session.media.count <= 2, "an answer with more sections than the offer")
            let edited = MungedAnswer(text, keeping: session).text
            let again = try? SessionDescription(parsing: edited)
            try check(again?.media.count == 2, "an edited answer that lost a section")
        }
        return true
    }

    private static func roundTrip(_ description: SessionDescription) throws(BrokenInvariant) {
        let text = description.text
        guard text.utf8.count <= SDPLimits.textSize else { return }
        guard let again = try? SessionDescription(parsing: text) else {
            throw BrokenInvariant(description: "a written description that does not read back")
        }
        // A description is normalized when it is first written, and does not change after that.
        try check(again.text == text, "a description that changed")
    }

    private static func answer(_ offer: SessionDescription, sends: Bool) throws(BrokenInvariant) {
        let answer = try? Answer(
            to: offer, originSessionID: 1, transport: transport, capabilities: MediaCapabilities()
        ) { type, _ in
            guard sends else { return .receive }
            return .send(type == .video ? .vp8 : .opus, from: type == .video ? video : audio)
        }
        guard let answer else { return }
        try check(answer.description.media.count == offer.media.count, "an answer with other sections")
        try check(answer.description.media.map(\.mid) == offer.media.map(\.mid), "an answer with other mids")
        let text = answer.description.text
        guard let again = try? SessionDescription(parsing: text) else {
            throw BrokenInvariant(description: "an answer that does not read back")
        }
        try check(again.media.count == offer.media.count, "an answer that gained a section on its way")
        try check(
            again.media.allSatisfy { $0.isRejected || $0.setup == nil || $0.setup == .passive || $0.setup == .active },
            "an answer that leaves the roles open")
    }

    private static let transport = TransportDescription(
        iceUfrag: "srvU", icePwd: "serverPasswordOf22char", isLite: true,
        fingerprint: FingerprintAttribute(algorithm: "sha-256", bytes: Array(0..<32)),
        candidates: ["candidate:1 1 udp 2130706431 192.0.2.7 8443 typ host"])

    private static let video = OutgoingSource(
        ssrc: 1_000, rtxSSRC: 1_001, cname: "c", msid: MediaStreamIdentification(stream: "s", track: "v"))
    private static let audio = OutgoingSource(
        ssrc: 2_000, cname: "c", msid: MediaStreamIdentification(stream: "s", track: "a"))

    static let corpus: [[UInt8]] = [browserOffer, simulcastOffer, trickleAnswer].map { Array($0.utf8) }
}

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
