import PCastSFU

/// The last units of an audio track, from which AAC begins.
struct RecentAudio: Sendable {
    /// The units, at most ``limit``.
    private(set) var units: [PublishedUnit] = []
    /// The number of discontinuities before them.
    private var discontinuities: Int64 = 0

    /// The duration of the units in ticks: six segments of two seconds.
    private static let ticks: Int64 = 12 * 48_000
    private static let limit = 2_000

    /// Adds a unit. AAC begins after the last discontinuity, because a rendition has the discontinuities of the others.
    mutating func note(_ unit: PublishedUnit, discontinuities: Int64) {
        if discontinuities != self.discontinuities { units = [] }
        self.discontinuities = discontinuities
        units.append(unit)
        // Units are removed rarely, because that moves the others.
        let start = unit.timestamp - Self.ticks
        guard let first = units.first else { return }
        if first.timestamp < start - Self.ticks / 4 { units.removeAll { $0.timestamp < start } }
        if units.count > Self.limit { units.removeFirst(Self.limit / 2) }
    }
}
