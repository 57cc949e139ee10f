public import PCastCore

/// An `m=` section of a session description (RFC 8866, section 5.14).
public struct MediaDescription: Hashable, Sendable {
    /// The media type, i.e. the first word of the `m=` line.
    public enum Kind: Hashable, Sendable {
        /// Video.
        case video
        /// Audio.
        case audio
        /// Data channels (RFC 8841).
        case application
        /// Any other media type, by its name.
        case other(String)

        /// Creates a type from the word in the `m=` line.
        init(_ text: String) {
            switch text {
            case "video": self = .video
            case "audio": self = .audio
            case "application": self = .application
            default: self = .other(text)
            }
        }

        /// The word in the `m=` line.
        public var name: String {
            switch self {
            case .video: "video"
            case .audio: "audio"
            case .application: "application"
            case .other(let name): name
            }
        }

        /// The media type; nil for others than video and audio.
        public var mediaType: MediaType? { MediaType(rawValue: name) }
    }

    /// The media type of the section.
    public var kind: Kind
    /// The port: 9 if ICE determines it, and 0 if the section is rejected or uses the port of another one.
    public var port: UInt16
    /// The transport protocol, e.g. `UDP/TLS/RTP/SAVPF`.
    public var transportProtocol: String
    /// The payload types in the order of preference, without repetitions; empty if the transport does not carry RTP.
    public var payloadTypes: [UInt8] = []
    /// The formats of a section without RTP, e.g. `webrtc-datachannel`.
    public var otherFormats: [String] = []

    /// The MID, the section's identifier in BUNDLE groups and packets (RFC 5888, section 4); nil if missing.
    public var mid: String?
    /// The direction, from the view of the side that wrote the description.
    public var direction = MediaDirection.sendReceive
    /// Whether the section is accepted only as part of a BUNDLE group (RFC 9143, section 6).
    public var isBundleOnly = false
    /// Whether RTP and RTCP share a port (RFC 5761).
    public var multiplexesRTCP = false
    /// Whether RTP and RTCP must share a port (RFC 8858).
    public var requiresRTCPMultiplexing = false
    /// Whether reduced-size RTCP is allowed (RFC 5506).
    public var allowsReducedSizeRTCP = false

    /// The ICE username fragment (RFC 8839, section 5.4), from the session if the section has none; nil if both lack
    /// it.
    public var iceUfrag: String?
    /// The ICE password, from the session if the section has none; nil if both lack it.
    public var icePwd: String?
    /// The ICE options, e.g. `trickle` (RFC 8838) and `ice2` (RFC 8445).
    public var iceOptions: [String] = []
    /// The fingerprints, from the session if the section has none.
    public var fingerprints: [FingerprintAttribute] = []
    /// The DTLS role, from the session if the section has none; nil if both lack it.
    public var setup: SetupRole?
    /// The ICE candidates as written, beginning with `candidate:`.
    public var candidates: [String] = []
    /// Whether no more candidates will follow (RFC 8838, section 8.2).
    public var hasEndOfCandidates = false

    /// The `a=rtpmap` lines.
    public var rtpMaps: [RTPMap] = []
    /// The `a=fmtp` lines by payload type.
    public var formatParameters: [UInt8: FormatParameters] = [:]
    /// The `a=rtcp-fb` lines.
    public var feedback: [FeedbackAttribute] = []
    /// The `a=extmap` lines, those of the session first.
    public var extensions: [ExtensionMapping] = []

    /// The `a=ssrc` lines, grouped by SSRC; at most `SDPLimits.sources`.
    public var sources: [SourceAttributes] = []
    /// The `a=ssrc-group` lines; at most `SDPLimits.sources`.
    public var sourceGroups: [SourceGroup] = []
    /// The last `a=msid` line; nil if missing.
    public var msid: MediaStreamIdentification?
    /// The `a=rid` lines; at most `SDPLimits.sources`.
    public var rids: [RestrictionIdentifier] = []
    /// The `a=simulcast` line; nil if missing.
    public var simulcast: SimulcastDescription?

    /// The SCTP port of data channels (RFC 8841, section 5); nil if missing.
    public var sctpPort: UInt16?

    /// The bandwidth of `b=AS` in kilobits per second; nil if missing.
    public var bandwidth: UInt32?
    /// The duration of audio in a packet in milliseconds (`a=ptime`); nil if missing.
    public var packetTime: UInt32?

    /// Creates a section without attributes.
    public init(kind: Kind, port: UInt16 = 9, transportProtocol: String = "UDP/TLS/RTP/SAVPF") {
        self.kind = kind
        self.port = port
        self.transportProtocol = transportProtocol
    }

    /// Whether the section is rejected: its port is 0, and it is not a bundle-only section that uses the port of
    /// another (RFC 9143, section 6).
    public var isRejected: Bool { port == 0 && !isBundleOnly }

    /// Whether the transport carries RTP, so that the `m=` line ends with payload types.
    public var carriesRTP: Bool { Self.carriesRTP(transportProtocol) }

    /// Returns whether a transport protocol carries RTP.
    static func carriesRTP(_ transportProtocol: String) -> Bool {
        transportProtocol.split(separator: "/").contains("RTP")
    }
}
