/// Sixteen bits that say which of a run of packets arrived, and how large their deltas are
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01, section 3.1.2).
struct PacketStatusChunk: Hashable, Sendable {
    enum Symbol: UInt8, Sendable {
        case notReceived, smallDelta, largeDelta, reserved

        /// Bytes of the packet's delta.
        var deltaSize: Int {
            switch self {
            case .notReceived, .reserved: 0
            case .smallDelta: 1
            case .largeDelta: 2
            }
        }

        /// From the low two bits.
        init(bits: UInt16) {
            switch bits & 3 {
            case 0: self = .notReceived
            case 1: self = .smallDelta
            case 2: self = .largeDelta
            default: self = .reserved
            }
        }
    }

    static let maximumRunLength = 0x1FFF
    static let oneBitCapacity = 14
    static let twoBitCapacity = 7

    let rawValue: UInt16

    init(rawValue: UInt16) { self.rawValue = rawValue }

    /// A run of packets of one kind.
    init(run symbol: Symbol, count: Int) {
        rawValue = UInt16(symbol.rawValue) << 13 | UInt16(count)
    }

    private var isVector: Bool { rawValue & 0x8000 != 0 }
    private var hasTwoBitSymbols: Bool { rawValue & 0x4000 != 0 }

    /// Packets that the chunk is about.
    var count: Int {
        guard isVector else { return Int(rawValue) & Self.maximumRunLength }
        return hasTwoBitSymbols ? Self.twoBitCapacity : Self.oneBitCapacity
    }

    func symbol(_ index: Int) -> Symbol {
        guard isVector else { return Symbol(bits: rawValue >> 13) }
        return hasTwoBitSymbols
            ? Symbol(bits: rawValue >> UInt16(2 * (6 - index))) : Symbol(bits: rawValue >> UInt16(13 - index) & 1)
    }

    /// Bytes of deltas for the first `count` packets.
    func deltaSize(ofFirst count: Int) -> Int {
        guard isVector else { return count * symbol(0).deltaSize }
        var size = 0
        for index in 0..<count { size += symbol(index).deltaSize }
        return size
    }
}
