import PCastCore
import Synchronization

/// The counters of the control plane since the start, for `/metrics`.
final class PlatformStatistics: Sendable {
    /// The counters of an application. Their number is that of the configured applications.
    struct Counts: Sendable {
        var started = 0
        var views = 0
        /// The number of ended streams by reason. All custom reasons count as one.
        var ended: [String: Int] = [:]
    }

    /// The values of all counters at one time.
    struct Values: Sendable {
        var applications: [ApplicationID: Counts] = [:]
        /// The time from the request to join until media can be sent.
        var publisherJoins = Histogram(milliseconds: PlatformStatistics.joinBounds)
        var viewerJoins = Histogram(milliseconds: PlatformStatistics.joinBounds)
        /// The time from a request to a callback until its response or timeout.
        var notifications = Histogram(milliseconds: [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 15_000])
    }

    private static let joinBounds: [Int64] = [25, 50, 100, 150, 200, 300, 500, 750, 1_000, 2_000, 5_000, 10_000]

    private let state = Mutex(Values())

    /// The current values.
    var values: Values { state.withLock { $0 } }

    func streamStarted(_ application: ApplicationID) {
        state.withLock { $0.applications[application, default: Counts()].started += 1 }
    }

    func streamEnded(_ application: ApplicationID, _ reason: StreamEndedReason) {
        state.withLock { $0.applications[application, default: Counts()].ended[reason.rawValue, default: 0] += 1 }
    }

    func viewBegan(_ application: ApplicationID) {
        state.withLock { $0.applications[application, default: Counts()].views += 1 }
    }

    func joined(isPublisher: Bool, after span: TimeSpan) {
        state.withLock { state in
            if isPublisher { state.publisherJoins.add(span) } else { state.viewerJoins.add(span) }
        }
    }

    func notified(after span: TimeSpan) { state.withLock { $0.notifications.add(span) } }
}

/// A histogram of durations with Prometheus' cumulative buckets.
struct Histogram: Sendable, Hashable {
    /// The upper bounds of the buckets, lowest first.
    let bounds: [TimeSpan]
    /// The counts between the bounds. The last one is for durations above all bounds.
    private(set) var counts: [Int]
    private(set) var sum = TimeSpan.zero

    init(milliseconds bounds: [Int64]) {
        self.bounds = bounds.map { .milliseconds($0) }
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    mutating func add(_ span: TimeSpan) {
        counts[bounds.firstIndex { span <= $0 } ?? bounds.count] += 1
        sum = sum + span
    }

    /// The number of all durations.
    var count: Int { counts.reduce(0, +) }

    /// The number of durations up to each bound.
    var cumulative: [(bound: TimeSpan, count: Int)] {
        var total = 0
        return zip(bounds, counts).map { bound, count in
            total += count
            return (bound, total)
        }
    }
}
