package import PCastCore

/// Determines how many previous packets an audio packet repeats (RFC 2198), according to the loss that the receiver
/// reports.
///
/// The number increases with the first report of loss and decreases slowly, because loss often recurs. Without loss
/// nothing is repeated, except in the first seconds, when the loss is unknown. With random loss, one repetition reduces
/// it to its square and two reduce it to its cube.
package struct RedundancyLevel: Sendable {
    /// The losses from 0 to 1 from which on one and two packets are repeated.
    static let thresholds = (one: 0.002, two: 0.015)

    /// The number of packets in a report with full weight.
    private static let fullReport = 25.0

    /// The loss before the first report: it causes one repetition until some reports without loss have arrived.
    private static let assumed = 0.003

    /// The weight of a report with more loss.
    private static let rise = 0.5
    /// The weight of a report with less loss.
    private static let fall = 1.0 / 16

    /// The maximum number of repetitions from 0 to 2, which is lower if the available bandwidth is small.
    package var maximum = 2

    /// The smoothed loss from 0 to 1.
    package private(set) var loss = Self.assumed

    /// The highest sequence number and the cumulative loss in the last report; nil before the first.
    private var last: (highest: UInt32, lost: Int32)?

    /// Creates a level before the first report.
    package init() {}

    /// The number of earlier packets that each packet repeats.
    package var count: Int {
        min(maximum, loss >= Self.thresholds.two ? 2 : loss >= Self.thresholds.one ? 1 : 0)
    }

    /// Returns the maximum number of repetitions within an available bandwidth, which leaves enough for the audio
    /// itself: 64 kbit/s, and at most the same for headers and reports.
    package static func maximum(within bitrate: Bitrate) -> Int {
        bitrate >= .kilobits(260) ? 2 : bitrate >= .kilobits(170) ? 1 : 0
    }

    /// Evaluates a report of the receiver: the loss since the report before.
    package mutating func received(_ block: ReportBlock) {
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
