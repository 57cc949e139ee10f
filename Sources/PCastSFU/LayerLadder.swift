import PCastCore

/// The layers of a stream in the order of their quality, lowest first, in their current state.
struct LayerLadder: Hashable, Sendable {
    /// One layer of the ladder.
    struct Rung: Hashable, Sendable {
        /// The index of the layer in the publisher's order.
        var layer: Int
        /// The bit rate on the wire. For a paused layer it is the last bit rate.
        var bitrate: Bitrate
        /// The dimensions of the layer's frames; nil while they are unknown.
        var dimensions: Dimensions?
        /// Whether the layer arrives, or would arrive if a viewer wanted it.
        var isAvailable: Bool
        /// Whether the layer is made only while a viewer wants it. No viewer begins with such a layer.
        var isOnDemand = false
    }

    private(set) var rungs: [Rung] = []

    init(_ rungs: some Sequence<Rung> = []) {
        for rung in rungs { insert(rung) }
    }

    mutating func removeAll() { rungs.removeAll(keepingCapacity: true) }

    /// Inserts a layer by the size of its frames if both sizes are known, otherwise by bit rate, otherwise at the end.
    mutating func insert(_ rung: Rung) {
        let position = rungs.firstIndex { Self.isLower(rung, than: $0) } ?? rungs.count
        rungs.insert(rung, at: position)
    }

    /// Marks a layer as not available.
    mutating func withdraw(_ layer: Int) {
        for index in rungs.indices where rungs[index].layer == layer { rungs[index].isAvailable = false }
    }

    /// Marks all layers as available if none arrives, because then none is worse than another.
    mutating func takeAllForAvailable() {
        guard !rungs.contains(where: { $0.isAvailable }) else { return }
        for index in rungs.indices { rungs[index].isAvailable = true }
    }

    private static func isLower(_ rung: Rung, than other: Rung) -> Bool {
        if let own = rung.dimensions, let others = other.dimensions, own != others {
            return own.width * own.height < others.width * others.height
        }
        return rung.bitrate < other.bitrate
    }

    /// Whether one layer has a lower quality than another. Nil, which means no layer, is lower than every layer.
    func isLower(_ layer: Int?, than other: Int?) -> Bool {
        (layer.flatMap { rank(of: $0) } ?? -1) < (other.flatMap { rank(of: $0) } ?? -1)
    }

    /// Returns the rank of a layer, starting at 0; nil if the ladder does not have the layer.
    func rank(of layer: Int) -> Int? { rungs.firstIndex { $0.layer == layer } }

    /// The rank of the lowest available layer, or of the lowest layer if none is available.
    var lowest: Int { rungs.firstIndex { $0.isAvailable } ?? 0 }

    /// The rank of the layer for a new viewer, whose link is unknown. It is the middle of the available layers that need
    /// not be made first.
    var start: Int {
        var skipped = rungs.count { $0.isAvailable && !$0.isOnDemand } / 2
        for rank in rungs.indices where rungs[rank].isAvailable && !rungs[rank].isOnDemand {
            if skipped == 0 { return rank }
            skipped -= 1
        }
        return rungs.lastIndex { $0.isAvailable } ?? rungs.count / 2
    }

    /// Whether another ladder has the same layers in the same order, with the same availability.
    func isOrdered(like other: LayerLadder) -> Bool {
        rungs.count == other.rungs.count
            && zip(rungs, other.rungs).allSatisfy { $0.layer == $1.layer && $0.isAvailable == $1.isAvailable }
    }
}
