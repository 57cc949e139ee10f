public import PCastCore
import PCastRTP

/// The layer that a viewer should receive: the best that its link, its limits and the publisher allow.
///
/// The layer is lowered at once if the link carries clearly less than the layer needs. It is raised only after
/// bandwidth has been available for a while, and after a longer while each time that a raise proved too early. Below
/// the lowest layer only audio is sent, and below that nothing. Both states recover by themselves. A single layer
/// counts as the lowest.
public struct LayerSelection: Hashable, Sendable {
    /// The media that a viewer receives.
    public enum Choice: Hashable, Sendable {
        /// Video of a layer, given by its index in the publisher's order, and audio.
        case layer(Int)
        /// Audio without video, because the link carries too little.
        case audioOnly
        /// Neither audio nor video, because the link does not even carry audio.
        case nothing
    }

    /// The reason why the choice is not better.
    public enum Cause: Hashable, Sendable {
        /// The choice is the best layer of the stream.
        case none
        /// The viewer's link carries no more.
        case link
        /// The viewer limits the bit rate.
        case limit
        /// The viewer selected this layer.
        case pin
        /// The publisher does not send a better layer.
        case publisher
        /// The viewer does not decode the codec of the publisher.
        case codec
    }

    /// The current choice.
    public private(set) var choice = Choice.layer(0)
    /// The layers in the SSRC of the chosen layer that the viewer should receive.
    private(set) var point = OperatingPoint.all
    /// The reason why the choice is not better.
    public private(set) var cause = Cause.none
    /// The best layer that the viewer accepts; nil if it accepts all layers.
    var pin: Int?
    /// The maximum bit rate of video that the viewer accepts; nil if it sets none.
    var limit: Bitrate?

    private var shortSince: Instant?
    private var clearlyShortSince: Instant?
    private var headroomSince: Instant?
    private var audioLossSince: Instant?
    private var lastUp: Instant?
    private var timeout = Self.minimumTimeout

    /// The shortest time for which bandwidth must be available before a better layer is chosen.
    static let minimumTimeout = TimeSpan.seconds(1 as Int64)
    /// The longest time for which bandwidth must be available before a better layer is chosen.
    static let maximumTimeout = TimeSpan.seconds(30 as Int64)
    /// A fall within this time after a raise means that the raise was too early.
    static let audioTrial = TimeSpan.seconds(10 as Int64)
    /// The time for which a link may carry a little less than a layer needs, because its encoder may reduce its bit
    /// rate.
    static let shortTimeout = TimeSpan.seconds(1 as Int64)
    /// The time for which a link may carry much less than the lowest layer needs.
    static let lowestLayerTimeout = TimeSpan.seconds(3 as Int64)
    /// The time for which audio is sent although too little of it arrives.
    static let audioTrialDuration = TimeSpan.seconds(2 as Int64)
    /// The time for which bandwidth must be available before video resumes.
    static let videoReturnTimeout = TimeSpan.milliseconds(300)
    /// A link that carries less than this in addition to audio carries no video.
    static let minimumVideo = Bitrate.kilobits(60)
    /// Margins for the variation of a layer, in percent of its bit rate. This one is needed to raise the layer.
    private static let risePercent: Int64 = 115
    /// The percentage of a layer's bit rate that is needed to resume video.
    private static let returnPercent: Int64 = 105

    init() {}

    /// Chooses the layer for a new viewer.
    mutating func begin(_ ladder: LayerLadder) {
        guard !ladder.rungs.isEmpty else { return }
        choose(ladder.start, ladder, ceiling(ladder))
    }

    /// Updates the choice.
    ///
    /// - Parameters:
    ///   - ladder: The stream's layers.
    ///   - audio: The bit rate of audio.
    ///   - allowance: The bit rate that the link carries, including audio; nil while it is unknown.
    ///   - now: The current time.
    /// - Returns: Whether the choice or its cause changed.
    mutating func decide(
        _ ladder: LayerLadder, audio: Bitrate, allowance: Bitrate?, at now: Instant
    ) -> Bool {
        guard !ladder.rungs.isEmpty else { return false }
        let before = (choice, cause, point)
        let ceiling = ceiling(ladder)
        let budget = allowance.map { Bitrate(bitsPerSecond: max($0.bitsPerSecond - audio.bitsPerSecond, 0)) }
        if case .layer(let layer) = choice, ladder.rank(of: layer, point) == nil {
            // The layer does not exist any more.
            let best = Self.best(ladder, upTo: ceiling.rank, percent: 100, of: budget)
            choose(best ?? ladder.lowest, ladder, ceiling)
        } else if case .layer(let layer) = choice, let rank = ladder.rank(of: layer, point) {
            selectLayer(from: rank, ladder, ceiling, budget, at: now)
        } else {
            resumeVideo(ladder, ceiling, budget, at: now)
            updateAudio(audio: audio, allowance: allowance, at: now)
        }
        return before != (choice, cause, point)
    }

