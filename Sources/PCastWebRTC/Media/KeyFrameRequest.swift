public import PCastMedia

/// Whether a key frame is wanted of a source, and when to ask for it.
///
/// Everyone who wants one is served by the next (KEY1). The request is repeated until the key frame comes, for a lost
/// PLI would leave a black picture (KEY4), and a new one waits its turn after the last, so that key frames keep to a
/// bounded share of the source's bitrate.
public struct KeyFrameRequest: Sendable {
    /// From one request that was granted to the next.
    public static let spacing = TimeSpan.milliseconds(400)

    /// From one repetition to the next, at least; a round trip more is added.
    public static let patience = TimeSpan.milliseconds(150)

    /// A source that grants none is asked so often, and then left alone until somebody wants one anew.
    public static let maximumAttempts = 20

    private var attempts = 0
    private var lastSent: Instant?
    private var lastGranted: Instant?

    /// Somebody waits for a key frame.
    public private(set) var isWanted = false

    /// Whether a request had to be repeated and no key frame has come yet.
    public var isUnanswered: Bool { isWanted && attempts > 1 }

    /// Requests sent.
    public private(set) var sentCount = 0

    public init() {}

    public mutating func want() {
        if !isWanted || attempts >= Self.maximumAttempts { attempts = 0 }
        isWanted = true
    }

    /// A key frame came.
    public mutating func granted(at now: Instant) {
        isWanted = false
        lastGranted = now
    }

    /// When to ask; nil while nothing is wanted.
    public func deadline(roundTrip: TimeSpan) -> Instant? {
        guard isWanted, attempts < Self.maximumAttempts else { return nil }
        let next = lastSent.map { sent in attempts == 0 ? sent : sent + Self.patience + roundTrip }
        let earliest = lastGranted.map { $0 + Self.spacing }
        return max(next ?? Instant(nanoseconds: .min), earliest ?? Instant(nanoseconds: .min))
    }

    /// Whether to ask now; counts as asked when true.
    public mutating func poll(roundTrip: TimeSpan, at now: Instant) -> Bool {
        guard let deadline = deadline(roundTrip: roundTrip), now >= deadline else { return false }
        lastSent = now
        attempts += 1
        sentCount += 1
        return true
    }
}
