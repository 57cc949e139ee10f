public import PCastMedia

/// One `m=` section of a session description.
public struct MediaDescription: Hashable, Sendable {
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

        public var mediaType: MediaType? { MediaType(rawValue: name) }
    }

    public var kind: Kind
    public var port: UInt16
    /// The transport, such as `UDP/TLS/RTP/SAVPF`.
    public var transportProtocol: String
    /// In order of preference, each once. Empty when the transport carries no RTP.
    public var payloadTypes: [UInt8] = []
    /// The formats of a section that carries no RTP, such as `webrtc-datachannel`.
    public var otherFormats: [String] = []

    public var mid: String?
    public var direction = MediaDirection.sendReceive
    public var isBundleOnly = false
    /// RTP and RTCP share the port (RFC 5761).
    public var multiplexesRTCP = false
    /// Reduced-size RTCP (RFC 5506).
    public var allowsReducedSizeRTCP = false

    /// ICE's user name fragment and password (RFC 8839, section 5.4), the session's when the section has none.
    public var iceUfrag: String?
    public var icePwd: String?
    public var iceOptions: [String] = []
    /// Every `a=fingerprint` line, the session's when the section has none.
    public var fingerprints: [FingerprintAttribute] = []
    public var setup: SetupRole?
    /// What follows `a=`, from `candidate:` on, as written.
    public var candidates: [String] = []
    public var hasEndOfCandidates = false

    public var rtpMaps: [RTPMap] = []
    /// The `a=fmtp` lines by payload type.
    public var formatParameters: [UInt8: FormatParameters] = [:]
    public var feedback: [FeedbackAttribute] = []
    public var extensions: [ExtensionMapping] = []

    public var sources: [SourceAttributes] = []
    public var sourceGroups: [SourceGroup] = []
    public var msid: MediaStreamIdentification?
    public var rids: [RestrictionIdentifier] = []
    public var simulcast: SimulcastDescription?

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
