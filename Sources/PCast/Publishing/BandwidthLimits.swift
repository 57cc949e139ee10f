public import PCastCore
import Synchronization

/// The present limits of one publisher or one track. The lowest one applies.
package final class BandwidthLimits: Sendable {
    private struct State {
        var limits: [Int: Bitrate] = [:]
        var lastID = 0
    }

    private let state = Mutex(State())

    private let changed: @Sendable (Bitrate?) -> Void

    /// Creates an empty set of limits. `changed` receives the lowest limit whenever it may have changed; nil if there
    /// is none.
    package init(changed: @escaping @Sendable (Bitrate?) -> Void = { _ in }) { self.changed = changed }

    /// Adds a limit, which applies while the returned object exists.
    func add(_ bitrate: Bitrate) -> BandwidthLimit {
        let id = state.withLock { state in
            state.lastID += 1
            state.limits[state.lastID] = bitrate
            return state.lastID
        }
        changed(lowest)
        return BandwidthLimit(bitrate: bitrate) { [weak self] in
            guard let self else { return }
            state.withLock { $0.limits[id] = nil }
            changed(lowest)
        }
    }

    /// The limit that applies; nil if there is none.
    private var lowest: Bitrate? { state.withLock { $0.limits.values.min() } }

    /// Returns the bit rate reduced to the lowest limit.
    func apply(to bitrate: Bitrate) -> Bitrate {
        state.withLock { min(bitrate, $0.limits.values.min() ?? bitrate) }
    }
}

/// A limit on the bit rate that a publisher sends or a subscriber receives. It applies while this object exists
/// (Phenix: the `PhenixDisposable` that `limitBandwidth` returns).
public final class BandwidthLimit: Sendable {
    /// The maximum bit rate of the video.
    public let bitrate: Bitrate
    private let remove: @Sendable () -> Void

    init(bitrate: Bitrate, remove: @escaping @Sendable () -> Void) {
        self.bitrate = bitrate
        self.remove = remove
    }

    deinit { remove() }
}
