import PCastCore
import PCastIO
import PCastSFU
import Synchronization

/// The statistics of a stream for each second of the last five minutes, for plots.
struct StreamHistory: Sendable {
    struct Sample: Sendable, Hashable {
        /// The end of the second.
        var time: WallTime
        /// The bit rate that arrives from the publisher, including headers; nil if unknown.
        var bitrate: Bitrate?
        /// The round-trip time to the publisher in whole milliseconds; nil if unknown.
        var roundTrip: TimeSpan?
        /// The loss rate before retransmission, from 0 to 1 in steps of 0.0001.
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

    /// The maximum number of samples.
    static let capacity = 300
    static let interval = TimeSpan.seconds(1 as Int64)
    /// The values that represent nil.
    private static let unknown = (bitrate: UInt32.max, roundTrip: UInt16.max)

    private var samples: [Packed] = []
    /// The index of the next sample once all are used.
    private var next = 0
    /// The packet counters at the last sample.
    private var counted = (packets: 0, lost: 0)

    /// The current size of the frames; nil if unknown.
    private(set) var dimensions: Dimensions?
    /// The current format of the publisher's video; nil if unknown.
    private(set) var video: CodecParameters?

    /// Adds a sample. A second one within the same second is ignored.
    mutating func add(_ metrics: StreamMetrics, at time: WallTime) {
        let second = UInt32(clamping: time.millisecondsSinceEpoch / 1_000)
        // If the clock was set back, the previous samples are invalid.
        if let last = newest, second < last.second { (samples, next) = ([], 0) }
        guard newest.map({ second > $0.second }) ?? true else { return }
        dimensions = metrics.dimensions
        video = metrics.video
        append(
            Packed(
                second: second,
                bitrate: metrics.bitrate.map { min(UInt32(clamping: $0.bitsPerSecond), .max - 1) }
                    ?? Self.unknown.bitrate,
                viewers: UInt32(clamping: metrics.viewers), loss: loss(metrics.received),
                roundTrip: metrics.roundTrip.map { min(UInt16(clamping: Int64($0.milliseconds.rounded())), .max - 1) }
                    ?? Self.unknown.roundTrip,
                status: UInt8(DataQuality.Status.allCases.firstIndex(of: metrics.quality.status) ?? 0),
                reason: UInt8(DataQuality.Reason.allCases.firstIndex(of: metrics.quality.reason) ?? 0)))
    }

    /// Returns the loss rate since the last sample in units of 0.0001.
    private mutating func loss(_ received: StreamMetrics.Counts) -> UInt16 {
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

    /// The newest sample; nil if there is none.
    var last: Sample? { newest.map(Self.sample) }

    /// Returns the samples after a time, oldest first.
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

/// The histories of all published streams.
final class StreamHistoryStore: Sendable {
    /// The maximum number of histories, which need 8 KiB each. Further streams have none.
    static let capacity = 4_096

    private let all = Mutex<[StreamID: StreamHistory]>([:])

    /// Records a sample of all streams each second until the task is cancelled.
    func run(of router: MediaRouter) async {
        repeat {
            note(await router.samples(), at: MonotonicClock.wallTime())
        } while (try? await Task.sleep(for: StreamHistory.interval.duration)) != nil
    }

    /// Adds samples and removes the histories of ended streams.
    func note(_ metrics: [StreamMetrics], at time: WallTime) {
        all.withLock { all in
            let present = Set(metrics.map(\.stream))
            all = all.filter { present.contains($0.key) }
            for stream in metrics where all[stream.stream] != nil || all.count < Self.capacity {
                all[stream.stream, default: StreamHistory()].add(stream, at: time)
            }
        }
    }

    /// Returns the history of a stream; nil if the stream does not exist or has no history.
    func history(of stream: StreamID) -> StreamHistory? { all.withLock { $0[stream] } }
}
