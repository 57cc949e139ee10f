/// Combines packet statuses into few chunks, without looking back at statuses that are already in a chunk.
///
/// It holds the statuses that are not in a chunk yet. They are a run of equal ones of any length, or up to 14 different
/// ones with one bit each, or up to 7 with large deltas.
struct PacketStatusEncoder: Sendable {
    typealias Symbol = PacketStatusChunk.Symbol

    /// The pending statuses, at most the first 14.
    private var symbols = SIMD16<UInt8>(repeating: 0)
    /// The number of pending statuses.
    private var count = 0
    /// Whether all pending statuses are equal.
    private var isRun = true
    private var hasLargeDelta = false

    /// Adds a status. Returns a chunk if one is full; nil otherwise.
    mutating func append(_ symbol: Symbol) -> PacketStatusChunk? {
        let chunk = hasSpace(for: symbol) ? nil : takeChunk()
        push(symbol)
        return chunk
    }

    /// Returns the next chunk after all statuses were added; nil if there is none. The last chunk may have unused
    /// symbols.
    mutating func finish() -> PacketStatusChunk? {
        guard count > 0 else { return nil }
        let fitsOneBit = !isRun && !hasLargeDelta && count > PacketStatusChunk.twoBitCapacity
        return fitsOneBit ? takeOneBitChunk() : takeChunk()
    }

    /// Returns whether a status fits into the same chunk as the pending ones.
    private func hasSpace(for symbol: Symbol) -> Bool {
        if isRun, count == 0 || symbols[0] == symbol.rawValue { return count < PacketStatusChunk.maximumRunLength }
        if count < PacketStatusChunk.twoBitCapacity { return true }
        return count < PacketStatusChunk.oneBitCapacity && !hasLargeDelta && symbol != .largeDelta
    }

    /// Adds a status to the pending ones.
    private mutating func push(_ symbol: Symbol) {
        isRun = isRun && (count == 0 || symbols[0] == symbol.rawValue)
        hasLargeDelta = hasLargeDelta || symbol == .largeDelta
        if count < PacketStatusChunk.oneBitCapacity { symbols[count] = symbol.rawValue }
        count += 1
    }

    /// Removes pending statuses and returns them as a chunk.
    private mutating func takeChunk() -> PacketStatusChunk {
        if isRun {
            let chunk = PacketStatusChunk(run: Symbol(bits: UInt16(symbols[0])), count: count)
            self = PacketStatusEncoder()
            return chunk
        }
        return count == PacketStatusChunk.oneBitCapacity ? takeOneBitChunk() : takeTwoBitChunk()
    }

    /// Returns all pending statuses as a vector chunk with one-bit symbols.
    private mutating func takeOneBitChunk() -> PacketStatusChunk {
        var bits: UInt16 = 0x8000
        for index in 0..<count where symbols[index] != 0 { bits |= 1 << UInt16(13 - index) }
        self = PacketStatusEncoder()
        return PacketStatusChunk(rawValue: bits)
    }

    /// Returns up to seven pending statuses as a vector chunk with two-bit symbols, and keeps the rest.
    private mutating func takeTwoBitChunk() -> PacketStatusChunk {
        let taken = min(count, PacketStatusChunk.twoBitCapacity)
        var bits: UInt16 = 0xC000
        for index in 0..<taken { bits |= UInt16(symbols[index]) << UInt16(2 * (6 - index)) }
        let rest = self
        self = PacketStatusEncoder()
        for index in taken..<rest.count { push(Symbol(bits: UInt16(rest.symbols[index]))) }
        return PacketStatusChunk(rawValue: bits)
    }
}
