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
