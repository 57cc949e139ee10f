internal import PCastCore

/// Addresses of playlists that could not be had, or whose segments could not. Others are preferred to them for a while, which is
/// longer each time: what fails in a live presentation may be there again later.
struct FailedAddresses {
    private struct Entry {
        /// So often it failed, one after the other.
        var count = 0
        /// Until when others are preferred; nil for good.
        var end: Instant?
        /// It failed since a segment came last, of whichever address.
        var isRecent = true
    }

    private var entries: [String: Entry] = [:]

    private static let firstPause = TimeSpan.seconds(15 as Int64)
    private static let longestPause = TimeSpan.seconds(120 as Int64)

    /// - Parameter isFinal: asking again brings the same.
    mutating func add(_ uris: [String], isFinal: Bool, at now: Instant) {
        for uri in uris {
            var entry = entries[uri] ?? Entry()
            if isAvoided(uri, at: now) {
                // It was known already.
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

    /// A segment came of an address.
    mutating func succeed(_ uri: String) {
        entries[uri] = nil
        for key in entries.keys { entries[key]?.isRecent = false }
    }

    /// Whether others are preferred to it.
    func isAvoided(_ uri: String, at now: Instant) -> Bool {
        guard let entry = entries[uri] else { return false }
        return entry.end.map { now < $0 } ?? true
    }

    /// Whether it is not worth asking even where nothing else is left: it failed since a segment came last, or for good.
    func isUnrecoverable(_ uri: String, at now: Instant) -> Bool {
        guard let entry = entries[uri], isAvoided(uri, at: now) else { return false }
        return entry.isRecent || entry.end == nil
    }
}
