/// The revisions that were delivered to a viewer.
public struct DeliveredRevisions: Hashable, Sendable {
    /// The revision of the game's description; nil if none was delivered.
    public internal(set) var info: SequenceNumber?
    /// The revision of each event.
    public internal(set) var events: [TimelineEventID: SequenceNumber] = [:]

    /// Creates an empty set.
    public init() {}
}
