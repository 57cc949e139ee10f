/// A media section that cannot be accepted, and the reason.
public struct SectionProblem: Hashable, Sendable {
    /// The reason, with the values that help a person correct it.
    public enum Reason: Hashable, Sendable {
        /// None of the section's codecs is supported, or for a viewer none is that of the stream.
        case codec(offered: [String], usable: [String])
        /// All H.264 formats of the section have unsupported profiles or packetization modes.
        case profile(offered: [String])
        /// The stream is H.264 with fragments, and the section supports only packetization mode 0 (RFC 6184, section
        /// 6.2).
        case packetizationMode
        /// The stream already has a track of this type.
        case furtherSection
        /// The description has several sections but no BUNDLE group, and there is only one transport.
        case noBundle
        /// The section is not in the BUNDLE group whose transport is used.
        case notBundled
        /// The section does not multiplex RTP and RTCP on one port (RFC 5761).
        case noRTCPMultiplexing
        /// The transport protocol is none of those in RFC 9429, section 5.1.2.
        case transportProtocol(String)
        /// The section is neither audio nor video, e.g. a data channel.
        case kind(String)
        /// Another section has the same MID.
        case duplicateMID
        /// No fingerprint has a supported hash function and its length.
        case fingerprint(offered: [String])

        /// The identifier of the reason, for programs.
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

    /// The index of the section in the description.
    public let index: Int
    /// The MID of the section; nil if missing.
    public let mid: String?
    /// The media type in the `m=` line.
    public let kind: String
    /// The reason.
    public let reason: Reason

    /// Creates a problem of the section at an index.
    public init(_ media: MediaDescription, at index: Int, _ reason: Reason) {
        self.index = index
        mid = media.mid.map { String($0.prefix(Self.longestName)) }
        kind = String(media.kind.name.prefix(Self.longestName))
        self.reason = reason
    }

    /// The maximum length of a peer's name that is repeated in messages.
    private static let longestName = 64
    /// The maximum number of a peer's codecs that are repeated in messages.
    static let maximumNames = 8

    /// The message for a person: the section and the reason.
    public var description: String {
        let name = mid.map { "m= section \(index) (\(kind), mid \($0))" } ?? "m= section \(index) (\(kind))"
        return "\(name): \(reason.sentence)"
    }
}

extension SectionProblem.Reason {
    /// The message for a person: what is wrong and what to do.
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

    /// Returns a list of names, or another text if there are none.
    private static func list(_ names: [String], none: String) -> String {
        names.isEmpty ? none : names.prefix(SectionProblem.maximumNames).joined(separator: ", ")
    }
}

extension MediaDescription {
    /// The names of the section's codecs without repetitions, without formats for repair and the like.
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

    /// The parameters of the section's H.264 formats, without repetitions.
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

    /// The names of static payload types (RFC 3551, section 6).
    private static let staticNames: [UInt8: String] = [
        0: "PCMU", 3: "GSM", 4: "G723", 8: "PCMA", 9: "G722", 13: "CN", 18: "G729", 26: "JPEG", 31: "H261", 34: "H263",
    ]
    /// The names of formats that only accompany codecs.
    private static let helpers: Set = ["rtx", "red", "ulpfec", "flexfec", "flexfec-03", "telephone-event", "cn"]

    /// Whether the transport protocol is one that all implementations must accept as DTLS-SRTP (RFC 9429, section
    /// 5.1.2).
    var hasKnownTransport: Bool {
        let names = [
            "RTP/AVP", "RTP/AVPF", "RTP/SAVP", "RTP/SAVPF", "TCP/DTLS/RTP/SAVP", "TCP/DTLS/RTP/SAVPF",
            "UDP/TLS/RTP/SAVP", "UDP/TLS/RTP/SAVPF",
        ]
        return names.contains(transportProtocol)
    }
}
