import PCastCore

/// Offers line by line, as various clients write them.
enum OfferText {
    static let opus = ["a=rtpmap:111 opus/48000/2", "a=fmtp:111 minptime=10;useinbandfec=1"]
    static let h264 = h264(profile: "42e01f")
    static let hevc = ["a=rtpmap:96 H265/90000", "a=fmtp:96 level-id=93;profile-id=1"]
    static let fingerprint = "sha-256 " + (0..<32).map { _ in "AB" }.joined(separator: ":")

    static func h264(profile: String, mode: Int = 1) -> [String] {
        [
            "a=rtpmap:96 H264/90000", "a=rtcp-fb:96 nack", "a=rtcp-fb:96 nack pli",
            "a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=\(mode);profile-level-id=\(profile)",
        ]
    }

    static func audio(
        _ mid: String = "0", _ types: String = "111", _ lines: [String] = opus, direction: String = "sendonly"
    ) -> [String] {
        section("m=audio 9 UDP/TLS/RTP/SAVPF \(types)", mid, ["a=\(direction)", "a=rtcp-mux"] + lines)
    }

    static func video(
        _ mid: String = "1", _ types: String = "96", _ lines: [String] = h264, direction: String = "sendonly"
    ) -> [String] {
        section("m=video 9 UDP/TLS/RTP/SAVPF \(types)", mid, ["a=\(direction)", "a=rtcp-mux"] + lines)
    }

    static func dataChannel(_ mid: String) -> [String] {
        section("m=application 9 UDP/DTLS/SCTP webrtc-datachannel", mid, ["a=sctp-port:5000"])
    }

    private static func section(_ first: String, _ mid: String, _ lines: [String]) -> [String] {
        [
            first, "c=IN IP4 0.0.0.0", "a=mid:\(mid)", "a=ice-ufrag:frag", "a=ice-pwd:0123456789012345678901",
            "a=fingerprint:\(fingerprint)", "a=setup:actpass",
        ] + lines
    }

    /// Returns an offer of sections. Nil for `groups` makes one BUNDLE group of all MIDs.
    static func make(_ sections: [[String]], groups: [String]? = nil) -> String {
        let mids = sections.flatMap { $0 }.filter { $0.hasPrefix("a=mid:") }.map { $0.dropFirst(6) }
        let groups = groups ?? [mids.joined(separator: " ")]
        let head = ["v=0", "o=- 1 2 IN IP4 127.0.0.1", "s=-", "t=0 0"] + groups.map { "a=group:BUNDLE \($0)" }
        return (head + sections.flatMap { $0 }).map { $0 + "\r\n" }.joined()
    }

    /// Returns the offer of a viewer in a browser.
    static func viewer(video: [String] = h264) -> String {
        make([audio(direction: "recvonly"), OfferText.video("1", "96", video, direction: "recvonly")])
    }
}
