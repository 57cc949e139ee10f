import PCastCodecs
import PCastCore
import PCastDevices
import PCastIO
import Synchronization

/// Encodes frames on its own thread. When two frames wait, a new one replaces the older one, so that the delay does not
/// grow.
///
/// Frames that the source has already encoded in the stream's codec are passed through and never dropped by the queue.
package final class VideoEncoding: Sendable {
    private static let queueCapacity = 2
    /// The minimum interval between key frame requests to a source that encodes its frames itself.
    private static let sourceRequestInterval = TimeSpan.milliseconds(500)

    private let codec: Codec
    private let choice: VideoEncoderChoice
    private let bitrate: Bitrate?
    private let reduction: Int
    private let frameRate: Double
    private let limits: BandwidthLimits
    private let keyFrameNeeded: @Sendable () -> Void
    private let began: (@Sendable (VideoFrame) -> Void)?
    private let encoded: @Sendable (EncodedFrame) -> Void
    private let failed: @Sendable (String) -> Void

    private let queue = FrameQueue<VideoSample>(capacity: queueCapacity)
    /// Whether an encoded frame was left out, to which the following ones refer.
    private let hasGap = Atomic(false)
    /// The time of the last key frame request to the source, in nanoseconds.
    private let lastSourceRequest = Atomic(Int64.min)
    private let wantsKeyFrame = Atomic(false)
    private let isPaused = Atomic(false)
    private let captured = Atomic(0)
    private let target = Atomic<Int64>(0)
    /// The available bit rate in bits per second; negative before there is an estimate.
    private let allowed = Atomic<Int64>(-1)
    private let cut = Atomic(false)
    /// The bit rate without a limit of the network, in bits per second; 0 before it is known.
    private let full = Atomic<Int64>(0)
    private let meter = Mutex(EncodingMeter())
    private let thread = Mutex<WorkerThread?>(nil)

    /// Creates an encoding, which begins with ``start()``.
    ///
    /// - Parameters:
    ///   - codec: The codec of the stream.
    ///   - choice: The choice of the encoder.
    ///   - bitrate: The target bit rate; nil for the default for the height of the video.
    ///   - reduction: The divisor of width and height that is applied first.
    ///   - frameRate: The frame rate of the source in frames per second.
    ///   - limits: The limits on the bit rate.
    ///   - keyFrameNeeded: A function that requests a key frame from a source that encodes its frames itself; it must
    ///     not block.
    ///   - began: A function that receives each frame before it is encoded, on the encoder's thread.
    ///   - encoded: A function that receives encoded frames, on the encoder's thread, or on that of a source which
    ///     encodes itself.
    ///   - failed: A function that receives a failure as a text for people. It is called at most once.
    package init(
        codec: Codec, encoder choice: VideoEncoderChoice = .automatic, bitrate: Bitrate?,
        reducedBy reduction: Int = 1, frameRate: Double,
        limits: BandwidthLimits, keyFrameNeeded: @escaping @Sendable () -> Void = {},
        began: (@Sendable (VideoFrame) -> Void)? = nil,
        encoded: @escaping @Sendable (EncodedFrame) -> Void, failed: @escaping @Sendable (String) -> Void
    ) {
        self.codec = codec
        self.choice = choice
        self.began = began
        self.bitrate = bitrate
        self.reduction = reduction
        self.frameRate = frameRate
        self.limits = limits
        self.keyFrameNeeded = keyFrameNeeded
        self.encoded = encoded
        self.failed = failed
    }

    /// Starts the encoder's thread. Throws an error if there is no thread.
    package func start() throws(PCastError) {
        do throws(IOError) {
            let worker = try WorkerThread(name: "encode-video", precedence: .media) { [self] in run() }
            thread.withLock { $0 = worker }
        } catch {
            throw PCastError(.failed, .device, "the video encoder's thread could not be started: \(error)")
        }
    }

    /// Ends the encoder's thread after its present frame, and waits for the end.
    package func stop() {
        queue.close()
        thread.withLock { $0 }?.join()
    }

    /// Adds a frame of the source. It must not be called concurrently.
    package func push(_ sample: VideoSample) {
        captured.add(1, ordering: .relaxed)
        if isPaused.load(ordering: .relaxed) { return dropFrame(sample) }
        if case .coded(let frame) = sample, frame.codec == codec, reduction == 1 { return pass(frame) }
        if case .coded? = queue.push(sample) {
            hasGap.store(true, ordering: .relaxed)
            requestSourceKeyFrame()
        }
    }

    /// Requests a key frame from the source, because its frames cannot be decoded or refer to a frame that was left
    /// out.
    private func requestSourceKeyFrame() {
        let now = MonotonicClock.now().nanoseconds
        let last = lastSourceRequest.load(ordering: .relaxed)
        guard last == .min || now - last >= Self.sourceRequestInterval.nanoseconds else { return }
        lastSourceRequest.store(now, ordering: .relaxed)
        keyFrameNeeded()
    }

    /// Passes an encoded frame through.
    private func pass(_ frame: EncodedFrame) {
        // The frame cannot be re-encoded here. It is left out if the available bit rate is too low for video.
        let isCut = allowedBitrate.map { $0 < EncodingTarget.off } ?? false
        cut.store(isCut, ordering: .relaxed)
        guard !isCut else { return hasGap.store(true, ordering: .relaxed) }
        if frame.isKeyFrame { hasGap.store(false, ordering: .relaxed) }
        guard !hasGap.load(ordering: .relaxed) else { return requestSourceKeyFrame() }
        meter.withLock { $0.encoded(in: .zero) }
        encoded(frame)
    }

    /// Records that a frame was left out, because it has no subscribers or is withheld on purpose. It counts as neither
    /// encoded nor dropped.
    func dropFrame(_ sample: VideoSample) {
        if case .coded = sample { hasGap.store(true, ordering: .relaxed) }
    }

    /// Pauses or resumes the encoding. It resumes with a key frame.
    func setPaused(_ isPaused: Bool) {
        if !isPaused { requestKeyFrame() }
        self.isPaused.store(isPaused, ordering: .releasing)
    }

    /// Sets the available bit rate from the next frame on. The encoding pauses if it is too low for video.
    func setAllowed(_ bitrate: Bitrate) { allowed.store(bitrate.bitsPerSecond, ordering: .relaxed) }

    /// Whether the available bit rate is too low for video.
    var isCut: Bool { cut.load(ordering: .relaxed) }

    /// The bit rate without a limit of the network; nil before the first frame.
    var fullBitrate: Bitrate? {
        let bits = full.load(ordering: .relaxed)
        return bits > 0 ? Bitrate(bitsPerSecond: bits) : nil
    }

    /// Requests that the next frame is a key frame.
    func requestKeyFrame() { wantsKeyFrame.store(true, ordering: .relaxed) }

    /// Sets the encoder's values in the statistics of a publisher.
    func report(into statistics: inout PublisherStatistics) {
        let meter = meter.withLock { $0 }
        statistics.framesCaptured = captured.load(ordering: .relaxed)
        statistics.framesEncoded = meter.framesEncoded
        statistics.framesDropped = queue.droppedCount
        statistics.targetBitrate = Int(target.load(ordering: .relaxed))
        statistics.encodeTime = meter.encodeTime?.duration
    }

    /// Adds the encoder's statistics to those of the sent stream.
    func report(into stats: inout RTCOutboundRTPStreamStats) {
        let meter = meter.withLock { $0 }
        stats.framesEncoded = meter.framesEncoded
        stats.totalEncodeTime = meter.total.seconds
        let targetBitrate = target.load(ordering: .relaxed)
        if targetBitrate > 0 { stats.targetBitrate = Double(targetBitrate) }
    }

    /// The number of frames that the source delivered.
    var framesCaptured: Int { captured.load(ordering: .relaxed) }

    /// Encodes the frames of the queue until it is closed or the encoder fails.
    private func run() {
        var encoder: (any VideoEncoder)?
        var decoder: (codec: Codec, decoder: any VideoDecoder)?
        var current: (dimensions: Dimensions, color: VideoColor, bitrate: Bitrate)?
        var adaptation = EncodingTarget()
        var decimation = FrameDecimation()
        let scaler = FrameScaler()
        let reducer = FrameScaler()
        do {
            while let sample = queue.pop() {
                if isPaused.load(ordering: .acquiring) {
                    dropFrame(sample)
                    continue
                }
                guard let videoFrame = try videoFrame(of: sample, by: &decoder) else { continue }
                let frame = reducer.reduce(videoFrame, by: reduction)
                let output = adaptation.output(
                    for: source(frame), allowed: allowedBitrate, at: MonotonicClock.now())
                target.store(output?.bitrate.bitsPerSecond ?? 0, ordering: .relaxed)
                cut.store(output == nil, ordering: .relaxed)
                guard let output else {
                    // The first frame after a pause has to be a key frame.
                    requestKeyFrame()
                    continue
                }
                guard decimation.keepsFrame(output.frameRate / frameRate) else { continue }
                let bitrate = perFrame(output)
                // The colors are declared when an encoder is opened.
                if current?.dimensions != output.dimensions || current?.color != frame.color {
                    encoder = try VideoEncoders.open(
                        choice, codec: codec, dimensions: output.dimensions, frameRate: frameRate, bitrate: bitrate,
                        color: frame.color)
                } else if current?.bitrate != bitrate {
                    try encoder?.setBitrate(bitrate)
                }
                current = (output.dimensions, frame.color, bitrate)
                try encode(scaler.scale(frame, to: output.dimensions), with: encoder!)
            }
        } catch {
            queue.close()
            failed("the video encoder failed: \(error)")
        }
    }

    /// The available bit rate; nil before there is an estimate.
    private var allowedBitrate: Bitrate? {
        let bits = allowed.load(ordering: .relaxed)
        return bits < 0 ? nil : Bitrate(bitsPerSecond: bits)
    }

    /// Returns the properties of a source's frame, with the target bit rate. A configured bit rate has priority over the
    /// default for the frame's dimensions.
    private func source(_ frame: VideoFrame) -> EncodingTarget.Source {
        let bitrate = limits.apply(to: bitrate ?? BitrateLadder.bitrate(for: frame.dimensions))
        full.store(bitrate.bitsPerSecond, ordering: .relaxed)
        return EncodingTarget.Source(dimensions: frame.dimensions, frameRate: frameRate, bitrate: bitrate)
    }

    /// Returns the bit rate for the encoder. Encoders count frames and not time, so the bit rate of the frames that are
    /// left out is given to the others.
    private func perFrame(_ output: EncodingTarget.Output) -> Bitrate {
        Bitrate(bitsPerSecond: Int64(Double(output.bitrate.bitsPerSecond) * frameRate / output.frameRate))
    }

    /// Returns the raw frame of a sample, which is decoded if it is coded; nil if it cannot be decoded.
    /// Throws an error if there is no decoder.
    private func videoFrame(
        of sample: VideoSample, by decoder: inout (codec: Codec, decoder: any VideoDecoder)?
    ) throws -> VideoFrame? {
        switch sample {
        case .frame(let frame): return frame
        case .coded(let frame):
            if hasGap.exchange(false, ordering: .relaxed) || decoder?.codec != frame.codec { decoder = nil }
            let current = try decoder?.decoder ?? VideoDecoders.open(frame.codec)
            decoder = (frame.codec, current)
            // The frame is damaged, or precedes the first key frame.
            guard let frames = try? current.decode(frame) else {
                requestSourceKeyFrame()
                return nil
            }
            return frames.last
        }
    }

    /// Encodes a frame and measures the encode time. Throws an error if the encoder fails.
    private func encode(_ frame: VideoFrame, with encoder: any VideoEncoder) throws {
        let isKeyFrame = wantsKeyFrame.exchange(false, ordering: .relaxed)
        began?(frame)
        let beginning = MonotonicClock.now()
        let frames = try encoder.encode(frame, forceKeyFrame: isKeyFrame)
        let span = MonotonicClock.now() - beginning
        meter.withLock { $0.encoded(in: span) }
        for frame in frames { encoded(frame) }
    }
}

