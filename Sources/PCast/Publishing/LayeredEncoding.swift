import PCastCodecs
import PCastCore
import PCastDevices
import Synchronization

/// The encoders of one picture: one, or one for each layer, each on a thread of its own and each scaling for itself, so
/// that a layer that nobody takes costs nothing.
final class LayeredEncoding: Sendable {
    /// How much smaller than the picture each layer is, the lowest first: 180p, 360p and 720p of 720p.
    private static let reductions = [1: [1], 2: [2, 1], 3: [4, 2, 1]]

    /// How many layers the platform takes; the highest alone where it is one. Read on the encoders' threads.
    private final class TakenCount: Sendable {
        private let count: Atomic<Int>

        init(_ count: Int) { self.count = Atomic(count) }

        var value: Int { count.load(ordering: .relaxed) }

        func set(_ value: Int) { count.store(value, ordering: .relaxed) }
    }

    /// The lowest first.
    private let encodings: [VideoEncoding]
    private let limits: BandwidthLimits
    private let taken: TakenCount
    /// What nobody takes, by the platform's numbering.
    private let resting = Mutex<Set<Int>>([])

    /// - Parameters:
    ///   - layers: one to three.
    ///   - options: its bitrate is the highest layer's.
    ///   - keyFrameNeeded: asks a source that codes its pictures itself for one that can be decoded alone; must not block.
    ///   - encoded: is called on the encoders' threads, with the layer as the platform numbers it.
    ///   - failed: is called at most once for each layer, with words for people.
    init(
        layers: Int, options: PublishOptions, frameRate: Double, limits: BandwidthLimits,
        keyFrameNeeded: @escaping @Sendable () -> Void = {},
        encoded: @escaping @Sendable (EncodedFrame, _ layer: Int) -> Void,
        failed: @escaping @Sendable (String) -> Void
    ) {
        precondition((1...3).contains(layers), "a stream has one to three layers")
        let reductions = Self.reductions[layers]!
        let taken = TakenCount(layers)
        encodings = reductions.enumerated().map { index, reduction in
            VideoEncoding(
                codec: options.videoCodec, encoder: options.videoEncoder,
                bitrate: reduction == 1 ? options.videoBitrate : nil, reducedBy: reduction, frameRate: frameRate,
                limits: layers == 1 ? limits : BandwidthLimits(), keyFrameNeeded: keyFrameNeeded,
                encoded: { frame in encoded(frame, taken.value == 1 ? 0 : index) }, failed: failed)
        }
        self.limits = limits
        self.taken = taken
    }

    /// - Parameter count: how many layers the platform takes, as many as were offered or one.
    func start(taken count: Int) throws(PCastError) {
        let count = count == encodings.count ? count : 1
        taken.set(count)
        for encoding in active { try encoding.start() }
    }

    /// Those that the platform takes, by its numbering.
    private var active: ArraySlice<VideoEncoding> { encodings.suffix(taken.value) }

    private func encoding(_ layer: Int) -> VideoEncoding? {
        let active = active
        let index = active.startIndex + layer
        return active.indices.contains(index) ? active[index] : nil
    }

    /// Lets the encoders' threads end after the pictures that they are at, and waits for that.
    func stop() {
        for encoding in encodings { encoding.stop() }
    }

    /// Called by one thread at a time.
    func push(_ sample: VideoSample) {
        for encoding in active { encoding.push(sample) }
    }

    /// A picture is held back on purpose.
    func leaveOut(_ sample: VideoSample) {
        for encoding in active { encoding.leaveOut(sample) }
    }

    // MARK: What is wanted

    /// The next picture of a layer is encoded as one that can be decoded alone; nil for all layers.
    func requestKeyFrame(layer: Int? = nil) {
        if let layer { return encoding(layer)?.requestKeyFrame() ?? () }
        for encoding in active { encoding.requestKeyFrame() }
    }

    /// Nobody takes a layer, or somebody does again; nil for all layers.
    ///
    /// - Returns: whether nobody takes any.
    @discardableResult
    func setResting(_ isResting: Bool, layer: Int? = nil) -> Bool {
        let count = taken.value
        let layers = layer.map { [$0] } ?? Array(0..<count)
        let all = resting.withLock { resting in
            if isResting { resting.formUnion(layers) } else { resting.subtract(layers) }
            return resting.count == count
        }
        for layer in layers { encoding(layer)?.setResting(isResting) }
        return all
    }

