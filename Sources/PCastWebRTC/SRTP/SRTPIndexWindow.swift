/// Which of a stream's last packet indexes have been used: 1024 of them for RTP, so that a packet resent or recovered
/// at a high rate is not taken for a replay (SRTP7).
struct SRTPIndexWindow {
    static let width: UInt64 = 1024
    private static let words = 16

    /// The highest index marked; meaningless before the first.
    private(set) var highest: UInt64 = 0
    private(set) var isEmpty = true
    /// Bit `index % 1024` for each index in the window.
    private var used = InlineArray<16, UInt64>(repeating: 0)

    /// Whether `index` is neither used nor too old to tell.
    func isFresh(_ index: UInt64) -> Bool {
        if isEmpty || index > highest { return true }
        guard highest - index < Self.width else { return false }
        return used[Self.word(index)] & Self.bit(index) == 0
    }

    /// Marks an index that is fresh; false for one that is not. For every packet that is sent: nothing is copied.
    mutating func claim(_ index: UInt64) -> Bool {
        if !isEmpty, index <= highest {
            guard highest - index < Self.width else { return false }
            let bit = Self.bit(index)
            let isFresh = withUnsafeMutableBytes(of: &used) { bytes in
                bytes.load(fromByteOffset: Self.word(index) * 8, as: UInt64.self) & bit == 0
            }
            guard isFresh else { return false }
        }
        mark(index)
        return true
    }

    mutating func mark(_ index: UInt64) {
        if isEmpty {
            isEmpty = false
            highest = index
        } else if index > highest {
            // The next one, as it mostly is, has nothing to forget but itself.
            if index > highest + 1 { forget(from: highest + 1, through: index) }
            highest = index
        }
        used[Self.word(index)] |= Self.bit(index)
    }

    private mutating func forget(from first: UInt64, through last: UInt64) {
        guard last - first < Self.width else {
            used = InlineArray(repeating: 0)
            return
        }
        for index in first...last { used[Self.word(index)] &= ~Self.bit(index) }
    }

    private static func word(_ index: UInt64) -> Int { Int(truncatingIfNeeded: index >> 6) & (words - 1) }
    private static func bit(_ index: UInt64) -> UInt64 { 1 << (index & 63) }

    /// The 48-bit index that a sequence number most likely means: the one nearest the highest so far, with a roll-over
    /// counter that never falls below zero (RFC 3711, section 3.3.1).
    func estimate(_ sequenceNumber: UInt16) -> UInt64 {
        guard !isEmpty else { return UInt64(sequenceNumber) }
        let distance = Int64(Int16(truncatingIfNeeded: Int(sequenceNumber) - Int(highest & 0xFFFF)))
        let index = Int64(highest) + distance
        return index < 0 ? UInt64(sequenceNumber) : UInt64(index)
    }
}
