public import PCastMedia

/// How many packets before it a packet of sound repeats (RFC 2198), by the loss that the receiver reports.
///
/// It goes up with the first report of loss and down slowly, for loss comes back; where nothing is lost nothing is
/// repeated, but in the first seconds, in which nothing is known. One repetition leaves of random loss its square, two its
/// cube.
public struct RedundancyLevel: Sendable {
    /// From this loss on one packet is repeated, and two.
    static let thresholds = (one: 0.002, two: 0.015)

    /// Packets by which a report counts in full; a fifth of a second's loss says little.
    private static let fullReport = 25.0

    /// Before any report: enough for one repetition, until some reports of no loss have come.
    private static let assumed = 0.003

    /// What of a report's difference is believed.
    private static let rise = 0.5
    private static let fall = 1.0 / 16

    /// The most that is repeated, 0 to 2: less where the path has no room.
    public var maximum = 2

    /// The loss as it is believed, 0 to 1.
    public private(set) var loss = Self.assumed

    private var last: (highest: UInt32, lost: Int32)?

    public init() {}

    /// Packets to repeat.
    public var count: Int {
        min(maximum, loss >= Self.thresholds.two ? 2 : loss >= Self.thresholds.one ? 1 : 0)
    }

    /// How much may be repeated where this much may be sent in all: no more than leaves the sound itself its room, which is
    /// 64 kbit/s and as much again for headers and reports at the most.
    public static func maximum(within bitrate: Bitrate) -> Int {
        bitrate >= .kilobits(260) ? 2 : bitrate >= .kilobits(170) ? 1 : 0
    }

    /// Takes in what the receiver said of the stream: the loss since its report before.
    public mutating func received(_ block: ReportBlock) {
        defer { last = (block.highestSequenceNumber, block.cumulativeLost) }
        guard let last else {
            return follow(Double(block.fractionLost) / 256, weight: 1)
        }
        let expected = Int32(bitPattern: block.highestSequenceNumber &- last.highest)
        guard expected > 0 else { return }
        let lost = Double(max(0, block.cumulativeLost - last.lost))
        follow(min(1, lost / Double(expected)), weight: min(1, Double(expected) / Self.fullReport))
    }

    private mutating func follow(_ sample: Double, weight: Double) {
        loss += (sample - loss) * weight * (sample > loss ? Self.rise : Self.fall)
    }
}
