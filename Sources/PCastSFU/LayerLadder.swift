import PCastCore
import PCastRTP

/// The layers of a stream in the order of their quality, lowest first, in their current state. A layer with further
/// layers in its SSRC (SVC) has a rung for each operating point.
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
        /// The layers in the SSRC that belong to the rung.
        var point = OperatingPoint.all

        /// Whether the rung has a lower frame rate than the layer. No viewer begins with such a rung.
        var isReduced: Bool { point.temporal != OperatingPoint.all.temporal }
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
        if rung.bitrate != other.bitrate { return rung.bitrate < other.bitrate }
        // The bit rate of a layer is zero if only padding arrived. Its parts are below it nevertheless.
        return rung.point != other.point && other.point.contains(rung.point)
    }

    /// Whether one layer has a lower quality than another. Nil, which means no layer, is lower than every layer.
    func isLower(_ layer: Int?, than other: Int?) -> Bool {
        (layer.flatMap { rank(of: $0) } ?? -1) < (other.flatMap { rank(of: $0) } ?? -1)
    }

    /// Returns the best rank of a layer, starting at 0; nil if the ladder does not have the layer.
    func rank(of layer: Int) -> Int? { rungs.lastIndex { $0.layer == layer } }

    /// Returns the rank of an operating point of a layer, or of the best one of the layer that it contains; nil if the
    /// ladder does not have the layer.
    func rank(of layer: Int, _ point: OperatingPoint) -> Int? {
        rungs.lastIndex { $0.layer == layer && point.contains($0.point) } ?? rungs.firstIndex { $0.layer == layer }
    }

    /// The rank of the lowest available layer, or of the lowest layer if none is available.
    var lowest: Int { rungs.firstIndex { $0.isAvailable } ?? 0 }

    /// The rank of the layer for a new viewer, whose link is unknown. It is the middle of the available layers that need
    /// not be made first, and have their whole frame rate.
    var start: Int {
        var skipped = rungs.count { $0.isAvailable && !$0.isOnDemand && !$0.isReduced } / 2
        for rank in rungs.indices
        where rungs[rank].isAvailable && !rungs[rank].isOnDemand && !rungs[rank].isReduced {
            if skipped == 0 { return rank }
            skipped -= 1
        }
        return rungs.lastIndex { $0.isAvailable } ?? rungs.count / 2
    }

    /// Whether another ladder has the same layers in the same order, with the same availability.
    func isOrdered(like other: LayerLadder) -> Bool {
        rungs.count == other.rungs.count
            && zip(rungs, other.rungs).allSatisfy {
                $0.layer == $1.layer && $0.point == $1.point && $0.isAvailable == $1.isAvailable
            }
    }
}

/// The shares of the spatial and temporal layers in the bit rate of their SSRC, measured over about one second.
struct LayerShares: Hashable, Sendable {
    /// The bytes of each layer, which decay: four temporal layers for each of four spatial ones.
    private var bytes = SIMD16<Float>(repeating: 0)
    private var hasArrivals = false

    /// The number of layers that are distinguished in each dimension. Higher ones count as the highest.
    private static let side = 4
    /// The part of the bytes that remains at a review.
    private static let decay: Float = 0.8
    /// A layer with a smaller share has ended.
    private static let smallestShare: Float = 0.005

    /// Counts a packet.
    mutating func count(_ layers: FrameLayers, _ size: Int) {
        guard layers.isKnown else { return }
        let spatial = min(Int(layers.point.spatial), Self.side - 1)
        bytes[spatial * Self.side + min(Int(layers.point.temporal), Self.side - 1)] += Float(size)
        hasArrivals = true
    }

    /// Reduces the weight of what was counted, if packets have arrived since the last review.
    mutating func review() {
        guard hasArrivals else { return }
        bytes *= Self.decay
        hasArrivals = false
    }

    /// The highest layers that arrive; zero if there are no layers.
    var highest: OperatingPoint {
        var point = OperatingPoint(spatial: 0, temporal: 0)
        let least = bytes.sum() * Self.smallestShare
        for index in 0..<bytes.scalarCount where bytes[index] > least {
            point.spatial = max(point.spatial, UInt8(index / Self.side))
            point.temporal = max(point.temporal, UInt8(index % Self.side))
        }
        return point
    }

    /// Returns the share of an operating point in the bit rate; 1 if nothing was counted.
    func share(of point: OperatingPoint) -> Double {
        let total = bytes.sum()
        guard total > 0 else { return 1 }
        var sum: Float = 0
        for index in 0..<bytes.scalarCount {
            let layers = OperatingPoint(spatial: UInt8(index / Self.side), temporal: UInt8(index % Self.side))
            if point.contains(layers) { sum += bytes[index] }
        }
        return Double(sum / total)
    }
}
