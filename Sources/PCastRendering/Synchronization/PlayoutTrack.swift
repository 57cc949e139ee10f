import PCastCore

/// The delays of one track: how long its frames take from capture until they are decoded, and how long they are held.
///
/// Capture times are on the sender's clock and decoding times on the local clock, so delays contain an unknown
/// constant. It is the same for both tracks of a sender and cancels out when delays are compared.
struct PlayoutTrack {
    /// The parameters in which video and audio differ.
    struct Parameters: Sendable {
        /// The fraction of frames that must be in time.
        var onTimeShare: Double
        /// The lateness of a frame that indicates a stall.
        var stall: TimeSpan
        /// The acceptable lateness after recurring stalls. A frame that is this late is hardly noticed.
        var tolerance: TimeSpan
        /// The longest recurring stall that the delay covers.
        var longestStall: TimeSpan
        /// Whether a late frame increases the delay at once. It must for audio, because late audio would otherwise be
        /// cut.
        var movesAtOnce: Bool

        /// One frame in twenty may be some milliseconds late without being noticed.
        static let video = Parameters(
            onTimeShare: 0.94, stall: .milliseconds(150), tolerance: .milliseconds(130),
            longestStall: .milliseconds(450), movesAtOnce: false)
        static let audio = Parameters(
            onTimeShare: 0.99, stall: .milliseconds(120), tolerance: .zero,
            longestStall: .milliseconds(280), movesAtOnce: true)
    }

    /// A stall has ended when frames are no later than this.
    private static let recovery = TimeSpan.milliseconds(20)

    /// The fraction of frames whose delays are not caused by stalls, even with a stall every few seconds.
    private static let typicalShare = 0.9

    /// The lateness beyond the usual delay that indicates a stall.
    private static let stallBeyondNeed = TimeSpan.milliseconds(50)

    /// The largest lateness that counts as jitter.
    private static let longestJitter = TimeSpan.milliseconds(500)

    /// The time after the start in which the delay may drop at once. A new viewer first receives the older frames since
    /// the last key frame.
    private static let startPhase = TimeSpan.seconds(1)

    /// The time after the start in which the delay grows twice as fast, because the requirement of the path is not yet
    /// known.
    private static let learning = TimeSpan.seconds(8)

    /// The time after which a longer delay counts as the path's new delay and not as a stall.
    private static let persistence = TimeSpan.milliseconds(400)

    /// The longest pause between frames that counts as elapsed time.
    private static let longestStep = TimeSpan.milliseconds(200)

    private let nature: Parameters
    private var window = DelayWindow()
    private var stalls: StallHistory
    private var lateSince: Instant?
    private var firstInstant: Instant?
    private var lastInstant: Instant?

    /// The capture time minus the track's timestamp; nil while unknown.
    private var captureOffset: TimeSpan?

    /// The time for which frames are held from capture to presentation; nil before the first.
    private(set) var applied: TimeSpan?

    /// Whether capture times are known, so that the track can be compared with another.
    private(set) var isAligned = false

    /// The delay at which enough frames of this track are in time; nil before the first.
    private(set) var needed: TimeSpan?

    init(_ nature: Parameters) {
        self.nature = nature
        stalls = StallHistory(longest: nature.longestStall)
    }

    /// The smallest recent delay: the minimum of path and decoder.
    var least: TimeSpan? { window.minimum }

    /// Returns whether a frame arrived in the last second.
    func isAlive(at now: Instant) -> Bool { lastInstant.map { now - $0 < .seconds(1) } ?? false }

    /// Returns the capture time of a frame since an origin that the whole track shares.
    mutating func position(captureTime: WallTime?, timestamp: MediaTime) -> TimeSpan {
        if let captureTime {
            let position = TimeSpan.nanoseconds(captureTime.nanosecondsSinceEpoch)
            let offset = position - timestamp.span
            if captureOffset == nil || !isAligned { realign(by: offset) }
            captureOffset = offset
            isAligned = true
            return position
        }
        return timestamp.span + (captureOffset ?? .zero)
    }

    /// Converts all delays from the track's timestamps to capture times.
    private mutating func realign(by offset: TimeSpan) {
        window.subtract(offset)
        if let held = applied { applied = held - offset }
        if let need = needed { needed = need - offset }
    }

