/// Who is told what happens in the game that a player shows, when its picture comes there (seed 002). The player holds it
/// weakly; a player that conforms itself is told as well. It is called from one thread at a time, in order.
@preconcurrency public protocol EventSendableDelegate: AnyObject, Sendable {
    func didReceive(
        event: StreamTimelineEvent, suggestedAction: SuggestedAction, metadata: (any StreamTimelineMetadata)?)
}

/// A delegate, as long as somebody else has it.
struct WeakEventDelegate: Sendable { weak let value: (any EventSendableDelegate)? }

extension Player {
    /// Who is told by this player's timelines.
    public var eventDelegate: (any EventSendableDelegate)? {
        get { read { $0.eventDelegate?.value } ?? (self as Any as? any EventSendableDelegate) }
        set { change { state in state.eventDelegate = newValue.map { WeakEventDelegate(value: $0) } } }
    }
}
