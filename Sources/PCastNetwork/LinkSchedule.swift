public import PCastMedia

/// A link's conditions over time: 4, then 0.8, then 4 Mbit/s.
public struct LinkSchedule: Hashable, Sendable {
    public struct Change: Hashable, Sendable {
        /// After the link's beginning.
        public let age: TimeSpan
        public let conditions: LinkConditions
    }

    public let initial: LinkConditions
    /// In order.
    public private(set) var changes: [Change] = []

    public init(_ initial: LinkConditions) { self.initial = initial }

    /// The same schedule, with a change of the conditions that hold just before.
    ///
    /// - Parameter age: not before the last change.
    public func changed(at age: TimeSpan, _ change: (inout LinkConditions) -> Void) -> LinkSchedule {
        precondition(age >= changes.last?.age ?? .zero)
        var conditions = changes.last?.conditions ?? initial
        change(&conditions)
        var schedule = self
        schedule.changes.append(Change(age: age, conditions: conditions))
        return schedule
    }
}
