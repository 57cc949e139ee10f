import PCastMedia

/// Tells when most of those who came have gone again, so that what they took can be given back.
struct EbbMark {
    /// Fewer are not worth the work.
    static let least = 50
    /// After which the last of what they had is let go of, such as the timers of what was waited for.
    static let aftermath = TimeSpan.seconds(30)

    private var highest = 0
    private var lastEbb: Instant?

    /// - Parameter count: how many are here now.
    /// - Returns: whether it has come to be half of the most that were here since the last time, or fewer; and once more
    ///   when the aftermath of that is over.
    mutating func isTime(with count: Int, at now: Instant) -> Bool {
        highest = max(highest, count)
        if highest - count >= Self.least, count <= highest / 2 {
            highest = count
            lastEbb = now
            return true
        }
        guard let ebb = lastEbb, now - ebb >= Self.aftermath else { return false }
        lastEbb = nil
        return true
    }
}
