public import PCastCore

/// Follows a log and a playhead, and says what is to be told: nothing before its time.
public struct TimelineCursor: Sendable {
    public private(set) var log: TimelineLog
    public private(set) var shown = TimelineShown()
    public private(set) var moment: TimelineMoment
    /// Whether everything is told as soon as it is known.
    public let isUngated: Bool
    private let limits: TimelineLimits
    /// Something was taken of which nothing was told yet.
    private var isBehind = false

    public init(spoiler: Bool = false, within limits: TimelineLimits = .standard) {
        (isUngated, self.limits) = (spoiler, limits)
        log = TimelineLog(within: limits)
        moment = spoiler ? .everything : .nowhere
        due = nil
    }

    /// The next moment of the programme at which something is to be told; nil where nothing is known of one.
    public private(set) var due: WallTime?

    /// The picture of this moment is seen; nil where nothing tells which.
    public mutating func move(to timecode: WallTime?) -> [TimelineDelivery] {
        guard !isUngated else { return [] }
        let next = timecode.map { TimelineMoment.at($0) } ?? .nowhere
        // Most pictures are of a moment at which nothing is due.
        if !isBehind, next >= moment, moment != .nowhere, due.map({ !next.hasReached($0) }) ?? true {
            moment = next
            return []
        }
        guard isBehind || next != moment else { return [] }
        moment = next
        return settle()
    }

    /// Takes what the feed says, in its order.
    ///
    /// - Parameter isHolding: nothing is told of it before the next picture, for it is not known which one is seen now. Who is
    ///   told everything is told at once.
    /// - Throws: `TimelineError.gap`, when nothing is taken of what comes behind the gap.
    public mutating func take(
        _ revisions: some Sequence<TimelineRevision>, holding isHolding: Bool = false
    ) throws(TimelineError) -> [TimelineDelivery] {
        for revision in revisions { try log.append(revision) }
        guard !isHolding || isUngated else {
            isBehind = true
            return []
        }
        return settle()
    }

    /// Another writing of the log begins: all that was told is taken back.
    public mutating func startOver() -> [TimelineDelivery] {
        let told = TimelineGate.deliveries(from: shown, to: TimelineShown(), of: log, at: .nowhere)
        (log, shown, due, isBehind) = (TimelineLog(within: limits), TimelineShown(), nil, false)
        return told
    }

    private mutating func settle() -> [TimelineDelivery] {
        isBehind = false
        let next = TimelineGate.shown(of: log, at: moment)
        let told = TimelineGate.deliveries(from: shown, to: next, of: log, at: moment)
        shown = next
        if case .at(let moment) = moment { due = log.firstGate(after: moment) } else { due = nil }
        return told
    }
}
