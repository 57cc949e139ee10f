internal import PCastHLS

/// The media playlists of one rendition in its qualities, the least first; each at several addresses perhaps.
struct RenditionVariants: Sendable {
    var uris: [[String]]
    /// Of each address its pathway; empty where all are of one.
    var pathways: [[String]] = []
    var variables: [PlaylistVariable]
    /// Of several qualities which to take; nil for one.
    var choice: VariantChoice?

    /// The addresses of a quality, those of the pathways that stand first before the others.
    func uris(of rung: Int, in order: [String]) -> [String] {
        guard pathways.indices.contains(rung) else { return uris[rung] }
        let ranked = zip(uris[rung], pathways[rung]).enumerated().map { index, pair in
            (uri: pair.0, rank: order.firstIndex(of: pair.1) ?? order.count, index: index)
        }
        return ranked.sorted { ($0.rank, $0.index) < ($1.rank, $1.index) }.map(\.uri)
    }

    func pathway(of uri: String) -> String? {
        for (uris, pathways) in zip(uris, pathways) {
            if let index = uris.firstIndex(of: uri) { return pathways[index] }
        }
        return nil
    }
}
