package import PCastCore

/// The conditions of a link over time, such as 4, then 0.8, then 4 Mbit/s.
package struct LinkSchedule: Hashable, Sendable {
    /// A change of the conditions.
    package struct Change: Hashable, Sendable {
        /// The time since the creation of the link.
        package let age: TimeSpan
        /// The conditions from that time.
        package let conditions: LinkConditions
    }

    /// The conditions at the beginning.
    package let initial: LinkConditions
    /// The changes in the order of time.
    package private(set) var changes: [Change] = []

    /// Creates a schedule without changes.
    package init(_ initial: LinkConditions) { self.initial = initial }

    /// Returns this schedule with one more change, which modifies the conditions that are valid just before. Traps if
    /// `age` is before the last change.
    package func changed(at age: TimeSpan, _ change: (inout LinkConditions) -> Void) -> LinkSchedule {
        precondition(age >= changes.last?.age ?? .zero)
        var conditions = changes.last?.conditions ?? initial
        change(&conditions)
        var schedule = self
        schedule.changes.append(Change(age: age, conditions: conditions))
        return schedule
    }
}
