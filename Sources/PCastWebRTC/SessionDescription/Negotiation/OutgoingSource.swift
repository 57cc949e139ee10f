/// What a section that we send in announces of our packets.
public struct OutgoingSource: Hashable, Sendable {
    /// Of our packets.
    public var ssrc: UInt32
    /// The SSRC of retransmissions, announced when the section has an RTX format.
    public var rtxSSRC: UInt32?
    /// The RTCP canonical name, the same for all sources of one clock (RFC 3550, section 6.5.1).
    public var cname: String
    /// The stream and track that the peer shows.
    public var msid: MediaStreamIdentification

    public init(ssrc: UInt32, rtxSSRC: UInt32? = nil, cname: String, msid: MediaStreamIdentification) {
        self.ssrc = ssrc
        self.rtxSSRC = rtxSSRC
        self.cname = cname
        self.msid = msid
    }

    /// Without the group browsers take retransmissions for a stream of its own and drop them.
    func write(to media: inout MediaDescription, hasRTX: Bool) {
        media.msid = msid
        media.sources = [SourceAttributes(ssrc: ssrc, cname: cname, msid: msid)]
        guard hasRTX, let rtxSSRC else { return }
        media.sources.append(SourceAttributes(ssrc: rtxSSRC, cname: cname, msid: msid))
        media.sourceGroups = [SourceGroup(semantics: "FID", ssrcs: [ssrc, rtxSSRC])]
    }
}
