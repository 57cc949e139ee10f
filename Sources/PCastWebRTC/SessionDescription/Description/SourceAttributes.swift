/// The `a=ssrc` lines of one SSRC (RFC 5576, section 4.1).
public struct SourceAttributes: Hashable, Sendable {
    /// The SSRC.
    public var ssrc: UInt32
    /// The RTCP canonical name (RFC 5576, section 6.1); nil if missing.
    public var cname: String?
    /// The media stream and track, which browsers write in addition to those of the section; nil if missing.
    public var msid: MediaStreamIdentification?

    /// Creates the attributes of an SSRC.
    public init(ssrc: UInt32, cname: String? = nil, msid: MediaStreamIdentification? = nil) {
        self.ssrc = ssrc
        self.cname = cname
        self.msid = msid
    }
}

/// An `a=ssrc-group` line (RFC 5576, section 4.2). `FID` relates a source to its retransmissions.
public struct SourceGroup: Hashable, Sendable {
    /// The meaning of the group, e.g. `FID`, `SIM` or `FEC-FR`.
    public var semantics: String
    /// The SSRCs in the order of the line; for `FID` the original first.
    public var ssrcs: [UInt32]

    /// Creates a group.
    public init(semantics: String, ssrcs: [UInt32]) {
        self.semantics = semantics
        self.ssrcs = ssrcs
    }

    /// Parses the value of the attribute. Returns nil if it is malformed or has too many SSRCs.
    init?(parsing text: SDPText) {
        let fields = text.pieces()
        guard let semantics = fields.first?.token, fields.count <= SDPLimits.sources else { return nil }
        self.init(semantics: semantics, ssrcs: fields.dropFirst().compactMap { $0.decimal() })
    }

    /// The value of the attribute.
    var text: String { ([semantics] + ssrcs.map { String($0) }).joined(separator: " ") }
}

/// An `a=msid` value: the media stream and track of a section (RFC 8830).
public struct MediaStreamIdentification: Hashable, Sendable {
    /// The ID of the media stream; `-` if the track belongs to none.
    public var stream: String
    /// The ID of the track; nil if it is not specified.
    public var track: String?

    /// Creates a value from the IDs of stream and track.
    public init(stream: String, track: String?) {
        self.stream = stream
        self.track = track
    }

    /// Parses the value of the attribute. Returns nil if it is malformed.
    init?(parsing text: SDPText) {
        let fields = text.pieces()
        guard let stream = fields.first?.string else { return nil }
        self.init(stream: stream, track: fields.count > 1 ? fields[1].string : nil)
    }

    /// The value of the attribute.
    var text: String { track.map { "\(stream) \($0)" } ?? stream }
}
