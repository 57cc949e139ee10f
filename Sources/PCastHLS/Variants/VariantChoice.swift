public import PCastMedia

/// Which variant to load the next segment from: by how fast segments come, and how much waits to be played.
///
/// It goes down as soon as what is played needs more than there is, unless much waits, and up only where a good part of the
/// rate would be left, enough waits, and the last change is some time ago: so it does not swing between two rungs on a link
/// that lies between them.
public struct VariantChoice: Sendable {
    public struct Configuration: Hashable, Sendable {
        /// What is believed before anything was measured.
        public var initialThroughput: Bitrate
        /// From a change to the next one up.
        public var holdTime: TimeSpan
        /// Whose peak exceeds it is not chosen; nil for no limit.
        public var ceiling: Bitrate?
        /// Pictures that are larger than what shows them both ways are not chosen, but for the smallest of those.
        public var surface: Dimensions?

        public init(
            initialThroughput: Bitrate = .kilobits(1_000), holdTime: TimeSpan = .seconds(8 as Int64),
            ceiling: Bitrate? = nil, surface: Dimensions? = nil
        ) {
            self.initialThroughput = initialThroughput
            self.holdTime = holdTime
            self.ceiling = ceiling
            self.surface = surface
        }
    }

    /// Of the rate: what a higher rung may need, what the present one may, and what it may while much waits.
    static let upShare = 0.7
    static let stayShare = 0.95
    static let patientShare = 1.15
    /// So much has to wait at least to be much: what is live may have no more than seconds.
    static let patientBuffer = TimeSpan.seconds(10 as Int64)

    public let ladder: VariantLadder
    public var configuration: Configuration
    /// A rung that was asked for, and that holds whatever is measured.
    public var pinned: Int?
    /// Rungs that cannot be had. Where that is all, none of them counts.
    public var excluded: Set<Int> = []
    public private(set) var throughput = ThroughputEstimate()
    /// The rung that was chosen last; nil before the first choice.
    public private(set) var current: Int?
    private var changedAt: Instant?

    /// - Parameter ladder: With a rung at least.
    public init(_ ladder: VariantLadder, configuration: Configuration = Configuration()) {
        precondition(!ladder.rungs.isEmpty, "there is something to choose")
        self.ladder = ladder
        self.configuration = configuration
    }

    /// What was downloaded. See ``ThroughputEstimate/add(bytes:in:isPaced:)``.
    public mutating func downloaded(bytes: Int64, in span: TimeSpan, isPaced: Bool = false) {
        throughput.add(bytes: bytes, in: span, isPaced: isPaced)
    }

    /// What came of a segment that was left for a lower rung's: the rate is believed, however little it was.
    public mutating func abandoned(bytes: Int64, in span: TimeSpan) { throughput.addFragment(bytes: bytes, in: span) }

    /// Chooses the rung of the next segment.
    ///
    /// - Parameters:
    ///   - buffered: How much waits to be played.
    ///   - goal: How much shall wait when all is well.
    public mutating func choose(buffered: TimeSpan, goal: TimeSpan, at now: Instant) -> Int {
        let chosen = pinned.map { min(max($0, 0), ladder.rungs.count - 1) } ?? wanted(buffered, goal, now)
        if chosen != current {
            // The first choice is a guess, which nothing speaks for keeping.
            changedAt = current == nil ? nil : now
            current = chosen
        }
        return chosen
    }

    private func wanted(_ buffered: TimeSpan, _ goal: TimeSpan, _ now: Instant) -> Int {
        let rate = throughput.bitrate ?? configuration.initialThroughput
        let allowed = allowedRungs()
        guard let current else { return best(of: allowed, within: rate, share: Self.upShare) }
        let isMuch = buffered * 4 >= goal * 3 && buffered >= Self.patientBuffer
        let share = isMuch ? Self.patientShare : Self.stayShare
        let mayStay =
            allowed.contains(current)
            && Double(ladder.rungs[current].average.bitsPerSecond) <= Double(rate.bitsPerSecond) * share
        guard mayStay else {
            // Down, but never up because of it.
            return best(
                of: allowed.filter { $0 <= current || !allowed.contains(current) }, within: rate, share: Self.stayShare)
        }
        let higher = best(of: allowed, within: rate, share: Self.upShare)
        guard higher > current, buffered * 2 >= goal,
            changedAt.map({ now - $0 >= configuration.holdTime }) ?? true
        else { return current }
        return higher
    }

    /// The best whose peak fits; the one that needs least where none does.
    private func best(of rungs: [Int], within rate: Bitrate, share: Double) -> Int {
        let limit = Double(rate.bitsPerSecond) * share
        return rungs.last { Double(ladder.rungs[$0].peak.bitsPerSecond) <= limit }
            ?? rungs.min { ladder.rungs[$0].average < ladder.rungs[$1].average } ?? 0
    }

    /// By the configuration; never none.
    private func allowedRungs() -> [Int] {
        var rungs = ladder.rungs.indices.filter { !excluded.contains($0) }
        if rungs.isEmpty { rungs = Array(ladder.rungs.indices) }
        if let ceiling = configuration.ceiling {
            let below = rungs.filter { ladder.rungs[$0].peak <= ceiling }
            rungs =
                below.isEmpty ? rungs.min { ladder.rungs[$0].peak < ladder.rungs[$1].peak }.map { [$0] } ?? [] : below
        }
        guard let surface = configuration.surface else { return rungs }
        func covers(_ index: Int) -> Bool {
            ladder.rungs[index].variant.resolution.map { $0.width >= surface.width && $0.height >= surface.height }
                ?? false
        }
        func area(_ index: Int) -> Int { ladder.rungs[index].variant.resolution.map { $0.width * $0.height } ?? 0 }
        guard let enough = rungs.filter(covers).map(area).min() else { return rungs }
        return rungs.filter { area($0) <= enough }
    }

    /// Whether to leave a segment that is being loaded for a lower rung's: it will not be there before what waits is played,
    /// and the other one would.
    ///
    /// - Parameters:
    ///   - received: Bytes that came, within `elapsed`.
    ///   - duration: The segment's.
    ///   - length: Its length in bytes, where the server said it.
    ///   - recent: What of it came last, and in how long, where the rate is to be that of late and not of the whole.
    ///   - buffered: How long there is something to be played without it; of one that is played already, until its end.
    public func abandons(
        received: Int64, in elapsed: TimeSpan, ofSegment duration: TimeSpan, length: Int64? = nil,
        recent: (bytes: Int64, span: TimeSpan)? = nil, buffered: TimeSpan
    ) -> Bool {
        let measured = recent ?? (received, elapsed)
        guard let current, pinned == nil, measured.span >= .milliseconds(500) else { return false }
        let rate = max(Double(measured.bytes) * 8 / measured.span.seconds, 1)
        func size(_ index: Int) -> Double { Double(ladder.rungs[index].average.bitsPerSecond) * duration.seconds }
        let rest = max((length.map { Double($0) * 8 } ?? size(current)) - Double(received) * 8, 0) / rate
        guard rest > buffered.seconds else { return false }
        return allowedRungs().contains { size($0) < size(current) && size($0) / rate < rest }
    }
}
