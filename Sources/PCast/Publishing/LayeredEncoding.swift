import PCastCodecs
import PCastCore
import PCastDevices
import Synchronization

/// The encoders of one video: one, or one per layer. Each has its own thread and scales for itself, so that a layer
/// without subscribers costs nothing.
final class LayeredEncoding: Sendable {
    /// The divisors of width and height for each number of layers, the lowest layer first, e.g. 180p, 360p and 720p for
    /// a source of 720p.
    private static let reductions = [1: [1], 2: [2, 1], 3: [4, 2, 1]]

    /// The number of layers that the platform receives. If it is one, that is the highest layer. The encoders' threads
    /// read it.
    private final class ReceivedLayerCount: Sendable {
        private let count: Atomic<Int>

        init(_ count: Int) { self.count = Atomic(count) }

        var value: Int { count.load(ordering: .relaxed) }

        func set(_ value: Int) { count.store(value, ordering: .relaxed) }
    }

    /// The encoders, the lowest layer first.
    private let encodings: [VideoEncoding]
    private let limits: BandwidthLimits
    private let receivedLayers: ReceivedLayerCount
    /// The layers without subscribers, by the platform's indices.
    private let pausedLayers = Mutex<Set<Int>>([])

    /// Creates the encoders, which begin with ``start(layers:)``.
    ///
    /// - Parameters:
    ///   - layers: The number of layers, 1...3.
    ///   - options: The options of the publication. The bit rate is that of the highest layer.
    ///   - frameRate: The frame rate of the source.
    ///   - limits: The limits on the bit rate.
    ///   - keyFrameNeeded: A function that requests a key frame from a source that encodes its frames itself; it must
    ///     not block.
    ///   - encoded: A function that receives frames, with the platform's layer index, on the encoders' threads.
    ///   - failed: A function that receives a failure as a text for people. It is called at most once per layer.
    init(
        layers: Int, options: PublishOptions, frameRate: Double, limits: BandwidthLimits,
        keyFrameNeeded: @escaping @Sendable () -> Void = {},
        encoded: @escaping @Sendable (EncodedFrame, _ layer: Int) -> Void,
        failed: @escaping @Sendable (String) -> Void
    ) {
        precondition((1...3).contains(layers), "a stream must have one to three layers")
        let reductions = Self.reductions[layers]!
        let receivedLayers = ReceivedLayerCount(layers)
        encodings = reductions.enumerated().map { index, reduction in
            VideoEncoding(
                codec: options.videoCodec, encoder: options.videoEncoder,
                bitrate: reduction == 1 ? options.videoBitrate : nil, reducedBy: reduction, frameRate: frameRate,
                limits: layers == 1 ? limits : BandwidthLimits(), keyFrameNeeded: keyFrameNeeded,
                encoded: { frame in encoded(frame, receivedLayers.value == 1 ? 0 : index) }, failed: failed)
        }
        self.limits = limits
        self.receivedLayers = receivedLayers
    }

    /// Starts the encoders. `count` is the number of layers that the platform receives, either all offered layers or
    /// one. Throws an error if there is no thread.
    func start(layers count: Int) throws(PCastError) {
        let count = count == encodings.count ? count : 1
        receivedLayers.set(count)
        for encoding in active { try encoding.start() }
    }

    /// The encoders of the layers that the platform receives, by its indices.
    private var active: ArraySlice<VideoEncoding> { encodings.suffix(receivedLayers.value) }

    /// Returns the encoder of a layer; nil if the platform does not receive the layer.
    private func encoding(_ layer: Int) -> VideoEncoding? {
        let active = active
        let index = active.startIndex + layer
        return active.indices.contains(index) ? active[index] : nil
    }

    /// Ends the encoders' threads after their present frames, and waits for the ends.
    func stop() {
        for encoding in encodings { encoding.stop() }
    }

    /// Adds a frame of the source. It must not be called concurrently.
    func push(_ sample: VideoSample) {
        for encoding in active { encoding.push(sample) }
    }

