import PCastCore

/// The data quality as it is reported. A deterioration is reported at once, because its cause was observed for long
/// enough. Any other change is reported after it has lasted for some time, which becomes longer with each relapse.
struct DebouncedQuality: Sendable {
    /// The minimum time before a change is reported.
    private static let shortestWait = TimeSpan.seconds(1 as Int64)
    /// The maximum time before a change is reported.
    private static let longestWait = TimeSpan.seconds(8 as Int64)
    /// The time after an improvement within which a deterioration doubles the waiting time.
    private static let relapseInterval = TimeSpan.seconds(10 as Int64)

    /// The reported data quality.
    private(set) var reported = DataQuality.good
    /// The data quality that will be reported if it lasts, and its beginning.
    private var candidate: (quality: DataQuality, since: Instant)?
    /// The current time before a change is reported.
    private var wait = shortestWait
    /// The time of the last improvement; nil if there was a deterioration since.
    private var improvement: Instant?

    /// Updates the state, and returns the data quality if it must be reported.
    ///
    /// - Parameters:
    ///   - quality: The current data quality.
    ///   - isSettled: Whether the change is reported at once, because its cause was already waited for.
    ///   - now: The current time.
    /// - Returns: The data quality to be reported; nil if it has not changed.
    mutating func observe(_ quality: DataQuality, isSettled: Bool = false, at now: Instant) -> DataQuality? {
        guard quality != reported else {
            candidate = nil
            if let improvement, now - improvement >= Self.relapseInterval { wait = Self.shortestWait }
            return nil
        }
        if quality.isWorse(than: reported) {
            if let improvement {
                wait = now - improvement < Self.relapseInterval ? min(wait * 2, Self.longestWait) : Self.shortestWait
            }
            improvement = nil
            return notify(quality)
        }
        let since = candidate.flatMap { isContinued($0.quality, by: quality) ? $0.since : nil } ?? now
        candidate = (quality, since)
        guard isSettled || now - since >= wait else { return nil }
        improvement = now
        return notify(quality)
    }

    /// Returns whether waiting continues with another data quality: alternating improvements are one improvement.
    private func isContinued(_ candidate: DataQuality, by quality: DataQuality) -> Bool {
        candidate == quality || min(candidate.status, quality.status) > reported.status
    }

    /// Sets the reported data quality.
    private mutating func notify(_ quality: DataQuality) -> DataQuality {
        candidate = nil
        reported = quality
        return quality
    }
}

extension DataQuality {
    /// Whether the status is lower, or the same with a new reason.
    fileprivate func isWorse(than other: DataQuality) -> Bool {
        status < other.status || (status == other.status && other.reason == .none && reason != .none)
    }
}
