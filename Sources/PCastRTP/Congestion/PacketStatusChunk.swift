/// A packet status chunk of 16 bits, which encodes the status of several packets
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01, section 3.1.2).
struct PacketStatusChunk: Hashable, Sendable {
    /// The status of a packet, which determines the size of its receive delta.
    enum Symbol: UInt8, Sendable {
        case notReceived, smallDelta, largeDelta, reserved

        /// The size of the receive delta in bytes.
        var deltaSize: Int {
            switch self {
            case .notReceived, .reserved: 0
            case .smallDelta: 1
            case .largeDelta: 2
            }
        }

        /// Creates a symbol from the low two bits.
        init(bits: UInt16) {
            switch bits & 3 {
            case 0: self = .notReceived
            case 1: self = .smallDelta
            case 2: self = .largeDelta
            default: self = .reserved
            }
        }
    }

    /// The maximum number of packets in a run-length chunk.
    static let maximumRunLength = 0x1FFF
    /// The number of packets in a vector chunk with one-bit symbols.
    static let oneBitCapacity = 14
    /// The number of packets in a vector chunk with two-bit symbols.
    static let twoBitCapacity = 7

    let rawValue: UInt16

    init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Creates a run-length chunk.
    init(run symbol: Symbol, count: Int) {
        rawValue = UInt16(symbol.rawValue) << 13 | UInt16(count)
    }

    private var isVector: Bool { rawValue & 0x8000 != 0 }
    private var hasTwoBitSymbols: Bool { rawValue & 0x4000 != 0 }

    /// The number of packets.
    var count: Int {
        guard isVector else { return Int(rawValue) & Self.maximumRunLength }
        return hasTwoBitSymbols ? Self.twoBitCapacity : Self.oneBitCapacity
    }

    /// Returns the symbol of a packet.
    func symbol(_ index: Int) -> Symbol {
        guard isVector else { return Symbol(bits: rawValue >> 13) }
        return hasTwoBitSymbols
            ? Symbol(bits: rawValue >> UInt16(2 * (6 - index))) : Symbol(bits: rawValue >> UInt16(13 - index) & 1)
    }

    /// Returns the size of the receive deltas of the first `count` packets in bytes.
    func deltaSize(ofFirst count: Int) -> Int {
        guard isVector else { return count * symbol(0).deltaSize }
        var size = 0
        for index in 0..<count { size += symbol(index).deltaSize }
        return size
    }
}

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
