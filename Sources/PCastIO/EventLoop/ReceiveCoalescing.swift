import PCastCore

/// The schedule for reading deferrable datagrams. If few arrive, they are read at once. If many arrive, they are read
/// when the thread is awake for another reason, or after a maximum delay.
///
/// Network drivers handle interrupts in the same way (NAPI): if each read returns many packets, no notification is
/// necessary. Waking a thread costs as much as processing several reports. Deferring also helps because the packets
/// that reports request are still cached after a frame was sent.
struct ReceiveCoalescing {
    /// The number of datagrams in a read that counts as many.
    static let many = 8
    /// The number of maximum delays for which timed reading continues after a read of many. Receivers report several
    /// frames at once, so that a read of few may follow a read of many.
    static let memory: Int64 = 5

    /// The minimum interval between two reads.
    let interval: TimeSpan
    /// The maximum delay while many arrive.
    let timeout: TimeSpan

    /// The time of the next read; nil while the kernel notifies about new datagrams.
    private(set) var due: Instant?
    private var lastRead: Instant?
    private var lastMany: Instant?

    init(interval: TimeSpan, timeout: TimeSpan) {
        self.interval = interval
        self.timeout = timeout
    }

    /// Processes the kernel's one notification and sets `due`.
    mutating func arrived(at now: Instant) {
        guard due == nil else { return }
        due = lastRead.map { max(now, $0 + interval) } ?? now
    }

    /// Returns whether a thread that is awake must read now.
    func isDue(at now: Instant) -> Bool {
        guard let due else { return false }
        return now >= due || lastRead.map { now - $0 >= interval } ?? true
    }

    /// Records a read of `count` datagrams and schedules the next one. `hasMore` is whether more may be pending.
    /// Returns whether the kernel must notify again.
    mutating func read(_ count: Int, hasMore: Bool = false, at now: Instant) -> Bool {
        lastRead = now
        if count >= Self.many { lastMany = now }
        let isMuch = lastMany.map { now - $0 < timeout * Self.memory } ?? false
        due = isMuch ? now + (hasMore ? interval : timeout) : nil
        return due == nil
    }
}
