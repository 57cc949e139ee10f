import PCastCore
import PCastRTP

/// A summary of the links of a stream's viewers, to which viewers are added one by one.
struct ViewersLinks {
    /// A link that carries less than this percentage of the full bit rate is limited.
    private static let tooSmall: Int64 = 85
    /// The percentage of an estimate that is usable, because retransmissions and variations need the rest.
    private static let usable: Int64 = 95

    /// The bit rate of the stream without any limit; nil while it is unknown.
    let full: Bitrate?
    /// The usable bit rate of each link. A link that was not found to carry less is assumed to carry all.
    var estimates: [Bitrate] = []
    private(set) var count = 0
    private(set) var limited = 0
    /// The number of viewers that subscribe to video.
    private(set) var subscribers = 0
    /// The number of these viewers whose links cannot carry any video.
    private(set) var blind = 0

    init(full: Bitrate?) { self.full = full }

    /// Adds all viewers of a replica.
    mutating func add(_ replica: StreamReplica) {
        count += replica.links.count
        limited += replica.links.limited
        subscribers += replica.links.subscribers
        blind += replica.links.blind
        estimates.append(contentsOf: replica.estimates)
    }

    /// Adds a viewer. `isKnown` is whether the viewer's reports are recent.
    mutating func add(_ estimate: BandwidthEstimate, selection: LayerSelection, requestsVideo: Bool, isKnown: Bool) {
        count += 1
        if let full, isKnown {
            // Retransmissions and variations need a part of the bandwidth.
            let available = Bitrate(bitsPerSecond: estimate.target.bitsPerSecond * Self.usable / 100)
            let deliverable = estimate.isLimited ? min(available, full) : full
            estimates.append(deliverable)
            if deliverable.bitsPerSecond * 100 < full.bitsPerSecond * Self.tooSmall { limited += 1 }
        }
        guard requestsVideo, isKnown else { return }
        subscribers += 1
        switch selection.choice {
        case .layer: break
        case .audioOnly, .nothing: if selection.cause == .link { blind += 1 }
        }
    }
}