    // MARK: Bandwidth

    /// Those that somebody takes.
    private var wanted: [VideoEncoding] {
        let resting = resting.withLock { $0 }
        return active.enumerated().filter { !resting.contains($0.offset) }.map(\.element)
    }

    /// A layer above the lowest is of no use with less than this share of what it should have, in percent.
    private static let leastShare: Int64 = 60

    /// What the encoders that somebody needs can use, the lowest first; nil before their first pictures.
    private func layers(_ encodings: [VideoEncoding]) -> [BandwidthAllocation.Layer]? {
        var layers: [BandwidthAllocation.Layer] = []
        for encoding in encodings {
            guard let full = encoding.fullBitrate else { return nil }
            let least =
                layers.isEmpty ? EncodingTarget.off : Bitrate(bitsPerSecond: full.bitsPerSecond * Self.leastShare / 100)
            layers.append(BandwidthAllocation.Layer(least: least, most: full))
        }
        return layers
    }

    /// Gives each layer its share of what the path carries, the lowest first.
    ///
    /// - Parameter total: bits a second on the wire, for all tracks.
    func divide(_ total: Bitrate, sound: Bitrate?) {
        let encodings = wanted
        guard let layers = layers(encodings) else {
            // A single one finds out by itself.
            if let only = encodings.first, self.encodings.count == 1 {
                let unknown = BandwidthAllocation.Layer(
                    least: EncodingTarget.off, most: Bitrate(bitsPerSecond: .max / 4))
                only.setAllowed(BandwidthAllocation.divide(total, sound: sound, layers: [unknown])[0])
            }
            return
        }
        var shares = BandwidthAllocation.divide(total, sound: sound, layers: layers)
        if layers.count > 1 || self.encodings.count > 1 {
            let video = shares.reduce(0) { $0 + $1.bitsPerSecond }
            let limit = limits.apply(to: Bitrate(bitsPerSecond: video))
            if limit.bitsPerSecond < video {
                let limited = BandwidthAllocation.total(sound: nil, layers: [.init(least: limit, most: limit)])
                shares = BandwidthAllocation.divide(limited, sound: nil, layers: layers)
            }
        }
        for (encoding, share) in zip(encodings, shares) { encoding.setAllowed(share) }
    }

    /// What would pass on the wire if nothing held it back; nil before the first pictures.
    func total(sound: Bitrate?) -> Bitrate? {
        let encodings = wanted
        guard !encodings.isEmpty, let layers = layers(encodings) else { return nil }
        return BandwidthAllocation.total(sound: sound, layers: layers)
    }

    /// Whether somebody takes pictures and there is no room for any.
    var isCut: Bool {
        let wanted = wanted
        return !wanted.isEmpty && wanted.allSatisfy(\.isCut)
    }

    // MARK: Statistics

    /// Puts what was encoded of a layer, by the platform's numbering, beside what was sent of it.
    func report(layer: Int, into stats: inout RTCOutboundRTPStreamStats) { encoding(layer)?.report(into: &stats) }

    /// Pictures that came from the source.
    var framesCaptured: Int { active.map(\.framesCaptured).max() ?? 0 }

    /// Pictures of the layer that made the most, bits of all that somebody takes.
    func report(into statistics: inout PublisherStatistics) {
        let wanted = wanted
        for encoding in active {
            var own = PublisherStatistics()
            encoding.report(into: &own)
            statistics.framesCaptured = max(statistics.framesCaptured, own.framesCaptured)
            statistics.framesEncoded = max(statistics.framesEncoded, own.framesEncoded)
            statistics.framesDropped += own.framesDropped
            statistics.encodeTime = [statistics.encodeTime, own.encodeTime].compactMap { $0 }.max()
            if wanted.contains(where: { $0 === encoding }) { statistics.targetBitrate += own.targetBitrate }
        }
        statistics.layersEncoded = wanted.count
    }
}
