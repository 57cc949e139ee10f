import PCastCore

/// Which layer a viewer shall have: the best that its link, its wishes and the publisher allow.
///
/// Down at once where the link carries clearly less than the layer takes; up only after there has been room for a while,
/// and for longer each time that proved too early. Below the lowest layer sound goes on alone, and below that nothing
/// does; both return by themselves. A single layer is the lowest of one.
public struct LayerSelection: Hashable, Sendable {
    public enum Choice: Hashable, Sendable {
        /// By its place in the publisher's order.
        case layer(Int)
        case audioOnly
        case nothing
    }

    /// Why it is not more.
    public enum Cause: Hashable, Sendable {
        /// It is the best there is.
        case none
        /// The viewer's link carries no more.
        case link
        /// The viewer wants no more bits a second.
        case limit
        /// The viewer wants this one.
        case pin
        /// The publisher does not send what is better.
        case publisher
    }

    public private(set) var choice = Choice.layer(0)
    public private(set) var cause = Cause.none
    /// The layer that the viewer wants and no better one; nil for the best.
    var pin: Int?
    /// What the viewer wants the video to take at most.
    var limit: Bitrate?

    private var shortSince: Instant?
    private var clearlyShortSince: Instant?
    private var roomSince: Instant?
    private var deafSince: Instant?
    private var lastUp: Instant?
    private var timeout = Self.shortestPatience

    /// Room for a better layer is watched for so long before it is taken.
    static let shortestPatience = TimeSpan.seconds(1 as Int64)
    static let longestPatience = TimeSpan.seconds(30 as Int64)
    /// Having to go back within this time means that going up was too early.
    static let trial = TimeSpan.seconds(10 as Int64)
    /// So long a link may carry a little less than a layer takes, and much less than the lowest takes: its encoder may
    /// be told to make less.
    static let shortPatience = TimeSpan.seconds(1 as Int64)
    static let lowestPatience = TimeSpan.seconds(3 as Int64)
    /// So long sound is tried of which too little gets through.
    static let deafPatience = TimeSpan.seconds(2 as Int64)
    /// So long there has to be room for video to come back.
    static let returnPatience = TimeSpan.milliseconds(300)
    /// A link that carries less than this beside the sound carries no video.
    static let leastVideo = Bitrate.kilobits(60)
    /// What a layer varies by, in percent of its rate: room to go up, room to come back, and what is clearly too little.
    private static let roomToRise: Int64 = 115
    private static let roomToReturn: Int64 = 105
    private static let clearlyShort: Int64 = 85

    init() {}

    /// For a viewer that has just come.
    mutating func begin(_ ladder: LayerLadder) {
        guard !ladder.rungs.isEmpty else { return }
        choose(ladder.start, ladder, ceiling(ladder))
    }

    /// Decides anew; answers whether anything changed.
    ///
    /// - Parameters:
    ///   - audio: what the sound takes.
    ///   - allowance: what the link carries, sound and all; nil while nobody knows.
    mutating func decide(
        _ ladder: LayerLadder, audio: Bitrate, allowance: Bitrate?, at now: Instant
    ) -> Bool {
        guard !ladder.rungs.isEmpty else { return false }
        let before = (choice, cause)
        let ceiling = ceiling(ladder)
        let budget = allowance.map { Bitrate(bitsPerSecond: max($0.bitsPerSecond - audio.bitsPerSecond, 0)) }
        if case .layer(let layer) = choice, let rank = ladder.rank(of: layer) {
            stayOrMove(from: rank, ladder, ceiling, budget, at: now)
        } else {
            comeBack(ladder, ceiling, budget, at: now)
            hear(audio: audio, allowance: allowance, at: now)
        }
        return before != (choice, cause)
    }

    /// The best rank that is allowed, whatever the link, and what allows no better.
    private func ceiling(_ ladder: LayerLadder) -> (rank: Int, cause: Cause) {
        var rank = ladder.rungs.count - 1
        var cause = Cause.none
        if let pin, let pinned = ladder.rank(of: pin), pinned < rank { (rank, cause) = (pinned, .pin) }
        if let limit {
            while rank > ladder.lowest, ladder.rungs[rank].bitrate > limit { (rank, cause) = (rank - 1, .limit) }
        }
        while rank > ladder.lowest, !ladder.rungs[rank].isAvailable { (rank, cause) = (rank - 1, .publisher) }
        return (max(rank, ladder.lowest), cause)
    }

