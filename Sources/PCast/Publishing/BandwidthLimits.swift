import PCastCore
import Synchronization

/// The limits that hold for one publisher or one track at the moment; the lowest counts.
package final class BandwidthLimits: Sendable {
    private struct State {
        var limits: [Int: Bitrate] = [:]
        var lastID = 0
    }

    private let state = Mutex(State())

    private let changed: @Sendable (Bitrate?) -> Void

    /// - Parameter changed: is told the lowest limit whenever that may have changed; nil for none.
    package init(changed: @escaping @Sendable (Bitrate?) -> Void = { _ in }) { self.changed = changed }

    /// Holds as long as the answer does.
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

    /// The one that counts; nil for none.
    private var lowest: Bitrate? { state.withLock { $0.limits.values.min() } }

    func apply(to wanted: Bitrate) -> Bitrate {
        state.withLock { min(wanted, $0.limits.values.min() ?? wanted) }
    }
}
