/// The local source that a section announces.
package struct OutgoingSource: Hashable, Sendable {
    /// The SSRC of the packets.
    package var ssrc: UInt32
    /// The SSRC of retransmissions, which is announced if the section has an RTX format; nil for none.
    package var rtxSSRC: UInt32?
    /// The RTCP canonical name, the same for all sources with a common clock (RFC 3550, section 6.5.1).
    package var cname: String
    /// The media stream and track.
    package var msid: MediaStreamIdentification

    /// Creates a source.
    package init(ssrc: UInt32, rtxSSRC: UInt32? = nil, cname: String, msid: MediaStreamIdentification) {
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
