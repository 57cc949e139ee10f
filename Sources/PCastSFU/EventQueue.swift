/// A queue of events, in the order in which they occurred.
///
/// Removing an event moves no other event, because all viewers of a stream can leave at the same time. A peer causes
/// few events in its life, and the driver of the SFU takes them after each iteration.
struct EventQueue {
    private var events: [SFUEvent] = []
    private var readCount = 0

    mutating func append(_ event: SFUEvent) { events.append(event) }

    mutating func popFirst() -> SFUEvent? {
        guard readCount < events.count else { return nil }
        defer {
            readCount += 1
            if readCount == events.count {
                events.removeAll(keepingCapacity: true)
                readCount = 0
            }
        }
        return events[readCount]
    }
}
