/// An SDP description (RFC 8866) as WebRTC uses it (RFC 8829).
///
/// What stands at session level and holds for media (ICE credentials, fingerprints, setup, direction, header
/// extensions) is copied into each media section that does not say otherwise, and is written there.
public struct SessionDescription: Hashable, Sendable {
    /// The `o=` line.
    public var origin: SessionOrigin
    /// The `s=` line.
    public var name: String
    /// The mids of the first `a=group:BUNDLE`; nil without one (RFC 9143).
    public var bundle: [String]?
    /// The mids of each `a=group:BUNDLE` behind the first; `SDPLimits.mediaSections` groups at most.
    public var furtherBundles: [[String]] = []
    /// One- and two-byte header extensions may alternate within a stream (RFC 8285, section 6).
    public var allowsMixedExtensions: Bool
    /// The side only answers ICE checks (RFC 8445, section 2.5).
    public var isICELite: Bool
    /// The `m=` sections; `SDPLimits.mediaSections` at most.
    public var media: [MediaDescription]

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

    /// Reads a description whose lines end with CRLF, LF or CR. Lines of no meaning here are skipped.
    public init(parsing text: String) throws(SDPError) {
        var parser = SessionDescriptionParser()
        self = try parser.parse(text)
    }

    /// The description as text, lines ending with CRLF. It holds the ICE password, so it is not for logs.
    public var text: String { SessionDescriptionWriter.text(of: self) }
}