    /// Records a frame that is ready this long after its capture. Returns its lateness if it arrived after a stall.
    /// Returns nil if it is to be presented after `applied`, or at once if that has passed. `goal` returns the goal for
    /// the delay that the track needs.
    mutating func ready(
        after delay: TimeSpan, at now: Instant, goal: (_ needed: TimeSpan) -> PlayoutTarget
    ) -> TimeSpan? {
        adopt(delay, at: now)
        let lateness = note(delay, at: now)
        defer { lastInstant = max(now, lastInstant ?? now) }
        if isStalled(delay, at: now) { return lateness }
        move(to: goal(needed ?? delay), delay, at: now)
        return nil
    }

    /// Adopts a smaller delay at once during the start, so that the delay of a catch-up does not stay.
    private mutating func adopt(_ delay: TimeSpan, at now: Instant) {
        let first = firstInstant ?? now
        firstInstant = first
        guard now - first < Self.startPhase, let held = applied, delay < held - Self.recovery else { return }
        discard()
        applied = delay
    }

    private mutating func discard() {
        window.removeAll()
        stalls.removeAll()
        needed = nil
    }

    /// Records a delay and returns the lateness of the frame.
    private mutating func note(_ delay: TimeSpan, at now: Instant) -> TimeSpan {
        let typical = window.quantile(Self.typicalShare) ?? delay
        if delay - max(typical, applied ?? delay) <= Self.longestJitter { window.add(delay, at: now) }
        let least = window.minimum ?? delay
        // Stalls that the delay already covers are included, so that it keeps covering them while they recur.
        stalls.frame(height: delay - least, isLate: delay - typical > Self.stallBeyondNeed, at: now)
        needed = max(
            window.quantile(nature.onTimeShare) ?? delay, least + stalls.height(at: now) - nature.tolerance)
        return delay - (applied ?? delay)
    }

    /// Returns whether the frame arrived after a stall that has not ended. A delay that persists is the path's new
    /// delay.
    private mutating func isStalled(_ delay: TimeSpan, at now: Instant) -> Bool {
        guard let held = applied else { return false }
        let lateness = delay - held
        guard lateness > (lateSince == nil ? nature.stall : Self.recovery) else {
            lateSince = nil
            return false
        }
        let since = lateSince ?? now
        lateSince = since
        if now - since < Self.persistence { return true }
        lateSince = nil
        discard()
        window.add(delay, at: now)
        needed = delay
        applied = delay
        return false
    }

    /// Moves the delay towards the goal by a fraction of the elapsed time, which is neither visible nor audible.
    private mutating func move(to goal: PlayoutTarget, _ delay: TimeSpan, at now: Instant) {
        let passed = min(lastInstant.map { max(now - $0, .zero) } ?? .zero, Self.longestStep)
        guard let held = applied else {
            applied = delay
            return
        }
        let isNew = firstInstant.map { now - $0 < Self.learning } ?? true
        let step = goal.delay > held ? passed * (isNew ? 2 : 1) / goal.growth : passed / goal.shrinkage
        let moved = goal.delay > held ? min(goal.delay, held + step) : max(goal.delay, held - step)
        applied = nature.movesAtOnce && !goal.isFixed ? max(moved, delay) : moved
    }
}

/// The delay from capture to presentation that a track approaches, and the rate of the change.
struct PlayoutTarget {
    var delay: TimeSpan

    /// The elapsed time divided by this is the increase of the delay.
    var growth: Int64
    /// The elapsed time divided by this is the decrease of the delay.
    var shrinkage: Int64

    /// Whether the delay stays fixed even if frames are late.
    var isFixed = false

    /// Returns the goal for the delay that the path requires. It grows at a twentieth of the elapsed time and shrinks
    /// at a fiftieth.
    static func needed(_ delay: TimeSpan) -> PlayoutTarget { PlayoutTarget(delay: delay, growth: 20, shrinkage: 50) }

    /// Returns the goal for a requested delay. It changes at a seventh of the elapsed time.
    static func asked(_ delay: TimeSpan) -> PlayoutTarget { PlayoutTarget(delay: delay, growth: 7, shrinkage: 7) }