    /// Records that a frame was withheld on purpose.
    func dropFrame(_ sample: VideoSample) {
        for encoding in active { encoding.dropFrame(sample) }
    }

    // MARK: Demand

    /// Requests that the next frame of a layer is a key frame; nil for all layers.
    func requestKeyFrame(layer: Int? = nil) {
        if let layer { return encoding(layer)?.requestKeyFrame() ?? () }
        for encoding in active { encoding.requestKeyFrame() }
    }

    /// Pauses or resumes a layer without subscribers, or all layers if `layer` is nil. Returns whether all layers are
    /// paused.
    @discardableResult
    func setPaused(_ isPaused: Bool, layer: Int? = nil) -> Bool {
        let count = receivedLayers.value
        let layers = layer.map { [$0] } ?? Array(0..<count)
        let all = pausedLayers.withLock { pausedLayers in
            if isPaused { pausedLayers.formUnion(layers) } else { pausedLayers.subtract(layers) }
            return pausedLayers.count == count
        }
        for layer in layers { encoding(layer)?.setPaused(isPaused) }
        return all
    }

    // MARK: Bandwidth

    /// The encoders of the layers with subscribers.
    private var subscribedEncodings: [VideoEncoding] {
        let pausedLayers = pausedLayers.withLock { $0 }
        return active.enumerated().filter { !pausedLayers.contains($0.offset) }.map(\.element)
    }

    /// The minimum share of its full bit rate, in percent, that a layer above the lowest needs to be useful.
    private static let minimumShare: Int64 = 60

    /// Returns the ranges of bit rates of the encoders, the lowest layer first; nil before their first frames.
    private func layers(_ encodings: [VideoEncoding]) -> [BandwidthAllocation.Layer]? {
        var layers: [BandwidthAllocation.Layer] = []
        for encoding in encodings {
            guard let full = encoding.fullBitrate else { return nil }
            let least =
                layers.isEmpty
                ? EncodingTarget.off : Bitrate(bitsPerSecond: full.bitsPerSecond * Self.minimumShare / 100)
            layers.append(BandwidthAllocation.Layer(least: least, most: full))
        }
        return layers
    }

    /// Divides the available bandwidth on the wire between audio and the layers, the lowest first. `audio` is the bit
    /// rate of audio; nil without audio.
    func divide(_ total: Bitrate, audio: Bitrate?) {
        let encodings = subscribedEncodings
        guard let layers = layers(encodings) else {
            // A single encoder limits its bit rate itself.
            if let only = encodings.first, self.encodings.count == 1 {
                let unknown = BandwidthAllocation.Layer(
                    least: EncodingTarget.off, most: Bitrate(bitsPerSecond: .max / 4))
                only.setAllowed(BandwidthAllocation.divide(total, audio: audio, layers: [unknown])[0])
            }
            return
        }
        var shares = BandwidthAllocation.divide(total, audio: audio, layers: layers)
        if layers.count > 1 || self.encodings.count > 1 {
            let video = shares.reduce(0) { $0 + $1.bitsPerSecond }
            let limit = limits.apply(to: Bitrate(bitsPerSecond: video))
            if limit.bitsPerSecond < video {
                let limited = BandwidthAllocation.total(audio: nil, layers: [.init(least: limit, most: limit)])
                shares = BandwidthAllocation.divide(limited, audio: nil, layers: layers)
            }
        }
        for (encoding, share) in zip(encodings, shares) { encoding.setAllowed(share) }
    }

    /// Returns the bandwidth on the wire that the streams would use without a limit; nil before the first frames.
    func total(audio: Bitrate?) -> Bitrate? {
        let encodings = subscribedEncodings
        guard !encodings.isEmpty, let layers = layers(encodings) else { return nil }
        return BandwidthAllocation.total(audio: audio, layers: layers)
    }

