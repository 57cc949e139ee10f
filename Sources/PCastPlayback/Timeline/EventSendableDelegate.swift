/// An object that receives the timeline events of a player's game when playback reaches them (Quickplay's
/// `EventSendableDelegate`). The player holds it weakly, and calls it from one thread at a time, in the order of the
/// events. A subclass of `Player` that conforms is its own delegate unless another is set.
@preconcurrency public protocol EventSendableDelegate: AnyObject, Sendable {
    /// Notifies of an event. `metadata` describes its change.
    func didReceive(
        event: StreamTimelineEvent, suggestedAction: SuggestedAction, metadata: (any StreamTimelineMetadata)?)
}

/// A weak reference to a delegate.
struct WeakEventDelegate: Sendable { weak let value: (any EventSendableDelegate)? }

extension Player {
    /// The delegate that receives the events of this player's timelines; nil for none. It is held weakly.
    public var eventDelegate: (any EventSendableDelegate)? {
        get { read { $0.eventDelegate?.value } ?? (self as Any as? any EventSendableDelegate) }
        set { change { state in state.eventDelegate = newValue.map { WeakEventDelegate(value: $0) } } }
    }
}
