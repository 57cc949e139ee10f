import PCastMedia

/// Whether something that should come again and again still does.
///
/// What comes seldom is waited for longer: sound of a silent room comes every 400 ms (RFC 7587, section 3.1.3), a screen
/// on which nothing moves once a second.
struct ArrivalWatch: Sendable {
    /// How long a silence is.
    struct Patience: Sendable {
        var usual: TimeSpan
        /// Of what comes fewer than `seldomRate` times a second.
        var seldom: TimeSpan
        var seldomRate: Double
    }

    let patience: Patience
    private var lastCount = 0
    private var newest: Instant?
    /// A second, while it came; nil before it came twice.
    private var rate: Double?

    init(_ patience: Patience) { self.patience = patience }

    /// Whether anything has come yet.
    var hasBegun: Bool { newest != nil }

    /// - Parameter count: of what came so far; anything but the last one means that something came.
    mutating func observe(count: Int, at now: Instant) {
        guard count != lastCount else { return }
        defer {
            lastCount = count
            newest = now
        }
        guard let newest, now > newest, count > lastCount else { return }
        let current = Double(count - lastCount) / (now - newest).seconds
        rate = rate.map { $0 + (current - $0) / 4 } ?? current
    }

    /// Nothing is expected for the moment: what is waited for is waited for from now on.
    mutating func excuse(at now: Instant) {
        if newest != nil { newest = now }
    }

    /// Whether it has come, and does not any more.
    func isSilent(at now: Instant) -> Bool {
        guard let newest else { return false }
        let isSeldom = rate.map { $0 < patience.seldomRate } ?? true
        return now - newest >= (isSeldom ? patience.seldom : patience.usual)
    }
}
