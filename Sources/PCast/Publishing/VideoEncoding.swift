import PCastCodecs
import PCastIO
import PCastMedia
import Synchronization

/// Encodes pictures on a thread of its own. A picture that comes while two wait pushes the older one out, so that delay
/// cannot grow.
final class VideoEncoding: Sendable {
    private static let queueCapacity = 2

    private let codec: Codec
    private let bitrate: Bitrate?
    private let frameRate: Double
    private let limits: BandwidthLimits
    private let encoded: @Sendable (EncodedFrame) -> Void
    private let failed: @Sendable (String) -> Void

    private let queue = FrameQueue<VideoFrame>(capacity: queueCapacity)
    private let wantsKeyFrame = Atomic(false)
    private let captured = Atomic(0)
    private let target = Atomic<Int64>(0)
    private let meter = Mutex(EncodingMeter())
    private let thread = Mutex<WorkerThread?>(nil)

    /// - Parameters:
    ///   - bitrate: nil for what the pictures' height is worth.
    ///   - encoded: is called on the encoder's thread.
    ///   - failed: is called at most once, with words for people.
    init(
        codec: Codec, bitrate: Bitrate?, frameRate: Double, limits: BandwidthLimits,
        encoded: @escaping @Sendable (EncodedFrame) -> Void, failed: @escaping @Sendable (String) -> Void
    ) {
        self.codec = codec
        self.bitrate = bitrate
        self.frameRate = frameRate
        self.limits = limits
        self.encoded = encoded
        self.failed = failed
    }

    func start() throws(PCastError) {
        do throws(IOError) {
            let worker = try WorkerThread(name: "encode-video") { [self] in run() }
            thread.withLock { $0 = worker }
        } catch {
            throw PCastError(.failed, .device, "no thread for the video encoder: \(error)")
        }
    }

    /// Lets the encoder's thread end after the picture that it is at, and waits for that.
    func stop() {
        queue.close()
        thread.withLock { $0 }?.join()
    }

    func push(_ frame: VideoFrame) {
        captured.add(1, ordering: .relaxed)
        queue.push(frame)
    }

    /// The next picture is encoded as one that can be decoded alone.
    func requestKeyFrame() { wantsKeyFrame.store(true, ordering: .relaxed) }

    func report(into statistics: inout PublisherStatistics) {
        let meter = meter.withLock { $0 }
        statistics.framesCaptured = captured.load(ordering: .relaxed)
        statistics.framesEncoded = meter.framesEncoded
        statistics.framesDropped = queue.droppedCount
        statistics.targetBitrate = Int(target.load(ordering: .relaxed))
        statistics.encodeTime = meter.encodeTime?.milliseconds
    }

    private func run() {
        var encoder: (any VideoEncoder)?
        var current: (dimensions: Dimensions, bitrate: Bitrate)?
        do {
            while let frame = queue.pop() {
                let bitrate = limits.apply(to: bitrate ?? BitrateLadder.bitrate(for: frame.dimensions))
                if current?.dimensions != frame.dimensions {
                    encoder = try makeEncoder(frame.dimensions, bitrate)
                } else if current?.bitrate != bitrate {
                    try encoder?.setBitrate(bitrate)
                }
                current = (frame.dimensions, bitrate)
                target.store(bitrate.bitsPerSecond, ordering: .relaxed)
                try encode(frame, with: encoder!)
            }
        } catch {
            queue.close()
            failed("the video encoder failed: \(error)")
        }
    }

    private func encode(_ frame: VideoFrame, with encoder: any VideoEncoder) throws {
        let isKeyFrame = wantsKeyFrame.exchange(false, ordering: .relaxed)
        let began = MonotonicClock.now()
        let frames = try encoder.encode(frame, forceKeyFrame: isKeyFrame)
        let span = MonotonicClock.now() - began
        meter.withLock { $0.encoded(in: span) }
        for frame in frames { encoded(frame) }
    }

    private func makeEncoder(_ dimensions: Dimensions, _ bitrate: Bitrate) throws -> any VideoEncoder {
        switch codec {
        case .vp8: try VP8Encoder(dimensions: dimensions, frameRate: frameRate, bitrate: bitrate)
        default: try X264Encoder(dimensions: dimensions, frameRate: frameRate, bitrate: bitrate)
        }
    }
}
