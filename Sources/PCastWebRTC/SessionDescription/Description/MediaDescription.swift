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

/// The `a=setup` attribute: the DTLS role of a side (RFC 4145, section 4; RFC 8842, section 5).
public enum SetupRole: String, Hashable, Sendable, CaseIterable {
    /// The DTLS client.
    case active
    /// The DTLS server.
    case passive
    /// Either role, in offers only.
    case actpass
    /// No connection for now, which WebRTC does not use.
    case holdconn

    /// The local role in an answer to an offer with this role; nil if there is none.
    ///
    /// The answer to `actpass` is `passive`. The peer's ClientHello then arrives on the path that its own check has
    /// opened, and Chromium as a client prefers AES-GCM.
    var answer: SetupRole? {
        switch self {
        case .actpass, .active: .passive
        case .passive: .active
        case .holdconn: nil
        }
    }
}

/// An `a=rtcp-fb` line: a type of RTCP feedback (RFC 4585, section 4.2).
public struct FeedbackAttribute: Hashable, Sendable {
    /// The payload type; nil for the wildcard `*`, which applies to all payload types of the section.
    public var payloadType: UInt8?
    /// The feedback type and its parameters, e.g. `nack pli`.
    public var value: String

    /// Creates an attribute.
    public init(payloadType: UInt8?, value: String) {
        self.payloadType = payloadType
        self.value = value
    }

    /// Parses the value of the attribute. Returns nil if it is malformed.
    init?(parsing text: SDPText) {
        let (target, rest) = text.firstPiece
        let value = (rest?.pieces() ?? []).map(\.string).joined(separator: " ")
        guard !value.isEmpty else { return nil }
        guard !target.matches("*") else {
            self.init(payloadType: nil, value: value)
            return
        }
        guard let payloadType = target.decimal(UInt8.self), payloadType <= 127 else { return nil }
        self.init(payloadType: payloadType, value: value)
    }

    /// The value of the attribute.
    var text: String { "\(payloadType.map { String($0) } ?? "*") \(value)" }
}

/// An `a=rtpmap` line: the encoding of a payload type (RFC 8866, section 6.6).
public struct RTPMap: Hashable, Sendable {
    /// The payload type, 0 to 127.
    public var payloadType: UInt8
    /// The name of the encoding as written. Names are compared without regard to case.
    public var encoding: String
    /// The clock rate in hertz.
    public var clockRate: UInt32
    /// The number of channels; 1 if it is not specified.
    public var channels: UInt8

    /// Creates a mapping.
    public init(payloadType: UInt8, encoding: String, clockRate: UInt32, channels: UInt8 = 1) {
        self.payloadType = payloadType
        self.encoding = encoding
        self.clockRate = clockRate
        self.channels = channels
    }

    /// Parses the value of the attribute. Returns nil if it is malformed.
    init?(parsing text: SDPText) {
        let fields = text.pieces()
        guard fields.count >= 2, let payloadType = fields[0].decimal(UInt8.self), payloadType <= 127 else { return nil }
        let parts = fields[1].pieces(at: "/")
        guard parts.count >= 2, let encoding = parts[0].token, let clockRate = parts[1].decimal(UInt32.self) else {
            return nil
        }
        let channels = parts.count > 2 ? parts[2].decimal(UInt8.self) ?? 1 : 1
        self.init(payloadType: payloadType, encoding: encoding, clockRate: clockRate, channels: channels)
    }

    /// The value of the attribute.
    var text: String { "\(payloadType) \(encoding)/\(clockRate)" + (channels == 1 ? "" : "/\(channels)") }
}

/// An `a=fingerprint` line: the hash of the certificate that the peer will present (RFC 8122, section 5).
public struct FingerprintAttribute: Hashable, Sendable {
    /// The name of the hash function in lower case, e.g. `sha-256`.
    public var algorithm: String
    /// The hash. It is empty if the line is malformed.
    public var bytes: [UInt8]

    /// Creates an attribute; the name is converted to lower case.
    public init(algorithm: String, bytes: [UInt8]) {
        self.algorithm = algorithm.asciiLowercased
        self.bytes = bytes
    }

    /// The maximum size of a hash in bytes, that of SHA-512.
    static let maximumSize = 64

    /// Parses the value of the attribute. A malformed one has no bytes and matches no certificate. It is kept because
    /// the fingerprint of the session would apply if it were missing (RFC 8122, section 5).
    init(parsing text: SDPText) {
        let fields = text.pieces()
        let algorithm = fields.first?.token ?? "none"
        self.init(algorithm: algorithm, bytes: fields.count == 2 ? Self.bytes(fields[1]) ?? [] : [])
    }

    /// Parses bytes in hexadecimal, separated by colons. Returns nil if they are malformed.
    private static func bytes(_ text: SDPText) -> [UInt8]? {
        var bytes: [UInt8] = []
        for pair in text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false) {
            guard pair.count == 2, let byte = byte(pair), bytes.count < maximumSize else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    /// Parses two hexadecimal digits.
    private static func byte(_ pair: SDPText) -> UInt8? {
        guard pair.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) else { return nil }
        return UInt8(Substring(pair), radix: 16)
    }

    /// The value of the attribute.
    var text: String {
        var text = algorithm + " "
        for (index, byte) in bytes.enumerated() {
            if index > 0 { text += ":" }
            if byte < 16 { text += "0" }
            text += String(byte, radix: 16, uppercase: true)
        }
        return text
    }
}

/// The direction of media, from the view of the side that wrote the description (RFC 8866, section 6.7).
public enum MediaDirection: String, Hashable, Sendable, CaseIterable {
    /// The side sends and receives.
    case sendReceive = "sendrecv"
    /// The side only sends.
    case sendOnly = "sendonly"
    /// The side only receives.
    case receiveOnly = "recvonly"
    case inactive

    /// Whether the side that wrote the description sends.
    public var sends: Bool { self == .sendReceive || self == .sendOnly }
    /// Whether the side that wrote the description receives.
    public var receives: Bool { self == .sendReceive || self == .receiveOnly }

    /// Creates the direction of a side that sends, receives, does both, or does neither.
    public init(sends: Bool, receives: Bool) {
        self = sends ? (receives ? .sendReceive : .sendOnly) : (receives ? .receiveOnly : .inactive)
    }

    /// The direction from the view of the other side.
    public var reversed: MediaDirection { MediaDirection(sends: receives, receives: sends) }

    /// Returns the direction that both allow.
    public func intersection(_ other: MediaDirection) -> MediaDirection {
        MediaDirection(sends: sends && other.sends, receives: receives && other.receives)
    }
}
