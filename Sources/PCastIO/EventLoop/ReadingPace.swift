import PCastMedia

/// When a loop reads what may wait: at once where little comes; where much does, when the thread is awake for something
/// else, and by the clock where nothing else wakes it.
///
/// After what network drivers do with interrupts (NAPI): who finds much each time it looks need not be told that there is
/// something. To wake a thread costs as much as several reports, and what they ask for is at hand after a picture was sent.
struct ReadingPace {
    /// So many at a time are much.
    static let many = 8
    /// For so many times the patience after much was read the clock goes on telling: receivers report several pictures at
    /// a time, so that between two readings with much there are some with little.
    static let memory: Int64 = 5

    /// It is not read more often.
    let interval: TimeSpan
    /// Nor less often, of much.
    let patience: TimeSpan

    /// When the thread is to be awake for it; nil while the kernel is to tell that something came.
    private(set) var due: Instant?
    private var lastRead: Instant?
    private var lastMany: Instant?

    init(interval: TimeSpan, patience: TimeSpan) {
        self.interval = interval
        self.patience = patience
    }

    /// The kernel tells that something is there, which it does once; when it is to be read stands in `due`.
    mutating func arrived(at now: Instant) {
        guard due == nil else { return }
        due = lastRead.map { max(now, $0 + interval) } ?? now
    }

    /// Whether a thread that is awake reads it now.
    func isDue(at now: Instant) -> Bool {
        guard let due else { return false }
        return now >= due || lastRead.map { now - $0 >= interval } ?? true
    }

    /// It was read.
    ///
    /// - Parameters:
    ///   - count: how many there were.
    ///   - hasMore: there may be more.
    /// - Returns: whether the kernel is to tell again.
    mutating func read(_ count: Int, hasMore: Bool = false, at now: Instant) -> Bool {
        lastRead = now
        if count >= Self.many { lastMany = now }
        let isMuch = lastMany.map { now - $0 < patience * Self.memory } ?? false
        due = isMuch ? now + (hasMore ? interval : patience) : nil
        return due == nil
    }
}
