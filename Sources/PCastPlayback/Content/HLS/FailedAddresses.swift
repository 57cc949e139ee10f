internal import PCastCore

/// The addresses of playlists that failed, or whose segments failed. Others are preferred for a time that increases
/// with each failure, because a live presentation may recover.
struct FailedAddresses {
    private struct Entry {
        /// The number of consecutive failures.
        var count = 0
        /// The end of the time in which others are preferred; nil for never.
        var end: Instant?
        /// Whether it failed after the last segment of any address was loaded.
        var isRecent = true
    }

    private var entries: [String: Entry] = [:]

    /// The time after the first failure in which other addresses are preferred.
    private static let firstPause = TimeSpan.seconds(15 as Int64)
    /// The maximum of that time.
    private static let longestPause = TimeSpan.seconds(120 as Int64)

    /// Records that addresses failed. `isFinal` is true if a retry is useless.
    mutating func add(_ uris: [String], isFinal: Bool, at now: Instant) {
        for uri in uris {
            var entry = entries[uri] ?? Entry()
            if isAvoided(uri, at: now) {
                // The failure is known already.
                entries[uri]?.isRecent = true
                if isFinal { entries[uri]?.end = nil }
                continue
            }
            let pause = min(Self.firstPause * (1 << Int64(min(entry.count, 8))), Self.longestPause)
            entry.count += 1
            entry.end = isFinal ? nil : now + pause
            entry.isRecent = true
            entries[uri] = entry
        }
    }

    /// Records that a segment of an address was loaded.
    mutating func succeed(_ uri: String) {
        entries[uri] = nil
        for key in entries.keys { entries[key]?.isRecent = false }
    }

    /// Whether other addresses are preferred.
    func isAvoided(_ uri: String, at now: Instant) -> Bool {
        guard let entry = entries[uri] else { return false }
        return entry.end.map { now < $0 } ?? true
    }

    /// Whether the address is not used even if there is no other: it failed after the last segment was loaded, or
    /// permanently.
    func isUnrecoverable(_ uri: String, at now: Instant) -> Bool {
        guard let entry = entries[uri], isAvoided(uri, at: now) else { return false }
        return entry.isRecent || entry.end == nil
    }
}
