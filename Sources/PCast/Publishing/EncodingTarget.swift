import PCastCore

/// Adapts an encoder to the available bit rate. First the bit rate is reduced, then the frame rate, then the size, and
/// they rise in the reverse order. At the lowest bit rates the encoder pauses.
///
/// The target falls at once. It rises only by at least a tenth and at most once per second, so that the quality does
/// not oscillate with each estimate. The frame rate and the size rise after the bit rate has been sufficient for two
/// seconds.
struct EncodingTarget: Sendable {
    /// The parameters of the encoder.
    struct Output: Hashable, Sendable {
        var bitrate: Bitrate
        /// The frame rate in frames per second.
        var frameRate: Double
        var dimensions: Dimensions
    }

    /// The frames of the source, and their maximum bit rate.
    struct Source: Hashable, Sendable {
        var dimensions: Dimensions
        var frameRate: Double
        var bitrate: Bitrate
    }

    /// The factors of the frame rate and of width and height. Each step needs less bit rate than the one before.
    private static let steps: [(frames: Double, size: Double)] = [
        (1, 1), (2.0 / 3, 1), (0.5, 1), (0.5, 0.75), (0.5, 0.5), (0.5, 0.375), (0.5, 0.25),
    ]
    /// The minimum bits per pixel for an acceptable quality with libx264's fast presets.
    private static let minimumBitsPerPixel = 0.02
    /// The factor of the required bit rate at which a higher step is taken.
    private static let margin = 1.4
    /// The bit rate below which the encoder pauses.
    static let off = Bitrate.kilobits(100)
    /// The bit rate at which it resumes.
    static let on = Bitrate.kilobits(150)
    /// The minimum interval between increases of the bit rate.
    private static let upInterval = TimeSpan.seconds(1 as Int64)
    /// The minimum factor of an increase.
    private static let upShare = 1.1
    /// The time for which the bit rate has to be sufficient for a higher step.
    private static let stepUpDelay = TimeSpan.seconds(2 as Int64)
    /// The minimum height, which is that of the smallest step of the ladder.
    private static let minimumHeight = 90

    private var source: Source?
    private var step = 0
    private var isOff = false
    private var bitrate = Bitrate(bitsPerSecond: 0)
    private var raisedAt: Instant?
    private var enoughSince: Instant?

    init() {}

    /// Returns the parameters for the next frame; nil if it is not encoded. `allowed` is the available bit rate; nil
    /// before there is an estimate.
    mutating func output(for source: Source, allowed: Bitrate?, at now: Instant) -> Output? {
        if self.source != source { start(source) }
        let availableBitrate = min(allowed ?? source.bitrate, source.bitrate)
        // A source with a low maximum bit rate is not paused because of it.
        let threshold = min(isOff ? Self.on : Self.off, source.bitrate)
        guard availableBitrate >= threshold else {
            isOff = true
            return nil
        }
        if isOff {
            isOff = false
            bitrate = availableBitrate
            step = lowestStep(for: availableBitrate)
            enoughSince = nil
        }
        follow(availableBitrate, limit: source.bitrate, at: now)
        choose(at: now)
        return Output(
            bitrate: bitrate, frameRate: source.frameRate * Self.steps[step].frames, dimensions: dimensions(at: step))
    }

    /// Begins with another source. The step stays as far as the source has it.
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

    /// Lowers the bit rate at once, or raises it if the increase is large enough and due.
    private mutating func follow(_ availableBitrate: Bitrate, limit: Bitrate, at now: Instant) {
        if availableBitrate <= bitrate {
            bitrate = availableBitrate
            return
        }
        let isStep =
            Double(availableBitrate.bitsPerSecond) >= Self.upShare * Double(bitrate.bitsPerSecond)
            || availableBitrate == limit
        guard isStep, raisedAt.map({ now - $0 >= Self.upInterval }) ?? true else { return }
        bitrate = availableBitrate
        raisedAt = now
    }

    /// Chooses the step for the bit rate.
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
        guard now - since >= Self.stepUpDelay else { return }
        step -= 1
        enoughSince = nil
    }

    /// Returns the first step for which the bit rate is sufficient; the last step if there is none.
    private func lowestStep(for bitrate: Bitrate) -> Int {
        (0..<lastStep).first { need($0) <= Double(bitrate.bitsPerSecond) } ?? lastStep
    }

    /// The last step whose frames are not too small.
    private var lastStep: Int {
        (0..<Self.steps.count).last { dimensions(at: $0).height >= Self.minimumHeight } ?? 0
    }

    /// Returns the bit rate that a step needs, in bits per second. It is limited by the maximum of the source.
    private func need(_ step: Int) -> Double {
        guard let source else { return 0 }
        let dimensions = dimensions(at: step)
        let pixels = Double(dimensions.width * dimensions.height) * source.frameRate * Self.steps[step].frames
        let share = Self.steps[step].frames * Self.steps[step].size * Self.steps[step].size
        return min(pixels * Self.minimumBitsPerPixel, 0.6 * Double(source.bitrate.bitsPerSecond) * share)
    }

    /// Returns the dimensions at a step, which are even because encoders require that.
    private func dimensions(at step: Int) -> Dimensions {
        guard let source else { return Dimensions(width: 0, height: 0) }
        let size = Self.steps[step].size
        guard size < 1 else { return source.dimensions }
        return Dimensions(
            width: max(Int(Double(source.dimensions.width) * size) / 2 * 2, 2),
            height: max(Int(Double(source.dimensions.height) * size) / 2 * 2, 2))
    }
}
