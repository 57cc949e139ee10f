/// The replay window for the last 64 SRTCP indexes of a sender (RFC 3711, section 3.3.2).
struct SRTCPIndexWindow {
    /// The highest index that was marked.
    private(set) var highest: UInt32 = 0
    /// The marked indexes: bit n is that of `highest - n`. It is zero before the first.
    private var seen: UInt64 = 0

    /// Returns whether an index is neither marked nor too old.
    func isFresh(_ index: UInt32) -> Bool {
        if seen == 0 || index > highest { return true }
        let age = highest - index
        return age < 64 && seen & (1 << UInt64(age)) == 0
    }

    mutating func mark(_ index: UInt32) {
        if seen == 0 || index > highest {
            let step = seen == 0 ? 64 : index - highest
            seen = step < 64 ? seen << UInt64(step) | 1 : 1
            highest = index
        } else if highest - index < 64 {
            seen |= 1 << UInt64(highest - index)
        }
    }
}
