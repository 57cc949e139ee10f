import PCastCore

/// The layers of a stream by their quality, the lowest first, as they are at the moment.
struct LayerLadder: Hashable, Sendable {
    struct Rung: Hashable, Sendable {
        /// Its place in the publisher's order.
        var layer: Int
        /// On the wire; of a layer that rests, what it was.
        var bitrate: Bitrate
        var dimensions: Dimensions?
        /// It comes, or would if somebody wanted it.
        var isAvailable: Bool
    }

    private(set) var rungs: [Rung] = []

    init(_ rungs: some Sequence<Rung> = []) {
        for rung in rungs { insert(rung) }
    }

    mutating func removeAll() { rungs.removeAll(keepingCapacity: true) }

    /// By the pictures' size where that is known of both, else by the rate, else in the order given.
    mutating func insert(_ rung: Rung) {
        let place = rungs.firstIndex { Self.isLower(rung, than: $0) } ?? rungs.count
        rungs.insert(rung, at: place)
    }

    /// Where nothing comes of any layer, none is worse off than another.
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

    /// Whether one layer takes less than another; none takes less than any.
    func isLower(_ layer: Int?, than other: Int?) -> Bool {
        (layer.flatMap { rank(of: $0) } ?? -1) < (other.flatMap { rank(of: $0) } ?? -1)
    }

    func rank(of layer: Int) -> Int? { rungs.firstIndex { $0.layer == layer } }

    /// The lowest that is available; the lowest of all where none is.
    var lowest: Int { rungs.firstIndex { $0.isAvailable } ?? 0 }

    /// What a new viewer is given, of whose link nothing is known: not the most, and not the least of three (CC12).
    var start: Int {
        var skipped = rungs.count { $0.isAvailable } / 2
        for rank in rungs.indices where rungs[rank].isAvailable {
            if skipped == 0 { return rank }
            skipped -= 1
        }
        return rungs.count / 2
    }

    /// Whether layers come or go, or stand in another order.
    func isOrdered(like other: LayerLadder) -> Bool {
        rungs.count == other.rungs.count
            && zip(rungs, other.rungs).allSatisfy { $0.layer == $1.layer && $0.isAvailable == $1.isAvailable }
    }
}
