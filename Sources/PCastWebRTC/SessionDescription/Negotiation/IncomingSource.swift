/// A source that the peer announces in a section.
public struct IncomingSource: Hashable, Sendable {
    /// The SSRC of the original packets.
    public var ssrc: UInt32
    /// The SSRC of retransmissions; nil if it is not announced.
    public var rtxSSRC: UInt32?

    /// Creates a source.
    public init(ssrc: UInt32, rtxSSRC: UInt32? = nil) {
        self.ssrc = ssrc
        self.rtxSSRC = rtxSSRC
    }
}

extension MediaDescription {
    /// The sources with their retransmissions, those of `FID` groups first. A group may name sources without an
    /// `a=ssrc` line.
    var incomingSources: [IncomingSource] {
        var result: [IncomingSource] = []
        var secondary: [UInt32] = []
        for group in sourceGroups where group.ssrcs.count > 1 {
            switch group.semantics {
            case "FID":
                result.append(IncomingSource(ssrc: group.ssrcs[0], rtxSSRC: group.ssrcs[1]))
                secondary += group.ssrcs
            case "FEC", "FEC-FR":
                secondary += group.ssrcs.dropFirst()
            default:
                break
            }
            guard result.count < SDPLimits.sources else { return result }
        }
        for source in sources where !secondary.contains(source.ssrc) {
            result.append(IncomingSource(ssrc: source.ssrc))
        }
        return result
    }

    /// The `msid` of the section, or of its first source that has one; nil if there is none.
    var sourceMSID: MediaStreamIdentification? { msid ?? sources.lazy.compactMap(\.msid).first }

    /// The canonical name of the first source that has one; nil if there is none.
    var sourceCNAME: String? { sources.lazy.compactMap(\.cname).first }
}
