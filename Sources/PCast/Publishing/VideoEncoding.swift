import PCastCodecs
import PCastCore
import PCastDevices
import PCastIO
import Synchronization

/// Encodes pictures on a thread of its own. A picture that comes while two wait pushes the older one out, so that delay
/// cannot grow. What the source has coded already in the stream's codec is passed on as it is, and never dropped here.
package final class VideoEncoding: Sendable {
    private static let queueCapacity = 2
    /// A source that codes its pictures itself is asked for a key frame no more often.
    private static let askingInterval = TimeSpan.milliseconds(500)

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
    /// A coded picture was left out: those after it refer to it.
    private let hasHole = Atomic(false)
    /// When the source was last asked for one that can be decoded alone, in nanoseconds.
    private let lastAsked = Atomic(Int64.min)
    private let wantsKeyFrame = Atomic(false)
    private let isResting = Atomic(false)
    private let captured = Atomic(0)
    private let target = Atomic<Int64>(0)
    /// What the network leaves for it; negative while nobody says.
    private let allowed = Atomic<Int64>(-1)
    private let cut = Atomic(false)
    /// What it makes when nothing holds it back, as far as is known.
    private let full = Atomic<Int64>(0)
    private let meter = Mutex(EncodingMeter())
    private let thread = Mutex<WorkerThread?>(nil)

    /// - Parameters:
    ///   - bitrate: nil for what the pictures' height is worth.
    ///   - reducedBy: how much narrower and lower the pictures are made first.
    ///   - keyFrameNeeded: asks a source that codes its pictures itself for one that can be decoded alone; must not block.
    ///   - began: is called on the encoder's thread with each picture that it begins to encode.
    ///   - encoded: is called on the encoder's thread.
    ///   - failed: is called at most once, with words for people.
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

    package func start() throws(PCastError) {
        do throws(IOError) {
            let worker = try WorkerThread(name: "encode-video", precedence: .media) { [self] in run() }
            thread.withLock { $0 = worker }
        } catch {
            throw PCastError(.failed, .device, "no thread for the video encoder: \(error)")
        }
    }

    /// Lets the encoder's thread end after the picture that it is at, and waits for that.
    package func stop() {
        queue.close()
        thread.withLock { $0 }?.join()
    }

    /// Called by one thread at a time.
    package func push(_ sample: VideoSample) {
        captured.add(1, ordering: .relaxed)
        if isResting.load(ordering: .relaxed) { return leaveOut(sample) }
        if case .coded(let frame) = sample, frame.codec == codec, reduction == 1 { return pass(frame) }
        if case .coded? = queue.push(sample) {
            hasHole.store(true, ordering: .relaxed)
            askForKeyFrame()
        }
    }

    /// What comes cannot be decoded, or refers to what was left out.
    private func askForKeyFrame() {
        let now = MonotonicClock.now().nanoseconds
        let last = lastAsked.load(ordering: .relaxed)
        guard last == .min || now - last >= Self.askingInterval.nanoseconds else { return }
        lastAsked.store(now, ordering: .relaxed)
        keyFrameNeeded()
    }

    private func pass(_ frame: EncodedFrame) {
        // It cannot be made smaller here; with no room for a picture it is left out.
        let isCut = allowedBitrate.map { $0 < EncodingTarget.off } ?? false
        cut.store(isCut, ordering: .relaxed)
        guard !isCut else { return hasHole.store(true, ordering: .relaxed) }
        if frame.isKeyFrame { hasHole.store(false, ordering: .relaxed) }
        guard !hasHole.load(ordering: .relaxed) else { return askForKeyFrame() }
        meter.withLock { $0.encoded(in: .zero) }
        encoded(frame)
    }

    /// Nobody takes it, or it is held back: neither encoded nor dropped, as the encoder had no part in it.
    func leaveOut(_ sample: VideoSample) {
        if case .coded = sample { hasHole.store(true, ordering: .relaxed) }
    }

    /// Pictures are left out while it rests; it wakes with one that can be decoded alone.
    func setResting(_ isResting: Bool) {
        if !isResting { requestKeyFrame() }
        self.isResting.store(isResting, ordering: .releasing)
    }

    /// Says what may be spent on it from the next picture on; too little for a picture is none.
    func setAllowed(_ bitrate: Bitrate) { allowed.store(bitrate.bitsPerSecond, ordering: .relaxed) }

    /// Whether there is no room for its pictures.
    var isCut: Bool { cut.load(ordering: .relaxed) }

    /// What it spends when it may; nil before its first picture.
    var fullBitrate: Bitrate? {
        let bits = full.load(ordering: .relaxed)
        return bits > 0 ? Bitrate(bitsPerSecond: bits) : nil
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

    /// Puts what was encoded beside what was sent of it.
    func report(into stats: inout RTCOutboundRTPStreamStats) {
        let meter = meter.withLock { $0 }
        stats.framesEncoded = meter.framesEncoded
        stats.totalEncodeTime = meter.total.seconds
        let aim = target.load(ordering: .relaxed)
        if aim > 0 { stats.targetBitrate = Double(aim) }
    }

    /// Pictures that came from the source.
    var framesCaptured: Int { captured.load(ordering: .relaxed) }

    private func run() {
        var encoder: (any VideoEncoder)?
        var decoder: (any VideoDecoder)?
        var current: (dimensions: Dimensions, color: VideoColor, bitrate: Bitrate)?
        var adaptation = EncodingTarget()
        var thinning = FrameThinning()
        let scaler = FrameScaler()
        let reducer = FrameReducer()
        do {
            while let sample = queue.pop() {
                if isResting.load(ordering: .acquiring) {
                    leaveOut(sample)
                    continue
                }
                guard let picture = try picture(of: sample, by: &decoder) else { continue }
                let frame = reducer.reduce(picture, by: reduction)
                let output = adaptation.output(
                    for: source(frame), allowed: allowedBitrate, at: MonotonicClock.now())
                target.store(output?.bitrate.bitsPerSecond ?? 0, ordering: .relaxed)
                cut.store(output == nil, ordering: .relaxed)
                guard let output else {
                    // What comes after a pause has to be decodable alone.
                    requestKeyFrame()
                    continue
                }
                guard thinning.takes(output.frameRate / frameRate) else { continue }
                let bitrate = perPicture(output)
                // Colours are declared when an encoder is opened.
                if current?.dimensions != output.dimensions || current?.color != frame.color {
                    encoder = try VideoEncoders.open(
                        choice, codec: codec, dimensions: output.dimensions, frameRate: frameRate, bitrate: bitrate,
                        color: frame.color)
                } else if current?.bitrate != bitrate {
                    try encoder?.setBitrate(bitrate)
                }
                current = (output.dimensions, frame.color, bitrate)
                try encode(try scaler.scale(frame, to: output.dimensions), with: encoder!)
            }
        } catch {
            queue.close()
            failed("the video encoder failed: \(error)")
        }
    }

    private var allowedBitrate: Bitrate? {
        let bits = allowed.load(ordering: .relaxed)
        return bits < 0 ? nil : Bitrate(bitsPerSecond: bits)
    }

    private func source(_ frame: VideoFrame) -> EncodingTarget.Source {
        let bitrate = limits.apply(to: bitrate ?? BitrateLadder.bitrate(for: frame.dimensions))
        full.store(bitrate.bitsPerSecond, ordering: .relaxed)
        return EncodingTarget.Source(dimensions: frame.dimensions, frameRate: frameRate, bitrate: bitrate)
    }

    /// Encoders count pictures and not time: what the pictures left out would have had is the others'.
    private func perPicture(_ output: EncodingTarget.Output) -> Bitrate {
        Bitrate(bitsPerSecond: Int64(Double(output.bitrate.bitsPerSecond) * frameRate / output.frameRate))
    }

    /// What was coded in another codec than the stream's is decoded; nil when no picture comes of it.
    private func picture(of sample: VideoSample, by decoder: inout (any VideoDecoder)?) throws -> VideoFrame? {
        switch sample {
        case .picture(let frame): return frame
        case .coded(let frame):
            if hasHole.exchange(false, ordering: .relaxed) { decoder = nil }
            let current = try decoder ?? (frame.codec == .vp8 ? VP8Decoder() : H264Decoder())
            decoder = current
            // Damaged, or before the first key frame.
            guard let pictures = try? current.decode(frame) else {
                askForKeyFrame()
                return nil
            }
            return pictures.last
        }
    }

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