    /// The best available rank up to the ceiling of which the budget holds so many percent.
    private static func best(
        _ ladder: LayerLadder, upTo ceiling: Int, percent: Int64, of budget: Bitrate?
    ) -> Int? {
        guard let budget else { return ceiling }
        return ladder.rungs.indices.prefix(ceiling + 1).last { rank in
            ladder.rungs[rank].isAvailable
                && ladder.rungs[rank].bitrate.bitsPerSecond * percent <= budget.bitsPerSecond * 100
        }
    }

    private mutating func choose(_ rank: Int, _ ladder: LayerLadder, _ ceiling: (rank: Int, cause: Cause)) {
        let rank = min(rank, ceiling.rank)
        choice = .layer(ladder.rungs[rank].layer)
        cause = rank < ceiling.rank ? .link : ceiling.cause
    }

    private mutating func stayOrMove(
        from rank: Int, _ ladder: LayerLadder, _ ceiling: (rank: Int, cause: Cause), _ budget: Bitrate?,
        at now: Instant
    ) {
        let rung = ladder.rungs[rank]
        choose(rank, ladder, ceiling)
        if rank > ceiling.rank || !rung.isAvailable && rank != ladder.lowest {
            let best = Self.best(ladder, upTo: ceiling.rank, percent: 100, of: budget)
            return choose(best ?? ladder.lowest, ladder, ceiling)
        }
        guard let budget, budget < rung.bitrate else {
            shortSince = nil
            clearlyShortSince = nil
            return rise(from: rank, ladder, ceiling, budget, at: now)
        }
        roomSince = nil
        let since = shortSince ?? now
        shortSince = since
        let isClear = budget.bitsPerSecond * 100 < rung.bitrate.bitsPerSecond * Self.clearlyShort
        clearlyShortSince = isClear ? clearlyShortSince ?? now : nil
        if rank > ladder.lowest {
            guard isClear || now - since >= Self.shortPatience else { return }
            noteFall(at: now)
            shortSince = nil
            let best = Self.best(ladder, upTo: rank - 1, percent: 100, of: budget)
            choose(best ?? ladder.lowest, ladder, ceiling)
        } else if budget < Self.leastVideo
            || clearlyShortSince.map({ now - $0 >= Self.lowestPatience }) ?? false
        {
            noteFall(at: now)
            shortSince = nil
            clearlyShortSince = nil
            choice = .audioOnly
            cause = .link
        }
    }

    private mutating func rise(
        from rank: Int, _ ladder: LayerLadder, _ ceiling: (rank: Int, cause: Cause), _ budget: Bitrate?,
        at now: Instant
    ) {
        let best = Self.best(ladder, upTo: ceiling.rank, percent: Self.roomToRise, of: budget)
        guard let best, best > rank else {
            roomSince = nil
            return
        }
        let since = roomSince ?? now
        roomSince = since
        guard now - since >= timeout else { return }
        roomSince = nil
        lastUp = now
        choose(best, ladder, ceiling)
    }

    /// Who has to go down soon after going up waits longer the next time.
    private mutating func noteFall(at now: Instant) {
        if let lastUp, now - lastUp < Self.trial {
            timeout = min(timeout * 2, Self.longestPatience)
        } else {
            timeout = Self.shortestPatience
        }
    }

    private mutating func comeBack(
        _ ladder: LayerLadder, _ ceiling: (rank: Int, cause: Cause), _ budget: Bitrate?, at now: Instant
    ) {
        let best = Self.best(ladder, upTo: ceiling.rank, percent: Self.roomToReturn, of: budget)
        guard let best, budget.map({ $0 >= Self.leastVideo }) ?? true else {
            roomSince = nil
            return
        }
        let since = roomSince ?? now
        roomSince = since
        guard now - since >= Self.returnPatience else { return }
        roomSince = nil
        lastUp = now
        choose(best, ladder, ceiling)
    }

    /// Sound of which half gets lost is none.
    private mutating func hear(audio: Bitrate, allowance: Bitrate?, at now: Instant) {
        if case .layer = choice { return deafSince = nil }
        cause = .link
        guard let allowance, allowance.bitsPerSecond * 2 < audio.bitsPerSecond else {
            deafSince = nil
            if allowance.map({ $0.bitsPerSecond * 5 >= audio.bitsPerSecond * 4 }) ?? true { choice = .audioOnly }
            return
        }
        let since = deafSince ?? now
        deafSince = since
        if now - since >= Self.deafPatience { choice = .nothing }
    }
}
