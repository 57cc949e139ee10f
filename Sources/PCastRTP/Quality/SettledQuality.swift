import PCastMedia

/// Rows as they are told: a worse one at once, for what it stands on was observed long enough; a better or another one
/// when it has held for a while, and for a longer while after each relapse.
struct SettledQuality: Sendable {
    private static let shortestWait = TimeSpan.seconds(1 as Int64)
    private static let longestWait = TimeSpan.seconds(8 as Int64)
    /// Who falls back within this time of getting better waits twice as long the next time.
    private static let relapse = TimeSpan.seconds(10 as Int64)

    private(set) var told = DataQuality.good
    private var candidate: (quality: DataQuality, since: Instant)?
    private var wait = shortestWait
    private var improvement: Instant?

    /// - Parameter isSettled: the row that is told stands on another that was waited for already.
    /// - Returns: the row that is to be told from now on; nil where that is the last one.
    mutating func observe(_ quality: DataQuality, isSettled: Bool = false, at now: Instant) -> DataQuality? {
        guard quality != told else {
            candidate = nil
            if let improvement, now - improvement >= Self.relapse { wait = Self.shortestWait }
            return nil
        }
        if quality.isWorse(than: told) {
            if let improvement {
                wait = now - improvement < Self.relapse ? min(wait * 2, Self.longestWait) : Self.shortestWait
            }
            improvement = nil
            return tell(quality)
        }
        let since = candidate.flatMap { isContinued($0.quality, by: quality) ? $0.since : nil } ?? now
        candidate = (quality, since)
        guard isSettled || now - since >= wait else { return nil }
        improvement = now
        return tell(quality)
    }

    /// Better rows that take turns are better all the time.
    private func isContinued(_ candidate: DataQuality, by quality: DataQuality) -> Bool {
        candidate == quality || min(candidate.status, quality.status) > told.status
    }

    private mutating func tell(_ quality: DataQuality) -> DataQuality {
        candidate = nil
        told = quality
        return quality
    }
}

extension DataQuality {
    /// Less gets through, or the same with a reason where there was none.
    fileprivate func isWorse(than other: DataQuality) -> Bool {
        status < other.status || (status == other.status && other.reason == .none && reason != .none)
    }
}
