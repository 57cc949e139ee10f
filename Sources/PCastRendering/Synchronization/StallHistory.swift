import PCastCore

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

    /// Records a frame. `height` is its delay beyond that of the fastest frame. `isLate` tells whether retransmission
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
