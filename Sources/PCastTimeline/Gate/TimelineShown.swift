/// What a viewer knows: of the game and of each event, which revision.
public struct TimelineShown: Hashable, Sendable {
    public internal(set) var info: SequenceNumber?
    public internal(set) var events: [TimelineEventID: SequenceNumber] = [:]

    public init() {}
}