/// The default bit rates by the height of the video, after Phenix's encoding ladder of 2020.
enum BitrateLadder {
    private static let steps: [(height: Int, kilobits: Int64)] = [
        (144, 192), (240, 350), (360, 520), (480, 830), (720, 1_600), (1_080, 3_000),
    ]

    /// Returns the bit rate of the lowest step whose height is at least the shorter side. Larger frames have the bit
    /// rate of the highest step.
    static func bitrate(for dimensions: Dimensions) -> Bitrate {
        let height = min(dimensions.width, dimensions.height)
        return .kilobits((steps.first { height <= $0.height } ?? steps[steps.count - 1]).kilobits)
    }
}

/// Drops frames evenly to reach a share of the frames.
struct FrameDecimation: Sendable {
    private var due = 1.0

    /// Returns whether the next frame is kept. `share` is the share of frames to keep, 0...1; from 1 on all frames are
    /// kept.
    mutating func keepsFrame(_ share: Double) -> Bool {
        guard share < 1 else {
            due = 1
            return true
        }
        // Sums of fractions such as thirds are not exact.
        guard due > 0.999 else {
            due += share
            return false
        }
        due += share - 1
        return true
    }
}

/// The statistics of a video encoder: counters since it began, and the encode times of the last frames.
struct EncodingMeter: Sendable {
    /// The number of encoded frames.
    var framesEncoded = 0
    /// The total encode time.
    private(set) var total = TimeSpan.zero
    private var recent: [TimeSpan] = []
    private var next = 0

    /// The number of frames of the mean, which is about a second.
    private static let window = 30

    /// Records that a frame was encoded in that time.
    mutating func encoded(in span: TimeSpan) {
        framesEncoded += 1
        total += span
        if recent.count < Self.window {
            recent.append(span)
        } else {
            recent[next] = span
            next = (next + 1) % Self.window
        }
    }

    /// The mean encode time of the last frames; nil before the first one.
    var encodeTime: TimeSpan? {
        recent.isEmpty ? nil : recent.reduce(.zero, +) / Int64(recent.count)
    }
}
