/// What the `a=ssrc` lines of one SSRC say (RFC 5576, section 4.1).
public struct SourceAttributes: Hashable, Sendable {
    /// The synchronization source.
    public var ssrc: UInt32
    /// The RTCP canonical name (RFC 5576, section 6.1).
    public var cname: String?
    /// The stream and track, as browsers write it beside the section's own.
    public var msid: MediaStreamIdentification?

    public init(ssrc: UInt32, cname: String? = nil, msid: MediaStreamIdentification? = nil) {
        self.ssrc = ssrc
        self.cname = cname
        self.msid = msid
    }
}

/// An `a=ssrc-group` line (RFC 5576, section 4.2); `FID` pairs a source with its retransmissions.
public struct SourceGroup: Hashable, Sendable {
    /// `FID`, `SIM`, `FEC-FR`…
    public var semantics: String
    /// In the order written; for `FID` the original first.
    public var ssrcs: [UInt32]

    public init(semantics: String, ssrcs: [UInt32]) {
        self.semantics = semantics
        self.ssrcs = ssrcs
    }

    init?(parsing text: SDPText) {
        let fields = text.pieces()
        guard let semantics = fields.first?.token, fields.count <= SDPLimits.sources else { return nil }
        self.init(semantics: semantics, ssrcs: fields.dropFirst().compactMap { $0.decimal() })
    }

    var text: String { ([semantics] + ssrcs.map { String($0) }).joined(separator: " ") }
}
