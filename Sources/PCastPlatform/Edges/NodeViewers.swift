import PCastCore

/// The numbers of HLS viewers that other nodes report.
struct NodeViewers: Sendable {
    /// The time for which a report counts.
    static let validity = TimeSpan.seconds(10 as Int64)
    /// The maximum number of nodes whose reports are kept.
    static let capacity = 1_024
    /// The maximum number of viewers that a report may state.
    static let maximumCount = 10_000_000

    private var reports: [String: (count: Int, until: Instant)] = [:]

    /// Records the report of a node.
    mutating func note(_ count: Int, of node: String, at now: Instant) {
        reports = reports.filter { now < $0.value.until }
        guard reports[node] != nil || reports.count < Self.capacity else { return }
        reports[node] = (min(max(count, 0), Self.maximumCount), now + Self.validity)
    }

    /// Returns the number of viewers at other nodes, less one for each node, which waits for a part in place of them and
    /// counts as a viewer.
    func count(at now: Instant) -> Int {
        reports.values.reduce(0) { now < $1.until ? $0 + max($1.count - 1, 0) : $0 }
    }

    /// Returns the number of nodes that have viewers. Each of them may be counted as a viewer here, because it waits for a part.
    func nodeCount(at now: Instant) -> Int { reports.values.count { now < $0.until && $0.count > 0 } }
}
