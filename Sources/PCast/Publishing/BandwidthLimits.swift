import PCastMedia
import Synchronization

/// The limits that hold for one publisher at the moment; the lowest counts.
package final class BandwidthLimits: Sendable {
    private struct State {
        var limits: [Int: Bitrate] = [:]
        var lastID = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Holds as long as the answer does.
    func add(_ bitrate: Bitrate) -> BandwidthLimit {
        let id = state.withLock { state in
            state.lastID += 1
            state.limits[state.lastID] = bitrate
            return state.lastID
        }
        return BandwidthLimit(bitrate: bitrate) { [weak self] in
            _ = self?.state.withLock { $0.limits.removeValue(forKey: id) }
        }
    }

    func apply(to wanted: Bitrate) -> Bitrate {
        state.withLock { min(wanted, $0.limits.values.min() ?? wanted) }
    }
}
