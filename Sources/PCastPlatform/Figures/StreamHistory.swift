import PCastMedia
import PCastRelay

/// What a stream was like in the last five minutes, second by second: what plots are drawn from.
struct StreamHistory: Sendable {
    struct Sample: Sendable, Hashable {
        /// The end of the second.
        var time: WallTime
        /// What came of the publisher, on the wire; nil before it is known.
        var bitrate: Bitrate?
        /// To the publisher and back, to the millisecond; nil before it is known.
        var roundTrip: TimeSpan?
        /// What did not arrive when it was first sent, of all (0...1), to the ten thousandth.
        var loss: Double
        var viewers: Int
        var quality: DataQuality
    }

    /// A sample in 20 bytes.
    private struct Packed: Sendable {
        let second: UInt32
        let bitrate: UInt32
        let viewers: UInt32
        let loss: UInt16
        let roundTrip: UInt16
        let status: UInt8
        let reason: UInt8
    }

    /// Samples that are kept: the newest.
    static let capacity = 300
    static let interval = TimeSpan.seconds(1 as Int64)
    /// Stands for what is not known.
    private static let unknown = (bitrate: UInt32.max, roundTrip: UInt16.max)

    private var samples: [Packed] = []
    /// Where the next one goes, once all places are taken.
    private var next = 0
    /// Packets and losses that the last sample knew of.
    private var counted = (packets: 0, lost: 0)

    /// The dimensions of the picture at last.
    private(set) var dimensions: Dimensions?

    /// Takes a look at the stream; a second look within the same second changes nothing.
    mutating func add(_ figures: StreamFigures, at time: WallTime) {
        let second = UInt32(clamping: time.millisecondsSinceEpoch / 1_000)
        // A clock that was set back makes what is there worthless.
        if let last = newest, second < last.second { (samples, next) = ([], 0) }
        guard newest.map({ second > $0.second }) ?? true else { return }
        dimensions = figures.dimensions
        append(
            Packed(
                second: second,
                bitrate: figures.bitrate.map { min(UInt32(clamping: $0.bitsPerSecond), .max - 1) }
                    ?? Self.unknown.bitrate,
                viewers: UInt32(clamping: figures.viewers), loss: loss(figures.received),
                roundTrip: figures.roundTrip.map { min(UInt16(clamping: Int64($0.milliseconds.rounded())), .max - 1) }
                    ?? Self.unknown.roundTrip,
                status: UInt8(DataQuality.Status.allCases.firstIndex(of: figures.quality.status) ?? 0),
                reason: UInt8(DataQuality.Reason.allCases.firstIndex(of: figures.quality.reason) ?? 0)))
    }

    /// Of what was expected since the last look, in ten thousandths.
    private mutating func loss(_ received: StreamFigures.Counts) -> UInt16 {
        let packets = max(received.packets - counted.packets, 0)
        let lost = max(received.packetsLost - counted.lost, 0)
        counted = (received.packets, received.packetsLost)
        guard packets + lost > 0 else { return 0 }
        return UInt16(clamping: lost * 10_000 / (packets + lost))
    }

    private mutating func append(_ sample: Packed) {
        if samples.count < Self.capacity {
            samples.append(sample)
            next = 0
        } else {
            samples[next] = sample
            next = (next + 1) % Self.capacity
        }
    }

    private var newest: Packed? {
        samples.count < Self.capacity ? samples.last : samples[(next + Self.capacity - 1) % Self.capacity]
    }

    /// The newest sample.
    var last: Sample? { newest.map(Self.sample) }

    /// Samples later than a time, the oldest first.
    func samples(after time: WallTime) -> [Sample] {
        (samples[next...] + samples[..<next]).map(Self.sample).filter { time < $0.time }
    }

    private static func sample(_ packed: Packed) -> Sample {
        Sample(
            time: WallTime(millisecondsSinceEpoch: Int64(packed.second) * 1_000),
            bitrate: packed.bitrate == unknown.bitrate ? nil : Bitrate(bitsPerSecond: Int64(packed.bitrate)),
            roundTrip: packed.roundTrip == unknown.roundTrip ? nil : .milliseconds(Int64(packed.roundTrip)),
            loss: Double(packed.loss) / 10_000, viewers: Int(packed.viewers),
            quality: DataQuality(
                status: DataQuality.Status.allCases[Int(packed.status)],
                reason: DataQuality.Reason.allCases[Int(packed.reason)]))
    }
}
