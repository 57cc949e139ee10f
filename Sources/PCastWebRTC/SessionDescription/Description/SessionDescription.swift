/// An SDP session description (RFC 8866) as WebRTC uses it (RFC 8829).
///
/// Session-level values for media (ICE credentials, fingerprints, setup, direction, header extensions) are copied into
/// each media section that has none of its own. They are written in the sections.
public struct SessionDescription: Hashable, Sendable {
    /// The `o=` line.
    public var origin: SessionOrigin
    /// The `s=` line.
    public var name: String
    /// The MIDs of the first `a=group:BUNDLE` (RFC 9143); nil if missing.
    public var bundle: [String]?
    /// The MIDs of each further `a=group:BUNDLE`, at most `SDPLimits.mediaSections` groups.
    public var furtherBundles: [[String]] = []
    /// Whether a stream may mix one-byte and two-byte header extensions (RFC 8285, section 6).
    public var allowsMixedExtensions: Bool
    /// Whether the side is an ICE lite agent (RFC 8445, section 2.5).
    public var isICELite: Bool
    /// The `m=` sections, at most `SDPLimits.mediaSections`.
    public var media: [MediaDescription]

    /// Creates a description.
    public init(
        origin: SessionOrigin, name: String = "-", bundle: [String]? = nil, allowsMixedExtensions: Bool = false,
        isICELite: Bool = false, media: [MediaDescription] = []
    ) {
        self.origin = origin
        self.name = name
        self.bundle = bundle
        self.allowsMixedExtensions = allowsMixedExtensions
        self.isICELite = isICELite
        self.media = media
    }

    /// Parses a description, whose lines end with CRLF, LF or CR. Unknown lines are ignored.
    ///
    /// - Parameter text: The description.
    /// - Throws: ``SDPError`` if a line cannot be read or a limit is exceeded.
    public init(parsing text: String) throws(SDPError) {
        var parser = SessionDescriptionParser()
        self = try parser.parse(text)
    }

    /// The description as text, with lines that end with CRLF. It contains the ICE password, so it must not be logged.
    public var text: String { SessionDescriptionWriter.text(of: self) }
}

/// The `o=` line: the identity of a description and its version (RFC 8866, section 5.2).
public struct SessionOrigin: Hashable, Sendable {
    /// The user name; `-` for none.
    public var username: String
    /// The session ID, which is the same in all versions of a description.
    public var sessionID: UInt64
    /// The version, which increases with each change.
    public var sessionVersion: UInt64

    /// Creates an origin. `sessionID` is a random number for each session, below 2^63 (RFC 8829, section 5.2.1).
    public init(username: String = "-", sessionID: UInt64, sessionVersion: UInt64 = 1) {
        self.username = username
        self.sessionID = sessionID
        self.sessionVersion = sessionVersion
    }

    /// Parses the value of the line. Numbers that cannot be read become 0, because some peers write larger ones.
    init(parsing text: SDPText) {
        let fields = text.pieces()
        username = fields.first?.string ?? "-"
        sessionID = fields.count > 1 ? fields[1].decimal() ?? 0 : 0
        sessionVersion = fields.count > 2 ? fields[2].decimal() ?? 0 : 0
    }

    /// The value of the line.
    var text: String { "\(username) \(sessionID) \(sessionVersion) IN IP4 127.0.0.1" }
}
