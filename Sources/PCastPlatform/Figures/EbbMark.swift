/// Tells when most of those who came have gone again, so that what they took can be given back.
struct EbbMark {
    /// Fewer are not worth the work.
    static let least = 50

    private var highest = 0

    /// - Parameter count: how many are here now.
    /// - Returns: whether it is half of the most that were here since the last time, or fewer.
    mutating func hasFallen(to count: Int) -> Bool {
        highest = max(highest, count)
        guard highest - count >= Self.least, count <= highest / 2 else { return false }
        highest = count
        return true
    }
}
