/// Events in the order in which they came, until they are taken.
///
/// Taking one moves no other, for all viewers of a stream leave at once. A peer brings forth a few events in its life, and
/// whoever drives the relay takes them after each turn.
struct EventQueue {
    private var events: [SFUEvent] = []
    private var taken = 0

    mutating func append(_ event: SFUEvent) { events.append(event) }

    mutating func popFirst() -> SFUEvent? {
        guard taken < events.count else { return nil }
        defer {
            taken += 1
            if taken == events.count {
                events.removeAll(keepingCapacity: true)
                taken = 0
            }
        }
        return events[taken]
    }
}
