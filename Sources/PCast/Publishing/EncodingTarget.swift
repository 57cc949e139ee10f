import PCastCore

/// What an encoder makes of its pictures for the rate that it is given: first the bitrate goes down, then the frame
/// rate, then the size, and back up in reverse; at the lowest rates nothing is made at all.
///
/// Down at once, up by steps of a tenth and a second apart, so that the picture does not pulse with each estimate
/// (CC13); up to more pictures or larger ones once the rate has been enough for that for two seconds.
struct EncodingTarget: Sendable {
    /// What is to be made.
    struct Output: Hashable, Sendable {
        var bitrate: Bitrate
        /// Pictures a second.
        var frameRate: Double
        var dimensions: Dimensions
    }

    /// Pictures as they come, and what is spent on them at most.
    struct Source: Hashable, Sendable {
        var dimensions: Dimensions
        var frameRate: Double
        var bitrate: Bitrate
    }

    /// Shares of the frame rate and of width and height, each step cheaper than the one before.
    private static let steps: [(frames: Double, size: Double)] = [
        (1, 1), (2.0 / 3, 1), (0.5, 1), (0.5, 0.75), (0.5, 0.5), (0.5, 0.375), (0.5, 0.25),
    ]
    /// Bits that a pixel needs at least to be worth looking at, with libx264's fast presets.
    private static let leastBitsPerPixel = 0.02
    /// A step up needs so much more than that.
    private static let margin = 1.4
    /// Below the first there is no picture; above the second there is again.
    static let off = Bitrate.kilobits(100)
    static let on = Bitrate.kilobits(150)
    private static let upInterval = TimeSpan.seconds(1 as Int64)
    private static let upShare = 1.1
    private static let stepPatience = TimeSpan.seconds(2 as Int64)
    /// Smaller pictures are not made; the height of the smallest step of the ladder.
    private static let leastHeight = 90

    private var source: Source?
    private var step = 0
    private var isOff = false
    private var bitrate = Bitrate(bitsPerSecond: 0)
    private var raisedAt: Instant?
    private var enoughSince: Instant?

    init() {}

    /// What is to be made of a picture now; nil for nothing.
    ///
    /// - Parameter allowed: what may be spent; nil while nobody says.
    mutating func output(for source: Source, allowed: Bitrate?, at now: Instant) -> Output? {
        if self.source != source { start(source) }
        let given = min(allowed ?? source.bitrate, source.bitrate)
        // A source that never gets more than a little is not switched off for it.
        let threshold = min(isOff ? Self.on : Self.off, source.bitrate)
        guard given >= threshold else {
            isOff = true
            return nil
        }
        if isOff {
            isOff = false
            bitrate = given
            step = lowestStep(for: given)
            enoughSince = nil
        }
        follow(given, limit: source.bitrate, at: now)
        choose(at: now)
        return Output(
            bitrate: bitrate, frameRate: source.frameRate * Self.steps[step].frames, dimensions: dimensions(at: step))
    }

    private mutating func start(_ source: Source) {
        let isFirst = self.source == nil
        self.source = source
        if isFirst {
            bitrate = source.bitrate
        } else {
            step = min(step, lastStep)
        }
        bitrate = min(bitrate, source.bitrate)
    }

    private mutating func follow(_ given: Bitrate, limit: Bitrate, at now: Instant) {
        if given <= bitrate {
            bitrate = given
            return
        }
        let isStep = Double(given.bitsPerSecond) >= Self.upShare * Double(bitrate.bitsPerSecond) || given == limit
        guard isStep, raisedAt.map({ now - $0 >= Self.upInterval }) ?? true else { return }
        bitrate = given
        raisedAt = now
    }

    private mutating func choose(at now: Instant) {
        let lowest = lowestStep(for: bitrate)
        if lowest > step {
            step = lowest
            enoughSince = nil
            return
        }
        guard step > 0, Double(bitrate.bitsPerSecond) >= Self.margin * need(step - 1) else {
            enoughSince = nil
            return
        }
        let since = enoughSince ?? now
        enoughSince = since
        guard now - since >= Self.stepPatience else { return }
        step -= 1
        enoughSince = nil
    }

    /// The first step that the rate is enough for; the last where none is.
    private func lowestStep(for bitrate: Bitrate) -> Int {
        (0..<lastStep).first { need($0) <= Double(bitrate.bitsPerSecond) } ?? lastStep
    }

    private var lastStep: Int {
        (0..<Self.steps.count).last { dimensions(at: $0).height >= Self.leastHeight } ?? 0
    }

    /// Bits a second that a step needs; no more than the whole source gets.
    private func need(_ step: Int) -> Double {
        guard let source else { return 0 }
        let dimensions = dimensions(at: step)
        let pixels = Double(dimensions.width * dimensions.height) * source.frameRate * Self.steps[step].frames
        let share = Self.steps[step].frames * Self.steps[step].size * Self.steps[step].size
        return min(pixels * Self.leastBitsPerPixel, 0.6 * Double(source.bitrate.bitsPerSecond) * share)
    }

    /// Even, as encoders want it.
    private func dimensions(at step: Int) -> Dimensions {
        guard let source else { return Dimensions(width: 0, height: 0) }
        let size = Self.steps[step].size
        guard size < 1 else { return source.dimensions }
        return Dimensions(
            width: max(Int(Double(source.dimensions.width) * size) / 2 * 2, 2),
            height: max(Int(Double(source.dimensions.height) * size) / 2 * 2, 2))
    }
}
