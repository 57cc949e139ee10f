import PCastCore

/// Paces devices without a clock, such as alsa-lib's `file` and `null`, which consume audio at once. It reads no clock;
/// the caller passes the time.
struct PlaybackTimekeeper {
    /// The number of checks that find an empty buffer before the device counts as one without a clock. A real device
    /// would have reported an underrun.
    private static let timeout = 3
    private static let lookInterval = TimeSpan.milliseconds(4)

    private let rate: Int
    private let buffer: Int
    private let queued: Int
    private var emptyLooks = 0
    private var start: Instant?

    /// Whether the device has a clock; nil before that is known.
    private var hasClock: Bool?

    /// Creates a timekeeper.
    ///
    /// - Parameters:
    ///   - rate: The sample rate of the device.
    ///   - buffer: The size of its buffer in samples per channel.
    ///   - queued: The number of remaining samples per channel at which more is written.
    init(rate: Int, buffer: Int, queued: Int) {
        self.rate = rate
        self.buffer = buffer
        self.queued = queued
    }

    /// Returns the time to wait before the next write; nil if the device has its own clock.
    func pause(written: Int64, at now: Instant) -> TimeSpan? {
        guard let hasClock else { return Self.lookInterval }
        if hasClock { return nil }
        return max(
            .milliseconds(1), TimeSpan(seconds: Double(left(of: written, at: now) - Int64(queued)) / Double(rate)))
    }

    /// Replaces the delay in a status with that of an ideal clock if the device has none. Returns false while it is
    /// unknown whether it has one.
    mutating func time(_ status: inout PlaybackPCM.Status, written: Int64, at now: Instant) -> Bool {
        start = start ?? now
        if hasClock == nil {
            let isEmpty = status.available == buffer && status.delay == 0
            emptyLooks += 1
            hasClock = isEmpty ? (emptyLooks < Self.timeout ? nil : false) : true
        }
        guard hasClock == false else { return hasClock == true }
        let left = Int(max(0, left(of: written, at: now)))
        status.delay = left
        status.available = max(0, buffer - left)
        status.instant = now
        return true
    }

    private func left(of written: Int64, at now: Instant) -> Int64 {
        written - Int64((now - (start ?? now)).seconds * Double(rate))
    }
}
