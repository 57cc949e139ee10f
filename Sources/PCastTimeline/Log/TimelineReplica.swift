package import PCastCore

/// The revisions of a game at a node of a cluster, with their lineage. One node, the home of the game, adds revisions. The
/// others have copies, and add revisions of their own only while they cannot reach a home. These are merged later.
package struct TimelineReplica: Sendable {
    /// The changes that result from the revisions of another node.
    package struct Merge: Sendable {
        /// The requests that add them, in order, with the identifiers of their origins.
        package var requests: [(request: TimelineRequest, origin: String)] = []
        /// The revisions that are not added, because this node has a later change of the same event.
        package var superseded: [TimelineRevision] = []
    }

    /// The revisions.
    package private(set) var log: TimelineLog
    /// The logs of the revisions.
    package private(set) var lineage: TimelineLineage
    /// Whether this process has begun the newest log, so that it may continue it.
    package private(set) var isOwn: Bool

    /// Creates a replica with these revisions.
    package init(_ log: TimelineLog, _ lineage: TimelineLineage, isOwn: Bool) {
        (self.log, self.lineage, self.isOwn) = (log, lineage, isOwn)
    }

    /// The number of the newest revision; 0 if there is none.
    package var newest: SequenceNumber { log.newest }

    /// Returns the revision of a request that was accepted before; nil if there is none.
    package func revision(of origin: String) -> TimelineRevision? { log.numbers[origin].flatMap { log[$0] } }

    /// Returns the revision that a request results in, with the identifier of its origin; nil if it changes nothing.
    ///
    /// - Throws: ``TimelineError`` if the request is invalid or there is no space.
    package func revision(
        for request: TimelineRequest, origin: String?, at now: WallTime
    ) throws(TimelineError) -> TimelineRevision? {
        try log.revision(for: request, origin: origin, at: now)
    }

    /// Returns the number of the last revision that this node and another one share.
    package func shared(with lineage: TimelineLineage, newest: SequenceNumber) -> SequenceNumber {
        self.lineage.shared(with: lineage, newest: self.newest, otherNewest: newest)
    }

    // MARK: Changes

    /// Begins a log of this process after the newest revision.
    package mutating func begin(_ id: TimelineLogID) {
        lineage.begin(id, after: newest)
        isOwn = true
    }

    /// Adds the next revision. A revision that is already in the log is ignored. Returns whether it is new.
    ///
    /// - Throws: ``TimelineError`` if an earlier revision is missing, or if there is no space.
    @discardableResult
    package mutating func append(_ revision: TimelineRevision) throws(TimelineError) -> Bool {
        try log.append(revision)
    }

    /// Continues the revisions of another node after a revision that both share. Later revisions of this node are removed.
    package mutating func reset(_ lineage: TimelineLineage, after number: SequenceNumber) {
        if number < newest { log = log.prefix(number) }
        self.lineage = lineage
        isOwn = false
    }

    /// Whether revisions of another node continue those of this one, so that they can be added unchanged.
    package func isContinued(by lineage: TimelineLineage, newest: SequenceNumber) -> Bool {
        shared(with: lineage, newest: newest) == self.newest
    }

    /// Returns the changes that add revisions of another node, which follow the last revision that both share.
    ///
    /// If both nodes have changed an event, the later change remains, and that of this node if the times are equal. Thus
    /// the result does not depend on when a node returns.
    package func merging(
        _ revisions: [TimelineRevision], of lineage: TimelineLineage, after shared: SequenceNumber, at now: WallTime
    ) -> Merge {
        var latest: [TimelineEventID?: WallTime] = [:]
        for revision in log.changes(since: shared) {
            latest[revision.eventID] = max(latest[revision.eventID] ?? revision.recordedAt, revision.recordedAt)
        }
        var merge = Merge()
        for revision in revisions {
            let origin = revision.origin ?? "\(lineage.log(of: revision.number)?.description ?? ""):\(revision.number)"
            guard log.numbers[origin] == nil else { continue }
            if let latest = latest[revision.eventID], latest >= revision.recordedAt {
                merge.superseded.append(revision)
                continue
            }
            let change: TimelineRequest.Change =
                switch revision.change {
                case .info(let info): .info(info)
                case .added(let id, let event), .modified(let id, let event): .put(id, event)
                case .deleted(let id): .delete(id)
                }
            // The clocks of two nodes may differ.
            let request = TimelineRequest(change, recordedAt: min(revision.recordedAt, now))
            merge.requests.append((request, origin))
        }
        return merge
    }
}
