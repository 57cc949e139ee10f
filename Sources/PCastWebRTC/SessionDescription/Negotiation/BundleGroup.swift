/// The BUNDLE group of an offer as it decides which sections share the transport (RFC 9143).
///
/// Each of several groups has a transport of its own, and there is one transport here. The first group counts in which media
/// flows; where there is none, the first group. What flows in another group cannot be accepted.
struct BundleGroup {
    /// The sections of the group in its order, without those that the offer itself rejects.
    let indices: [Int]
    /// Whether the offer has a group with anything in it.
    let exists: Bool
    /// Whether RTP and RTCP share the port of the section that the group tags: bundle-only sections leave that to it
    /// (RFC 9143, section 7.1.3).
    let multiplexesRTCP: Bool

    init(_ offer: SessionDescription) {
        let groups = [offer.bundle ?? []] + offer.furtherBundles
        let members = groups.map { Self.indices(of: $0, in: offer) }
        exists = groups.contains { !$0.isEmpty }
        indices = members.first { $0.contains { offer.media[$0].hasFlow } } ?? members.first { !$0.isEmpty } ?? []
        multiplexesRTCP = indices.first.map { offer.media[$0].multiplexesRTCP } ?? false
    }

    private static func indices(of mids: [String], in offer: SessionDescription) -> [Int] {
        var indices: [Int] = []
        for mid in mids {
            let index = offer.media.firstIndex { $0.mid == mid && !$0.isRejected }
            if let index, !indices.contains(index) { indices.append(index) }
        }
        return indices
    }

    /// The section whose transport is everybody's (RFC 9143, section 7.2.1). It cannot be rejected alone
    /// (section 7.3.3).
    var tagged: Int? { indices.first }

    func contains(_ index: Int) -> Bool { indices.contains(index) }
}

extension MediaDescription {
    /// Whether audio or video is offered in one direction at least.
    fileprivate var hasFlow: Bool { kind.mediaType != nil && !isRejected && direction != .inactive }
}
