/// The BUNDLE group of an offer, whose sections share a transport (RFC 9143).
///
/// Each of several groups has a transport of its own, but there is only one transport here. The first group with a
/// section that sends or receives media is used, or the first group if there is none. Sections of other groups are
/// rejected.
struct BundleGroup {
    /// The indexes of the sections in the order of the group, without those that the offer rejects.
    let indices: [Int]
    /// Whether the offer has a group that is not empty.
    let exists: Bool
    /// Whether the first section of the group multiplexes RTP and RTCP. It applies to bundle-only sections as well (RFC
    /// 9143, section 7.1.3).
    let multiplexesRTCP: Bool

    /// Reads the group of an offer.
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

    /// The index of the section whose transport the group uses (RFC 9143, section 7.2.1), which cannot be rejected
    /// alone (section 7.3.3); nil if the group is empty.
    var tagged: Int? { indices.first }

    /// Returns whether a section belongs to the group.
    func contains(_ index: Int) -> Bool { indices.contains(index) }
}

extension MediaDescription {
    /// Whether audio or video is offered in one direction at least.
    fileprivate var hasFlow: Bool { kind.mediaType != nil && !isRejected && direction != .inactive }
}
