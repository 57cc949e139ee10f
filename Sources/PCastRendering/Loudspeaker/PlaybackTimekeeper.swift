import PCastMedia

/// Keeps the time of PCMs that have none of their own, those of files and of nothing: what is written to them is gone at
/// once. It is told the time.
struct PlaybackTimekeeper {
    /// Looks that find nothing waiting after which that is the device's nature; another device would have run dry.
    private static let patience = 3
    private static let lookInterval = TimeSpan.milliseconds(4)

    private let rate: Int
    private let buffer: Int
    private let queued: Int
    private var emptyLooks = 0
    private var start: Instant?

    /// Nil before it is known.
    private var hasClock: Bool?

    /// - Parameters:
    ///   - rate: of the device, in samples a second.
    ///   - buffer: samples that it holds at most.
    ///   - queued: samples that are left to play when more is written.
    init(rate: Int, buffer: Int, queued: Int) {
        self.rate = rate
        self.buffer = buffer
        self.queued = queued
    }

    /// How long nothing is to be written; nil where the device knows that itself.
    func pause(written: Int64, at now: Instant) -> TimeSpan? {
        guard let hasClock else { return Self.lookInterval }
        if hasClock { return nil }
        return max(
            .milliseconds(1), TimeSpan(seconds: Double(left(of: written, at: now) - Int64(queued)) / Double(rate)))
    }

    /// Puts into a status what the device would tell if it had a clock. Answers false while it is not known whether it has.
    mutating func time(_ status: inout PlaybackPCM.Status, written: Int64, at now: Instant) -> Bool {
        start = start ?? now
        if hasClock == nil {
            let isEmpty = status.room == buffer && status.delay == 0
            emptyLooks += 1
            hasClock = isEmpty ? (emptyLooks < Self.patience ? nil : false) : true
        }
        guard hasClock == false else { return hasClock == true }
        let left = Int(max(0, left(of: written, at: now)))
        status.delay = left
        status.room = max(0, buffer - left)
        status.instant = now
        return true
    }

    private func left(of written: Int64, at now: Instant) -> Int64 {
        written - Int64((now - (start ?? now)).seconds * Double(rate))
    }
}