    /// Whether video has subscribers, but the available bandwidth is too low for any layer.
    var isCut: Bool {
        let subscribedEncodings = subscribedEncodings
        return !subscribedEncodings.isEmpty && subscribedEncodings.allSatisfy(\.isCut)
    }

    // MARK: Statistics

    /// Adds the encoder's statistics of a layer, by the platform's index, to those of the sent stream.
    func report(layer: Int, into stats: inout RTCOutboundRTPStreamStats) { encoding(layer)?.report(into: &stats) }

    /// The number of frames that the source delivered.
    var framesCaptured: Int { active.map(\.framesCaptured).max() ?? 0 }

    /// Adds the statistics of the encoders. Frame counts are those of the layer with the most frames. The bit rate is
    /// that of all layers with subscribers.
    func report(into statistics: inout PublisherStatistics) {
        let subscribedEncodings = subscribedEncodings
        for encoding in active {
            var own = PublisherStatistics()
            encoding.report(into: &own)
            statistics.framesCaptured = max(statistics.framesCaptured, own.framesCaptured)
            statistics.framesEncoded = max(statistics.framesEncoded, own.framesEncoded)
            statistics.framesDropped += own.framesDropped
            statistics.encodeTime = [statistics.encodeTime, own.encodeTime].compactMap { $0 }.max()
            if subscribedEncodings.contains(where: { $0 === encoding }) {
                statistics.targetBitrate += own.targetBitrate
            }
        }
        statistics.layersEncoded = subscribedEncodings.count
    }
}

/// Divides the available bandwidth: audio first, then the layers of video from the lowest up. Each gets as much as it
/// can use before the next gets anything.
enum BandwidthAllocation {
    /// The range of bit rates that a layer can use.
    struct Layer: Hashable, Sendable {
        /// The bit rate below which the layer is not worth sending.
        var least: Bitrate
        /// The bit rate of the layer in full quality.
        var most: Bitrate
    }

    /// The overhead of an audio packet in bytes: IP, UDP, RTP with its extensions, and the authentication tag of SRTP.
    private static let overhead = 72
    /// The number of audio packets per second.
    private static let audioPackets = 50
    /// The size of a video packet with that overhead, relative to its payload. It allows for small frames, whose
    /// packets are not full.
    private static let videoOverhead = 1.08

    /// Returns the bit rate of each layer's encoder. If a layer gets less than its minimum, it and the layers above it
    /// get nothing.
    ///
    /// - Parameters:
    ///   - total: The available bandwidth on the wire.
    ///   - audio: The bit rate of the audio encoder; nil without audio.
    ///   - layers: The layers, the lowest first.
    /// - Returns: The bit rates in the order of the layers.
    static func divide(_ total: Bitrate, audio: Bitrate?, layers: [Layer]) -> [Bitrate] {
        let wire = total.bitsPerSecond - (audio.map(onWire(audio:)) ?? 0)
        var left = Int64(Double(max(wire, 0)) / videoOverhead)
        var isFull = false
        return layers.enumerated().map { index, layer in
            // The lowest layer gets what remains. Its encoder decides whether that is too little.
            guard !isFull, index == 0 || left >= layer.least.bitsPerSecond else {
                isFull = true
                return Bitrate(bitsPerSecond: 0)
            }
            let share = min(left, layer.most.bitsPerSecond)
            left -= share
            if share < layer.most.bitsPerSecond { isFull = true }
            return Bitrate(bitsPerSecond: share)
        }
    }

    /// Returns the bandwidth on the wire that everything needs in full quality.
    static func total(audio: Bitrate?, layers: [Layer]) -> Bitrate {
        let video = layers.reduce(0) { $0 + $1.most.bitsPerSecond }
        return Bitrate(bitsPerSecond: Int64(Double(video) * videoOverhead) + (audio.map(onWire(audio:)) ?? 0))
    }

    /// Returns the bit rate of audio on the wire, in bits per second.
    private static func onWire(audio: Bitrate) -> Int64 { audio.bitsPerSecond + Int64(audioPackets * overhead * 8) }
}
