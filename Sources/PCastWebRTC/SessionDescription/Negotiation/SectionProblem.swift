/// A media section of a peer's description that cannot be accepted, and the reason.
public struct SectionProblem: Hashable, Sendable {
    /// The reason, with what a person needs to correct it.
    public enum Reason: Hashable, Sendable {
        /// None of the section's codecs is supported, or for a viewer none of them is the stream's.
        case codec(offered: [String], usable: [String])
        /// The section's only H.264 has another profile or packetization mode than those that are supported.
        case profile(offered: [String])
        /// The stream's H.264 comes in fragments, and the section's only H.264 takes whole NAL units (RFC 6184,
        /// section 6.2).
        case packetizationMode
        /// There is another section of this kind, and a stream has one track of a kind.
        case furtherSection
        /// The description has several sections and no BUNDLE group, and there is one transport.
        case noBundle
        /// The section is not in the BUNDLE group that holds the transport.
        case notBundled
        /// The section does not multiplex RTP and RTCP on one port (RFC 5761).
        case noRTCPMultiplexing
        /// The transport is none of those that RFC 9429, section 5.1.2 names.
        case transportProtocol(String)
        /// The section is neither audio nor video, such as a data channel.
        case kind(String)
        /// Another section has the same `a=mid`.
        case duplicateMID
        /// No fingerprint of the certificate is of a supported hash and of its length.
        case fingerprint(offered: [String])

        /// A word for programs.
        public var code: String {
            switch self {
            case .codec: "codec"
            case .profile: "profile"
            case .packetizationMode: "packetization-mode"
            case .furtherSection: "further-section"
            case .noBundle: "no-bundle"
            case .notBundled: "not-bundled"
            case .noRTCPMultiplexing: "no-rtcp-mux"
            case .transportProtocol: "transport-protocol"
            case .kind: "kind"
            case .duplicateMID: "duplicate-mid"
            case .fingerprint: "fingerprint"
            }
        }
    }

    /// The section's place among the `m=` lines, from 0.
    public let index: Int
    /// The section's `a=mid`; nil without one.
    public let mid: String?
    /// The first word of the `m=` line.
    public let kind: String
    public let reason: Reason

    /// - Parameter index: the section's place in the description.
    public init(_ media: MediaDescription, at index: Int, _ reason: Reason) {
        self.index = index
        mid = media.mid.map { String($0.prefix(Self.longestName)) }
        kind = String(media.kind.name.prefix(Self.longestName))
        self.reason = reason
    }

    /// The most characters of a peer's name, and the most of its codecs, that are repeated to it.
    private static let longestName = 64
    static let mostNames = 8

    /// The section and the reason in a sentence.
    public var description: String {
        let name = mid.map { "m= section \(index) (\(kind), mid \($0))" } ?? "m= section \(index) (\(kind))"
        return "\(name): \(reason.sentence)"
    }
}

extension SectionProblem.Reason {
    /// What is wrong and what to do, as a sentence.
    public var sentence: String {
        switch self {
        case .codec(let offered, let usable):
            "\(Self.list(offered, none: "no codec")) cannot be used here. Offer \(Self.list(usable, none: "another one"))."
        case .profile(let offered):
            "H.264 with \(Self.list(offered, none: "these parameters")) is not supported. "
                + "Offer Baseline, Main or High with packetization-mode 0 or 1."
        case .packetizationMode: "the stream needs H.264 with packetization-mode=1. Offer that mode."
        case .furtherSection: "a stream has one track of this kind. Leave this section out."
        case .noBundle: "there is one transport, and the description has no BUNDLE group. Offer with “max-bundle”."
        case .notBundled:
            "there is one transport, and the section is not in its BUNDLE group. Put all sections into one group."
        case .noRTCPMultiplexing: "RTP and RTCP need to share one port. Add a=rtcp-mux."
        case .transportProtocol(let name): "\(name) is not supported. Use UDP/TLS/RTP/SAVPF."
        case .kind: "only audio and video are supported. Leave this section out."
        case .duplicateMID: "another section has the same mid. Give each section its own."
        case .fingerprint(let offered):
            "\(Self.list(offered, none: "the fingerprint")) cannot be used. "
                + "Send a whole fingerprint of sha-256, sha-384 or sha-512."
        }
    }

    private static func list(_ names: [String], none: String) -> String {
        names.isEmpty ? none : names.prefix(SectionProblem.mostNames).joined(separator: ", ")
    }
}

extension MediaDescription {
    /// The names of the section's codecs, each once, without those that only repair or mark what others carry.
    var codecNames: [String] {
        var names: [String] = []
        for type in payloadTypes {
            guard let name = rtpMaps.first(where: { $0.payloadType == type })?.encoding ?? Self.staticNames[type],
                !Self.helpers.contains(name.asciiLowercased), !names.contains(name)
            else { continue }
            names.append(String(name.prefix(32)))
        }
        return names
    }

    /// The parameters of the section's H.264 formats, each once.
    var h264Parameters: [String] {
        var texts: [String] = []
        for map in rtpMaps where map.encoding.asciiLowercased == "h264" && payloadTypes.contains(map.payloadType) {
            let parameters = formatParameters[map.payloadType]
            let names = ["profile-level-id", "packetization-mode"].compactMap { name in
                parameters?[name].map { "\(name)=\($0.prefix(32))" }
            }
            let text = names.isEmpty ? "no parameters" : names.joined(separator: " and ")
            if !texts.contains(text) { texts.append(text) }
        }
        return texts
    }

    /// RFC 3551, section 6.
    private static let staticNames: [UInt8: String] = [
        0: "PCMU", 3: "GSM", 4: "G723", 8: "PCMA", 9: "G722", 13: "CN", 18: "G729", 26: "JPEG", 31: "H261", 34: "H263",
    ]
    private static let helpers: Set = ["rtx", "red", "ulpfec", "flexfec", "flexfec-03", "telephone-event", "cn"]

    /// What RFC 9429, section 5.1.2 has every implementation accept, all of which mean DTLS-SRTP.
    var hasKnownTransport: Bool {
        let names = [
            "RTP/AVP", "RTP/AVPF", "RTP/SAVP", "RTP/SAVPF", "TCP/DTLS/RTP/SAVP", "TCP/DTLS/RTP/SAVPF",
            "UDP/TLS/RTP/SAVP", "UDP/TLS/RTP/SAVPF",
        ]
        return names.contains(transportProtocol)
    }
}
