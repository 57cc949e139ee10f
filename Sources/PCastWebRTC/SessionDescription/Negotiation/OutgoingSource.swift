/// The local source that a section announces.
public struct OutgoingSource: Hashable, Sendable {
    /// The SSRC of the packets.
    public var ssrc: UInt32
    /// The SSRC of retransmissions, which is announced if the section has an RTX format; nil for none.
    public var rtxSSRC: UInt32?
    /// The RTCP canonical name, the same for all sources with a common clock (RFC 3550, section 6.5.1).
    public var cname: String
    /// The media stream and track.
    public var msid: MediaStreamIdentification

    /// Creates a source.
    public init(ssrc: UInt32, rtxSSRC: UInt32? = nil, cname: String, msid: MediaStreamIdentification) {
        self.ssrc = ssrc
        self.rtxSSRC = rtxSSRC
        self.cname = cname
        self.msid = msid
    }

    /// Adds the source to a section. Without the `FID` group, browsers treat retransmissions as another stream and drop
    /// them.
    func write(to media: inout MediaDescription, hasRTX: Bool) {
        media.msid = msid
        media.sources = [SourceAttributes(ssrc: ssrc, cname: cname, msid: msid)]
        guard hasRTX, let rtxSSRC else { return }
        media.sources.append(SourceAttributes(ssrc: rtxSSRC, cname: cname, msid: msid))
        media.sourceGroups = [SourceGroup(semantics: "FID", ssrcs: [ssrc, rtxSSRC])]
    }
}
