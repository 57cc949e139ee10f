internal import PCastHLS

/// The variants of a rendition in ascending order of quality. Each has one or more alternative addresses.
struct RenditionVariants: Sendable {
    /// The addresses of each variant.
    var uris: [[String]]
    /// The pathway of each address; empty if there is only one pathway.
    var pathways: [[String]] = []
    var variables: [PlaylistVariable]
    /// The selection of a variant; nil if there is only one.
    var choice: VariantChoice?

    /// Returns the addresses of a variant, ordered by the order of their pathways.
    func uris(of rung: Int, in order: [String]) -> [String] {
        guard pathways.indices.contains(rung) else { return uris[rung] }
        let ranked = zip(uris[rung], pathways[rung]).enumerated().map { index, pair in
            (uri: pair.0, rank: order.firstIndex(of: pair.1) ?? order.count, index: index)
        }
        return ranked.sorted { ($0.rank, $0.index) < ($1.rank, $1.index) }.map(\.uri)
    }

    /// Returns the pathway of an address; nil if it is unknown.
    func pathway(of uri: String) -> String? {
        for (uris, pathways) in zip(uris, pathways) {
            if let index = uris.firstIndex(of: uri) { return pathways[index] }
        }
        return nil
    }
}
