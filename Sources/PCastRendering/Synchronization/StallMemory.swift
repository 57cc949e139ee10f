import PCastMedia

/// What holds up a path again and again, as Wi-Fi that looks for other stations, or what is lost twice: by how much frames
/// are late after it (NetEq calls these delay peaks).
///
/// Once says nothing. From the second time on within the memory the delay is to cover the largest, so that it grows once and
/// the next is not seen; it may sink when none has come for that long.
struct StallMemory {
    /// Longer ones are not covered: so much delay is worse than a gap now and then.
    let longest: TimeSpan

    /// How long a stall is remembered.
    static let memory = TimeSpan.seconds(30)

    private static let capacity = 16

    private var stalls: [(instant: Instant, height: TimeSpan)] = []
    /// The stall that is under way, or was while the frames that it held up are coming.
    private var current: TimeSpan?

    init(longest: TimeSpan) { self.longest = longest }

    /// Takes in a frame.
    ///
    /// - Parameters:
    ///   - height: how much later it is than the quickest.
    ///   - isLate: by more than repair and jitter explain.
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

    /// By how much the delay is to exceed that of the quickest frame; zero when nothing recurs.
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
