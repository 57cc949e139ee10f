import PCastCore
public import PCastOverlay
import PCastTimeline
import Synchronization

/// A plugin that sends the released events of a game's timeline to the pages of an overlay.
///
///     overlay.use(TimelineOverlayPlugin(timeline))
///
/// The plugin holds the timeline strongly, and the timeline holds the plugin weakly. Pages receive the application
/// messages `timeline.game`, `timeline.added`, `timeline.modified` and `timeline.deleted`. A page that connects or
/// reconnects receives `timeline.snapshot`, which replaces all that it knew. All pages receive it if more than 64
/// events change at once.
public final class TimelineOverlayPlugin: OverlayPlugin {
    private struct State: Sendable {
        weak var overlay: Overlay?
        var known = TimelinePageState()
    }

    /// The maximum number of messages for one change. More would exceed the queues of pages.
    private static let maximumConcurrent = 64

    private let timeline: GameTimeline
    private let state = Mutex(State())

    /// Creates a plugin for a timeline. The caller subscribes the timeline.
    public init(_ timeline: GameTimeline) { self.timeline = timeline }

    /// Begins to send messages to the overlay's pages.
    public func create(_ overlay: Overlay) {
        state.withLock { $0.overlay = overlay }
        timeline.add(self)
    }

    /// Ends sending.
    public func destroy() {
        timeline.remove(self)
        state.withLock { $0.overlay = nil }
    }

    /// Sends a snapshot to a page that connects.
    public func begin(_ page: OverlayPage.ID) {
        // The lock delays later changes until after the snapshot.
        state.withLock { state in
            guard let overlay = state.overlay else { return }
            for message in state.known.snapshot { overlay.post(message, to: page) }
        }
    }
}

extension TimelineOverlayPlugin: TimelineReceiver {
    /// Sends deliveries to the pages.
    func receive(_ deliveries: [TimelineDelivery]) {
        state.withLock { state in
            let messages = deliveries.map { state.known.take($0) }
            guard let overlay = state.overlay else { return }
            for message in messages.count > Self.maximumConcurrent ? state.known.snapshot : messages {
                overlay.post(message)
            }
        }
    }

    /// Sends an empty snapshot to the pages.
    func ended() {
        state.withLock { state in
            state.known = TimelinePageState()
            guard let overlay = state.overlay else { return }
            for message in state.known.snapshot { overlay.post(message) }
        }
    }
}

/// An object that receives the deliveries of a timeline before the delegate. It is held weakly, and called from one
/// thread at a time, in order.
protocol TimelineReceiver: AnyObject, Sendable {
    /// Handles deliveries.
    func receive(_ deliveries: [TimelineDelivery])
    /// Handles the end of the timeline: nothing is released any more.
    func ended()
}

/// A weak reference to an audience.
struct WeakTimelineReceiver: Sendable { weak let value: (any TimelineReceiver)? }
