/// A source that the peer announces in a section.
public struct IncomingSource: Hashable, Sendable {
    /// Of the original packets.
    public var ssrc: UInt32
    /// Of their retransmissions; nil when none is announced.
    public var rtxSSRC: UInt32?

    public init(ssrc: UInt32, rtxSSRC: UInt32? = nil) {
        self.ssrc = ssrc
        self.rtxSSRC = rtxSSRC
    }
}

extension MediaDescription {
    /// The sources with their retransmissions, those of `FID` groups first; a group may name what no `a=ssrc` line does.
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

    /// The section's `msid`, or that of its first source that has one.
    var sourceMSID: MediaStreamIdentification? { msid ?? sources.lazy.compactMap(\.msid).first }

    var sourceCNAME: String? { sources.lazy.compactMap(\.cname).first }
}
