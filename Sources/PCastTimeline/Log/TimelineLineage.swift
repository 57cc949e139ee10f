/// The logs of which a game's revisions are a continuation, the oldest first. In a cluster, a node that continues the
/// revisions of another one begins a new log, so that the revisions of a log are those of one process.
package struct TimelineLineage: Hashable, Sendable {
    /// A log of the lineage.
    package struct Fork: Hashable, Sendable {
        /// The log.
        package var log: TimelineLogID
        /// The number of the last revision before the log.
        package var after: SequenceNumber

        /// Creates an element.
        package init(_ log: TimelineLogID, after: SequenceNumber) { (self.log, self.after) = (log, after) }
    }

    /// The maximum number of logs. The oldest one is forgotten, and consumers that know only that one begin again.
    package static let capacity = 64

    /// The logs. Empty if the node has none.
    package private(set) var forks: [Fork]

    /// Creates the lineage of a node without a log.
    package init() { forks = [] }

    /// Creates the lineage of a new log.
    package init(_ log: TimelineLogID) { forks = [Fork(log, after: .none)] }

    /// Creates a lineage of these logs; nil if there are too many, or if they are not in order.
    package init?(_ forks: [Fork]) {
        guard forks.count <= Self.capacity, zip(forks, forks.dropFirst()).allSatisfy({ $0.after <= $1.after }),
            Set(forks.map(\.log)).count == forks.count
        else { return nil }
        self.forks = forks
    }

    /// The newest log; nil if there is none.
    package var newest: TimelineLogID? { forks.last?.log }

    /// Returns the log of a revision.
    package func log(of number: SequenceNumber) -> TimelineLogID? {
        (forks.last { $0.after < number } ?? forks.first)?.log
    }

    /// Returns the number of the last revision that is one of a log, if the newest revision is `newest`; nil for another log.
    package func end(of log: TimelineLogID, newest: SequenceNumber) -> SequenceNumber? {
        guard let index = forks.firstIndex(where: { $0.log == log }) else { return nil }
        return index + 1 < forks.count ? forks[index + 1].after : newest
    }

    /// Returns the number of the last revision that two nodes share. A log is continued by one process only, so that two
    /// nodes that have a log share all of its revisions that both have, and all earlier ones.
    package func shared(
        with other: TimelineLineage, newest: SequenceNumber, otherNewest: SequenceNumber
    ) -> SequenceNumber {
        forks.compactMap { fork in
            guard let end = end(of: fork.log, newest: newest),
                let otherEnd = other.end(of: fork.log, newest: otherNewest)
            else { return nil }
            return min(end, otherEnd, newest, otherNewest)
        }.max() ?? .none
    }

    /// Begins a log after a revision.
    package mutating func begin(_ log: TimelineLogID, after number: SequenceNumber) {
        // Logs without a revision are not needed.
        forks.removeAll { $0.after >= number }
        forks.append(Fork(log, after: forks.isEmpty ? .none : number))
        if forks.count > Self.capacity { forks.removeFirst() }
    }
}
