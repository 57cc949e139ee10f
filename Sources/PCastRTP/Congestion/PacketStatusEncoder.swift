/// Gathers packet statuses into as few chunks as a walk without looking back allows.
///
/// It holds the statuses that are not yet in a chunk: a run of one kind of any length, or up to 14 that differ and
/// fit one bit, or up to 7 with large deltas.
struct PacketStatusEncoder: Sendable {
    typealias Symbol = PacketStatusChunk.Symbol

    private var symbols = SIMD16<UInt8>(repeating: 0)
    private var count = 0
    private var isRun = true
    private var hasLargeDelta = false

    /// Takes the next status; answers a chunk when one became full.
    mutating func append(_ symbol: Symbol) -> PacketStatusChunk? {
        let chunk = hasRoom(for: symbol) ? nil : takeChunk()
        push(symbol)
        return chunk
    }

    /// What is left when all statuses are in: call until nil. The last chunk may have places to spare.
    mutating func finish() -> PacketStatusChunk? {
        guard count > 0 else { return nil }
        let fitsOneBit = !isRun && !hasLargeDelta && count > PacketStatusChunk.twoBitCapacity
        return fitsOneBit ? takeOneBitChunk() : takeChunk()
    }

    private func hasRoom(for symbol: Symbol) -> Bool {
        if isRun, count == 0 || symbols[0] == symbol.rawValue { return count < PacketStatusChunk.maximumRunLength }
        if count < PacketStatusChunk.twoBitCapacity { return true }
        return count < PacketStatusChunk.oneBitCapacity && !hasLargeDelta && symbol != .largeDelta
    }

    private mutating func push(_ symbol: Symbol) {
        isRun = isRun && (count == 0 || symbols[0] == symbol.rawValue)
        hasLargeDelta = hasLargeDelta || symbol == .largeDelta
        if count < PacketStatusChunk.oneBitCapacity { symbols[count] = symbol.rawValue }
        count += 1
    }

    private mutating func takeChunk() -> PacketStatusChunk {
        if isRun {
            let chunk = PacketStatusChunk(run: Symbol(bits: UInt16(symbols[0])), count: count)
            self = PacketStatusEncoder()
            return chunk
        }
        return count == PacketStatusChunk.oneBitCapacity ? takeOneBitChunk() : takeTwoBitChunk()
    }

    private mutating func takeOneBitChunk() -> PacketStatusChunk {
        var bits: UInt16 = 0x8000
        for index in 0..<count where symbols[index] != 0 { bits |= 1 << UInt16(13 - index) }
        self = PacketStatusEncoder()
        return PacketStatusChunk(rawValue: bits)
    }

    /// Takes up to seven statuses and keeps the rest.
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
