/// The revisions that were delivered to a viewer.
package struct DeliveredRevisions: Hashable, Sendable {
    /// The revision of the game's description; nil if none was delivered.
    package internal(set) var info: SequenceNumber?
    /// The revision of each event.
    package internal(set) var events: [TimelineEventID: SequenceNumber] = [:]

    /// Creates an empty set.
    package init() {}
}