    /// The best rank that is allowed regardless of the link, and the reason why no better rank is allowed.
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

    /// Returns the best available rank, up to the ceiling, of which the budget contains the given percentage.
    /// Returns nil if there is none, and the ceiling if the budget is unknown.
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
        point = ladder.rungs[rank].point
        cause = rank < ceiling.rank ? .link : ceiling.cause
    }

    private mutating func selectLayer(
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
            return switchUp(from: rank, ladder, ceiling, budget, at: now)
        }
        headroomSince = nil
        let since = shortSince ?? now
        shortSince = since
        let isClear = LinkLimitation.isTooSmall(budget, for: rung.bitrate)
        clearlyShortSince = isClear ? clearlyShortSince ?? now : nil
        if rank > ladder.lowest {
            guard isClear || now - since >= Self.shortTimeout else { return }
            noteFall(at: now)
            shortSince = nil
            let best = Self.best(ladder, upTo: rank - 1, percent: 100, of: budget)
            choose(best ?? ladder.lowest, ladder, ceiling)
        } else if budget < Self.minimumVideo
            || clearlyShortSince.map({ now - $0 >= Self.lowestLayerTimeout }) ?? false
        {
            noteFall(at: now)
            shortSince = nil
            clearlyShortSince = nil
            choice = .audioOnly
            cause = .link
        }
    }

    private mutating func switchUp(
        from rank: Int, _ ladder: LayerLadder, _ ceiling: (rank: Int, cause: Cause), _ budget: Bitrate?,
        at now: Instant
    ) {
        let best = Self.best(ladder, upTo: ceiling.rank, percent: Self.risePercent, of: budget)
        guard let best, best > rank else {
            headroomSince = nil
            return
        }
        let since = headroomSince ?? now
        headroomSince = since
        guard now - since >= timeout else { return }
        headroomSince = nil
        lastUp = now
        choose(best, ladder, ceiling)
    }

    /// Doubles the time before the next raise if the last raise was too early, and resets it otherwise.
    private mutating func noteFall(at now: Instant) {
        if let lastUp, now - lastUp < Self.audioTrial {
            timeout = min(timeout * 2, Self.maximumTimeout)
        } else {
            timeout = Self.minimumTimeout
        }
    }

    private mutating func resumeVideo(
        _ ladder: LayerLadder, _ ceiling: (rank: Int, cause: Cause), _ budget: Bitrate?, at now: Instant
    ) {
        let best = Self.best(ladder, upTo: ceiling.rank, percent: Self.returnPercent, of: budget)
        guard let best, budget.map({ $0 >= Self.minimumVideo }) ?? true else {
            headroomSince = nil
            return
        }
        let since = headroomSince ?? now
        headroomSince = since
        guard now - since >= Self.videoReturnTimeout else { return }
        headroomSince = nil
        lastUp = now
        choose(best, ladder, ceiling)
    }

    /// Stops audio if at least half of it would be lost for too long, and resumes it when the link carries most of it.
    private mutating func updateAudio(audio: Bitrate, allowance: Bitrate?, at now: Instant) {
        if case .layer = choice { return audioLossSince = nil }
        cause = .link
        guard let allowance, allowance.bitsPerSecond * 2 < audio.bitsPerSecond else {
            audioLossSince = nil
            if allowance.map({ $0.bitsPerSecond * 5 >= audio.bitsPerSecond * 4 }) ?? true { choice = .audioOnly }
            return
        }
        let since = audioLossSince ?? now
        audioLossSince = since
        if now - since >= Self.audioTrialDuration { choice = .nothing }
    }
}

/// The layers of a stream from the view of one viewer: the available ones, the current one, and the reason for it.
public struct ViewedLayers: Hashable, Sendable {
    /// One layer of the stream.
    public struct Layer: Hashable, Sendable {
        /// The publisher's name of the layer (RFC 8852), or its index in the offer if it has none.
        public var name: String
        /// The bit rate on the wire; nil while it is unknown.
        public var bitrate: Bitrate?
        /// The dimensions of the layer's frames; nil while they are unknown.
        public var dimensions: Dimensions?
        /// Whether the layer arrives, or would arrive if a viewer wanted it.
        public var isAvailable: Bool
    }

    /// The layers, best first.
    public var layers: [Layer]
    /// The name of the layer that is sent; nil while none is sent.
    public var current: String?
    /// The name of the best layer that the viewer accepts; nil if it accepts all.
    public var pinned: String?
    /// The media that the viewer should receive.
    public var choice: LayerSelection.Choice
    /// The reason why the choice is not better.
    public var cause: LayerSelection.Cause
}
