/// The replay window for the last 1024 packet indexes of a stream (RFC 3711, section 3.3.2). RFC 3711 requires at least
/// 64; a larger window also accepts retransmitted and recovered packets at high rates.
struct SRTPIndexWindow {
    static let width: UInt64 = 1024
    private static let words = 16

    /// The highest index that was marked; undefined before the first.
    private(set) var highest: UInt64 = 0
    private(set) var isEmpty = true
    /// The marked indexes: bit `index % 1024` for each index in the window.
    private var used = InlineArray<16, UInt64>(repeating: 0)

    /// Returns whether an index is neither marked nor too old.
    func isFresh(_ index: UInt64) -> Bool {
        if isEmpty || index > highest { return true }
        guard highest - index < Self.width else { return false }
        return used[Self.word(index)] & Self.bit(index) == 0
    }

    /// Marks an index if it is neither marked nor too old. Returns whether it did. It copies nothing, because it is
    /// called for each sent packet.
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
            // A single step, which is usual, overwrites only its own bit.
            if index > highest + 1 { discard(from: highest + 1, through: index) }
            highest = index
        }
        used[Self.word(index)] |= Self.bit(index)
    }

    /// Clears the marks of a range of indexes.
    private mutating func discard(from first: UInt64, through last: UInt64) {
        guard last - first < Self.width else {
            used = InlineArray(repeating: 0)
            return
        }
        for index in first...last { used[Self.word(index)] &= ~Self.bit(index) }
    }

    private static func word(_ index: UInt64) -> Int { Int(truncatingIfNeeded: index >> 6) & (words - 1) }
    private static func bit(_ index: UInt64) -> UInt64 { 1 << (index & 63) }

    /// Returns the most likely 48-bit index of a sequence number (RFC 3711, section 3.3.1). It is the one nearest to
    /// the highest index, with a rollover counter that is not negative.
    func estimate(_ sequenceNumber: UInt16) -> UInt64 {
        guard !isEmpty else { return UInt64(sequenceNumber) }
        let distance = Int64(Int16(truncatingIfNeeded: Int(sequenceNumber) - Int(highest & 0xFFFF)))
        let index = Int64(highest) + distance
        return index < 0 ? UInt64(sequenceNumber) : UInt64(index)
    }
}
