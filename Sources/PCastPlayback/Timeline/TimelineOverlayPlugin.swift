import PCastCore
public import PCastOverlay
import PCastTimeline
import Synchronization

/// Brings a game's timeline to the pages of an overlay: what its viewer may know at the picture that is seen, as it is told to
/// him, and nothing else.
///
///     overlay.use(TimelineOverlayPlugin(timeline))
///
/// It follows the timeline as long as the overlay lives, and is followed by it weakly. Pages are told `timeline.game`,
/// `timeline.added`, `timeline.modified` and `timeline.deleted`, as messages of the application that everybody hears; one that
/// comes, or comes back, and all of them when very much changes at once, `timeline.snapshot` in place of all that they knew.
public final class TimelineOverlayPlugin: OverlayPlugin {
    private struct State: Sendable {
        weak var overlay: Overlay?
        var known = TimelinePageKnowledge()
    }

    /// More than that changes at once: pages would fall behind.
    private static let mostAtOnce = 64

    private let timeline: GameTimeline
    private let state = Mutex(State())

    /// - Parameter timeline: subscribed by whoever made it.
    public init(_ timeline: GameTimeline) { self.timeline = timeline }

    public func create(_ overlay: Overlay) {
        state.withLock { $0.overlay = overlay }
        timeline.add(self)
    }

    public func destroy() {
        timeline.remove(self)
        state.withLock { $0.overlay = nil }
    }

    public func begin(_ page: OverlayPage.ID) {
        // What changes meanwhile is told behind it.
        state.withLock { state in
            guard let overlay = state.overlay else { return }
            for message in state.known.snapshot { overlay.post(message, to: page) }
        }
    }
}

extension TimelineOverlayPlugin: TimelineAudience {
    func told(_ deliveries: [TimelineDelivery]) {
        state.withLock { state in
            let messages = deliveries.map { state.known.take($0) }
            guard let overlay = state.overlay else { return }
            for message in messages.count > Self.mostAtOnce ? state.known.snapshot : messages { overlay.post(message) }
        }
    }

    func ended() {
        state.withLock { state in
            state.known = TimelinePageKnowledge()
            guard let overlay = state.overlay else { return }
            for message in state.known.snapshot { overlay.post(message) }
        }
    }
}
