public import PCastMedia

/// One `m=` section of a session description.
public struct MediaDescription: Hashable, Sendable {
    /// The first word of the `m=` line.
    public enum Kind: Hashable, Sendable {
        case video
        case audio
        /// Data channels (RFC 8841).
        case application
        case other(String)

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

        /// Nil for what is neither video nor audio.
        public var mediaType: MediaType? { MediaType(rawValue: name) }
    }

    /// What the section carries.
    public var kind: Kind
    /// 9 where ICE finds the port; 0 refuses the section, or borrows another one's port.
    public var port: UInt16
    /// The transport, such as `UDP/TLS/RTP/SAVPF`.
    public var transportProtocol: String
    /// In order of preference, each once. Empty when the transport carries no RTP.
    public var payloadTypes: [UInt8] = []
    /// The formats of a section that carries no RTP, such as `webrtc-datachannel`.
    public var otherFormats: [String] = []

    /// The section's name in the BUNDLE group and in packets (RFC 5888, section 4).
    public var mid: String?
    /// Seen from the side that wrote the section.
    public var direction = MediaDirection.sendReceive
    /// Offered only as part of a BUNDLE group (RFC 9143, section 6).
    public var isBundleOnly = false
    /// RTP and RTCP share the port (RFC 5761).
    public var multiplexesRTCP = false
    /// RTP and RTCP never have ports of their own (RFC 8858).
    public var requiresRTCPMultiplexing = false
    /// Reduced-size RTCP (RFC 5506).
    public var allowsReducedSizeRTCP = false

    /// ICE's user name fragment (RFC 8839, section 5.4), the session's when the section has none.
    public var iceUfrag: String?
    /// The password of the same ICE session.
    public var icePwd: String?
    /// Such as `trickle` (RFC 8838) and `ice2` (RFC 8445).
    public var iceOptions: [String] = []
    /// Every `a=fingerprint` line, the session's when the section has none.
    public var fingerprints: [FingerprintAttribute] = []
    /// The DTLS role, the session's when the section has none.
    public var setup: SetupRole?
    /// What follows `a=`, from `candidate:` on, as written.
    public var candidates: [String] = []
    /// No more candidates will be trickled (RFC 8838, section 8.2).
    public var hasEndOfCandidates = false

    /// The `a=rtpmap` lines.
    public var rtpMaps: [RTPMap] = []
    /// The `a=fmtp` lines by payload type.
    public var formatParameters: [UInt8: FormatParameters] = [:]
    /// The `a=rtcp-fb` lines.
    public var feedback: [FeedbackAttribute] = []
    /// The `a=extmap` lines, the session's first.
    public var extensions: [ExtensionMapping] = []

    /// The `a=ssrc` lines, joined by SSRC; `SDPLimits.sources` at most.
    public var sources: [SourceAttributes] = []
    /// The `a=ssrc-group` lines; `SDPLimits.sources` at most.
    public var sourceGroups: [SourceGroup] = []
    /// The last `a=msid` line.
    public var msid: MediaStreamIdentification?
    /// The `a=rid` lines; `SDPLimits.sources` at most.
    public var rids: [RestrictionIdentifier] = []
    /// The `a=simulcast` line.
    public var simulcast: SimulcastDescription?

    /// The SCTP port of data channels (RFC 8841, section 5).
    public var sctpPort: UInt16?

    /// `b=AS`, in kilobits a second.
    public var bandwidth: UInt32?
    /// Milliseconds of audio in a packet.
    public var packetTime: UInt32?

    public init(kind: Kind, port: UInt16 = 9, transportProtocol: String = "UDP/TLS/RTP/SAVPF") {
        self.kind = kind
        self.port = port
        self.transportProtocol = transportProtocol
    }

    /// Port 0 refuses a section, unless it is an ordinary bundled one that only borrows its port (RFC 9143, section 6).
    public var isRejected: Bool { port == 0 && !isBundleOnly }

    /// Whether payload types are what stands at the end of the `m=` line.
    public var carriesRTP: Bool { Self.carriesRTP(transportProtocol) }

    static func carriesRTP(_ transportProtocol: String) -> Bool {
        transportProtocol.split(separator: "/").contains("RTP")
    }
}
