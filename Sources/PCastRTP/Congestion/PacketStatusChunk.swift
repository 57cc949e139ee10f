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
