import PCastCore
import PCastWebRTC

extension TransportDescription {
    static let candidate = "candidate:1 1 udp 2130706431 192.0.2.7 8443 typ host"
    static let tcpCandidate = "candidate:2 1 tcp 1671430143 192.0.2.7 8443 typ host tcptype passive"

    /// The transport of a lite server.
    static let test = TransportDescription(
        iceUfrag: "srvU", icePwd: "serverPasswordOf22char", isLite: true,
        fingerprint: FingerprintAttribute(algorithm: "sha-256", bytes: Array(0..<32)),
        candidates: [candidate, tcpCandidate])

    static let client = TransportDescription(
        iceUfrag: "cliU", icePwd: "clientPasswordOf22char",
        fingerprint: FingerprintAttribute(algorithm: "sha-256", bytes: Array(32..<64)), candidates: [],
        hasAllCandidates: false)
}

extension OutgoingSource {
    static let video = OutgoingSource(
        ssrc: 1_000, rtxSSRC: 1_001, cname: "c", msid: MediaStreamIdentification(stream: "s", track: "v"))
    static let audio = OutgoingSource(
        ssrc: 2_000, cname: "c", msid: MediaStreamIdentification(stream: "s", track: "a"))
}

extension H264Format {
    static let stream = H264Format(profile: .constrainedBaseline, level: .level31)
}

extension Answer {
    /// Returns a server's answer to a publisher.
    static func toPublisher(
        _ text: String, capabilities: MediaCapabilities = MediaCapabilities()
    ) throws -> Answer {
        try Answer(
            to: SessionDescription(parsing: text), originSessionID: 77, transport: .test, capabilities: capabilities
        ) { _, ordinal in ordinal == 0 ? .receive : nil }
    }

    /// Returns a server's answer to a viewer.
    static func toViewer(
        _ text: String, of video: SourceFormat, capabilities: MediaCapabilities = MediaCapabilities()
    ) throws -> Answer {
        try Answer(
            to: SessionDescription(parsing: text), originSessionID: 77, transport: .test, capabilities: capabilities
        ) { type, _ in type == .video ? .send(video, from: .video) : .send(.opus, from: .audio) }
    }

    var lines: [String] { description.text.split(separator: "\r\n").map(String.init) }

    /// Returns the lines of one section, without the transport's.
    func lines(ofSection index: Int) -> [String] {
        let starts = lines.indices.filter { lines[$0].hasPrefix("m=") } + [lines.count]
        let transport = ["a=ice-", "a=fingerprint", "a=candidate", "a=end-of", "c="]
        return lines[starts[index]..<starts[index + 1]].filter { line in !transport.contains { line.hasPrefix($0) } }
    }
}