    /// Returns the goal for a delay that a group of viewers shares.
    static func shared(_ delay: TimeSpan) -> PlayoutTarget {
        PlayoutTarget(delay: delay, growth: 7, shrinkage: 7, isFixed: true)
    }
}

/// The recurring stalls of a path, e.g., from Wi-Fi scans or repeated loss, and the lateness that they cause (NetEq
/// calls them delay peaks).
///
/// A single stall has no effect. After the second one, the delay must cover the largest, so that it grows once and
/// later stalls are invisible. It may shrink when none has occurred for the length of the memory.
struct StallHistory {
    /// The longest stall that is covered. A larger delay would be worse than an occasional gap.
    let longest: TimeSpan

    /// The time for which a stall is remembered.
    static let memory = TimeSpan.seconds(30)

    private static let capacity = 16

    private var stalls: [(instant: Instant, height: TimeSpan)] = []
    /// The current stall, which lasts until its delayed frames have arrived; nil for none.
    private var current: TimeSpan?

    init(longest: TimeSpan) { self.longest = longest }

    /// Records a frame. `height` is its delay beyond that of the fastest frame. `isLate` is whether retransmission
    /// and jitter do not explain it.
    mutating func frame(height: TimeSpan, isLate: Bool, at now: Instant) {
        if isLate {
            current = max(current ?? height, height)
        } else if let height = current {
            current = nil
            guard height <= longest else { return }
            if stalls.count == Self.capacity { stalls.removeFirst() }
            stalls.append((now, height))
        }
    }

    /// Returns the delay to add to that of the fastest frame; zero if no stall recurs.
    mutating func height(at now: Instant) -> TimeSpan {
        stalls.removeAll { now - $0.instant > Self.memory }
        guard stalls.count > 1 else { return .zero }
        return stalls.map(\.height).max() ?? .zero
    }

    mutating func removeAll() {
        stalls.removeAll()
        current = nil
    }
}

/// The delays of a track's frames in the last ten seconds, with their minimum and quantiles.
///
/// It keeps all delays, while libwebrtc's NetEq uses a histogram with exponential forgetting (`delay_manager.cc`). At
/// 30 to 50 frames per second, the exact window is small enough.
struct DelayWindow {
    static let span = TimeSpan.seconds(10)

    /// The most delays, ten seconds at 100 frames per second. At higher rates the window is shorter.
    private static let capacity = 1024

    private var entries: [(instant: Instant, delay: Int64)] = []
    /// The index of the oldest entry.
    private var first = 0
    private var sorted: [Int64] = []

    init() {
        entries.reserveCapacity(Self.capacity)
        sorted.reserveCapacity(Self.capacity)
    }

    var count: Int { sorted.count }

    var minimum: TimeSpan? { sorted.first.map { TimeSpan.nanoseconds($0) } }

    /// Returns the delay that a fraction of the frames does not exceed; nil before the first.
    func quantile(_ part: Double) -> TimeSpan? {
        guard !sorted.isEmpty else { return nil }
        let rank = Int((part * Double(sorted.count)).rounded(.up))
        return .nanoseconds(sorted[min(max(rank, 1), sorted.count) - 1])
    }

    mutating func add(_ delay: TimeSpan, at now: Instant) {
        while let oldest, now - oldest.instant > Self.span || count == Self.capacity { removeOldest() }
        if first > 0, entries.count == Self.capacity {
            entries.removeFirst(first)
            first = 0
        }
        entries.append((now, delay.nanoseconds))
        sorted.insert(delay.nanoseconds, at: index(of: delay.nanoseconds))
    }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        sorted.removeAll(keepingCapacity: true)
        first = 0
    }

    /// Subtracts a constant from all delays after their origin has changed.
    mutating func subtract(_ span: TimeSpan) {
        for index in entries.indices { entries[index].delay -= span.nanoseconds }
        for index in sorted.indices { sorted[index] -= span.nanoseconds }
    }

    private var oldest: (instant: Instant, delay: Int64)? { first < entries.count ? entries[first] : nil }

    private mutating func removeOldest() {
        sorted.remove(at: index(of: entries[first].delay))
        first += 1
    }

    /// Returns the index of the first delay that is not smaller.
    private func index(of delay: Int64) -> Int {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < delay { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
