import PCastCore
import PCastRTP

/// What the links of a stream's viewers carry, as they are gone through one by one.
struct ViewersLinks {
    /// In percent of the whole: less is a limit.
    private static let tooSmall: Int64 = 85
    private static let usable: Int64 = 95

    /// What the stream has when nothing holds it back; nil while nobody knows.
    let full: Bitrate?
    /// A link that was not found to carry less carries the whole.
    var estimates: [Bitrate] = []
    private(set) var count = 0
    private(set) var limited = 0
    /// Viewers that take pictures, and those of them that have no room for any.
    private(set) var takers = 0
    private(set) var blind = 0

    init(full: Bitrate?) { self.full = full }

    /// All viewers of a replica.
    mutating func add(_ replica: StreamReplica) {
        count += replica.links.count
        limited += replica.links.limited
        takers += replica.links.takers
        blind += replica.links.blind
        estimates.append(contentsOf: replica.estimates)
    }

    /// - Parameter isKnown: the viewer's reports are of this moment.
    mutating func add(_ estimate: BandwidthEstimate, selection: LayerSelection, takesVideo: Bool, isKnown: Bool) {
        count += 1
        if let full, isKnown {
            // What is sent again, and what varies, needs some of it.
            let room = Bitrate(bitsPerSecond: estimate.target.bitsPerSecond * Self.usable / 100)
            let carried = estimate.isLimited ? min(room, full) : full
            estimates.append(carried)
            if carried.bitsPerSecond * 100 < full.bitsPerSecond * Self.tooSmall { limited += 1 }
        }
        guard takesVideo, isKnown else { return }
        takers += 1
        switch selection.choice {
        case .layer: break
        case .audioOnly, .nothing: if selection.cause == .link { blind += 1 }
        }
    }
}
