/// The BUNDLE group of an offer as it decides which sections share the transport (RFC 9143).
struct BundleGroup {
    /// The sections of the group in its order, without those that the offer itself rejects.
    let indices: [Int]
    /// Whether the offer has a group with anything in it.
    let exists: Bool
    /// Whether RTP and RTCP share the port of the section that the group tags: bundle-only sections leave that to it
    /// (RFC 9143, section 7.1.3).
    let multiplexesRTCP: Bool

    init(_ offer: SessionDescription) {
        let mids = offer.bundle ?? []
        exists = !mids.isEmpty
        var indices: [Int] = []
        for mid in mids {
            let index = offer.media.firstIndex { $0.mid == mid && !$0.isRejected }
            if let index, !indices.contains(index) { indices.append(index) }
        }
        self.indices = indices
        multiplexesRTCP = indices.first.map { offer.media[$0].multiplexesRTCP } ?? false
    }

    /// The section whose transport is everybody's (RFC 9143, section 7.2.1). It cannot be rejected alone
    /// (section 7.3.3).
    var tagged: Int? { indices.first }

    func contains(_ index: Int) -> Bool { indices.contains(index) }
}
