import PCastMedia
import Synchronization

/// What the control plane counts since the platform began, for `/metrics`.
final class PlatformStatistics: Sendable {
    /// One application's; there are as many as are configured.
    struct Counts: Sendable {
        var started = 0
        var views = 0
        /// By the word of the reason; an application's own words count as one.
        var ended: [String: Int] = [:]
    }

    struct Figures: Sendable {
        var applications: [ApplicationID: Counts] = [:]
        /// From the request to join until media can flow.
        var publisherJoins = Histogram(milliseconds: PlatformStatistics.joinBounds)
        var viewerJoins = Histogram(milliseconds: PlatformStatistics.joinBounds)
        /// From a request to a callback address until its answer, or until it was given up.
        var notifications = Histogram(milliseconds: [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 15_000])
    }

    private static let joinBounds: [Int64] = [25, 50, 100, 150, 200, 300, 500, 750, 1_000, 2_000, 5_000, 10_000]

    private let state = Mutex(Figures())

    var figures: Figures { state.withLock { $0 } }

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
