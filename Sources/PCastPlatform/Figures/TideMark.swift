import PCastMedia

/// Tells when what many have taken can be given back: when most of those who came have gone again, and when many have
/// come, whose handshakes took for a moment what nobody needs afterwards.
struct TideMark {
    /// Fewer are not worth the work.
    static let least = 50
    /// After which the last of what they had is let go of, such as the timers of what was waited for.
    static let aftermath = TimeSpan.seconds(30)
    /// So many have to come, and then nobody for so long.
    static let flood = 200
    static let slack = TimeSpan.seconds(5)

    private var highest = 0
    private var lastEbb: Instant?
    /// How many were here when it was told last, or fewer since; and when there were more than ever since.
    private var lowest = 0
    private var lastRise: Instant?

    /// - Parameter count: how many are here now.
    /// - Returns: whether it has come to be half of the most that were here since the last time, or fewer; once more when
    ///   the aftermath of that is over; and whether many have come since the last time, and all are there.
    mutating func isTime(with count: Int, at now: Instant) -> Bool {
        if count > highest { lastRise = now }
        highest = max(highest, count)
        lowest = min(lowest, count)
        if highest - count >= Self.least, count <= highest / 2 {
            highest = count
            lowest = count
            lastEbb = now
            return true
        }
        if let ebb = lastEbb, now - ebb >= Self.aftermath {
            lastEbb = nil
            lowest = count
            return true
        }
        guard count - lowest >= Self.flood, let rise = lastRise, now - rise >= Self.slack else { return false }
        lowest = count
        return true
    }
}
