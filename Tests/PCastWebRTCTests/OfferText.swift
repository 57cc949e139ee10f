/// Offers line by line, for peers of any implementation.
enum OfferText {
    static let opus = ["a=rtpmap:111 opus/48000/2", "a=fmtp:111 minptime=10;useinbandfec=1"]
    static let h264 = [
        "a=rtpmap:96 H264/90000", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli",
        "a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
    ]
    /// The attribute of a SHA-256 fingerprint.
    static let fingerprint = "sha-256 " + (0..<32).map { _ in "AB" }.joined(separator: ":")

    struct Section {
        var first: String
        var mid: String?
        var lines: [String]
        var isMultiplexed = true
        var direction: String?
        var fingerprints = [fingerprint]

        static func audio(
            _ mid: String? = "0", _ types: String = "111", _ lines: [String] = opus, direction: String = "sendonly",
            transport: String = "UDP/TLS/RTP/SAVPF"
        ) -> Section {
            Section(first: "m=audio 9 \(transport) \(types)", mid: mid, lines: lines, direction: direction)
        }

        static func video(
            _ mid: String? = "1", _ types: String = "96", _ lines: [String] = h264, direction: String = "sendonly",
            transport: String = "UDP/TLS/RTP/SAVPF"
        ) -> Section {
            Section(first: "m=video 9 \(transport) \(types)", mid: mid, lines: lines, direction: direction)
        }

        static func dataChannel(_ mid: String = "2") -> Section {
            Section(
                first: "m=application 9 UDP/DTLS/SCTP webrtc-datachannel", mid: mid, lines: ["a=sctp-port:5000"],
                isMultiplexed: false)
        }

        var text: [String] {
            var text = [first, "c=IN IP4 0.0.0.0"]
            if let mid { text.append("a=mid:\(mid)") }
            text += ["a=ice-ufrag:\(mid ?? "none")frag", "a=ice-pwd:0123456789012345678901", "a=setup:actpass"]
            text += fingerprints.map { "a=fingerprint:\($0)" }
            if let direction { text.append("a=\(direction)") }
            if isMultiplexed { text.append("a=rtcp-mux") }
            return text + lines
        }
    }

    /// Returns an offer of sections. Nil for `groups` makes one BUNDLE group of all MIDs.
    static func make(_ sections: [Section], groups: [String]? = nil, session: [String] = []) -> String {
        let groups = groups ?? [sections.compactMap(\.mid).joined(separator: " ")]
        let head =
            ["v=0", "o=- 1 2 IN IP4 127.0.0.1", "s=-", "t=0 0"] + groups.map { "a=group:BUNDLE \($0)" } + session
        return (head + sections.flatMap(\.text)).map { $0 + "\r\n" }.joined()
    }
}
