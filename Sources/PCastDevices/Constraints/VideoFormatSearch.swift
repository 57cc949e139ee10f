import PCastCore

/// Finds the best format, size and rate of one device.
struct VideoFormatSearch {
    /// The default: 720p at 16:9, as Phenix publishes. The frame rate is 30, and not the 15 of Phenix's web SDK.
    static let standard = (width: 1_280.0, height: 720.0, rate: 30.0)

    private let formats: [CaptureFormat]
    private let isRotated: Bool
    private let prefersCoded: Bool
    private let derivation: FormatDerivation?

    /// The constraints in the sensor's orientation.
    private let width: NumericConstraint
    private let height: NumericConstraint
    private let rate: NumericConstraint

    /// Creates a search. `derivation` is the way in which sizes are derived that the device lacks; nil if it must have
    /// them itself.
    init(
        capabilities: VideoCapabilities, constraintSet: DeviceConstraintSet, prefersCoded: Bool,
        derivation: FormatDerivation? = nil
    ) {
        self.derivation = derivation
        isRotated = capabilities.mountRotation % 2 != 0
        width = NumericConstraint(constraintSet[isRotated ? .height : .width])
        height = NumericConstraint(constraintSet[isRotated ? .width : .height])
        rate = NumericConstraint(constraintSet[.frameRate])
        self.prefersCoded = prefersCoded
        let captured = capabilities.formats.filter { $0.encoding.cost(prefersCoded: prefersCoded) != nil }
        let frames = captured.filter { $0.encoding != .h264 }
        formats = prefersCoded || frames.isEmpty ? captured : frames
    }

    func best() -> VideoFormatChoice? {
        var (best, next): (VideoFormatChoice?, VideoFormatChoice?)
        for format in formats {
            guard let choice = self.choice(of: format) else { continue }
            if let best, best.rank <= choice.rank {
                if next.map({ choice.rank < $0.rank }) ?? true { next = choice }
            } else {
                (best, next) = (choice, best)
            }
        }
        if let best, let next { return best.chosen(over: next) }
        return best
    }

    private func choice(of format: CaptureFormat) -> VideoFormatChoice? {
        guard let (frameRate, rateScore) = bestRate(of: format), let (size, sizeScore) = bestSize(of: format) else {
            return nil
        }
        let (output, perSecond) = (size.output, frameRate.output.perSecond)
        let fits = [
            width.fit(of: Double(output.width)), height.fit(of: Double(output.height)), rate.fit(of: perSecond),
        ]
        let isDerived = size.isDerived || frameRate.isDerived
        return VideoFormatChoice(
            encoding: format.encoding, size: size, delivered: output.turned(by: isRotated ? 1 : 0),
            frameRate: frameRate, fits: fits, score: rateScore + sizeScore,
            deviation: rate.deviation(of: perSecond),
            encodingCost: format.encoding.cost(prefersCoded: prefersCoded && !isDerived) ?? 0)
    }

    private func bestRate(of format: CaptureFormat) -> (DerivedValue<FrameRate>, FitnessScore)? {
        let standard = DeviceConstraint(.number(Self.standard.rate))
        var best: (rate: DerivedValue<FrameRate>, score: FitnessScore, deviation: Double)?
        let native = format.rates.considered(named: rate.named + [Self.standard.rate])
        let derived = derivation == nil ? [] : native.flatMap { FormatDerivation.rates(from: $0, named: rate.named) }
        for candidate in native.map({ DerivedValue(native: $0) }) + derived {
            let perSecond = candidate.output.perSecond
            var score = rate.score(of: perSecond)
            (score.derived, score.loss, score.surplus) = candidate.cost
            score.defaults = rate.capabilityConstraint.isNamed ? 0 : rate.distance(of: perSecond, from: standard)
            let deviation = FitnessDistance.comparable(rate.deviation(of: perSecond))
            if let best,
                (best.score, best.deviation, -best.rate.output.perSecond) <= (score, deviation, -perSecond)
            {
                continue
            }
            best = (candidate, score, deviation)
        }
        return best.map { ($0.rate, $0.score) }
    }

    private func bestSize(of format: CaptureFormat) -> (DerivedValue<Dimensions>, FitnessScore)? {
        let isShaped = width.capabilityConstraint.isNamed != height.capabilityConstraint.isNamed
        let native = format.sizes.considered(
            widths: width.named + [Self.standard.width], heights: height.named + [Self.standard.height],
            aspect: isShaped ? Self.standard.width / Self.standard.height : nil)
        let derived = native.flatMap { derivation?.sizes(from: $0, widths: width.named, heights: height.named) ?? [] }
        var best: (size: DerivedValue<Dimensions>, score: FitnessScore)?
        for size in native.map({ DerivedValue(native: $0) }) + derived {
            let output = size.output
            var score = width.score(of: Double(output.width)) + height.score(of: Double(output.height))
            (score.derived, score.loss, score.surplus) = size.cost
            score.defaults = distanceFromStandard(output)
            if let best, (best.score, -best.size.output.area) <= (score, -output.area) { continue }
            best = (size, score)
        }
        return best
    }

    /// Returns the distance from 1280x720, or from 16:9 if only one side is named; 0 if both are.
    private func distanceFromStandard(_ size: Dimensions) -> Double {
        let (across, down) = (Double(size.width), Double(size.height))
        return switch (width.capabilityConstraint.isNamed, height.capabilityConstraint.isNamed) {
        case (false, false):
            FitnessDistance.between(across, Self.standard.width) + FitnessDistance.between(down, Self.standard.height)
        case (true, true): 0
        default: FitnessDistance.between(across / down, Self.standard.width / Self.standard.height)
        }
    }
}

extension Dimensions {
    /// The area in pixels, without overflow.
    var area: Double { Double(width) * Double(height) }
}

extension CaptureFormat.Rates {
    /// Returns the rates that can be optimal: those of a list, or the bounds of a range and the named values within it.
    func considered(named: [Double]) -> [FrameRate] {
        switch self {
        case .discrete(let rates):
            return rates
        case .range(let one, let other, _):
            let (slowest, fastest) = one.perSecond <= other.perSecond ? (one, other) : (other, one)
            let between = named.filter { $0 > slowest.perSecond && $0 < fastest.perSecond }
            return [slowest, fastest] + between.map { FrameRate(near: $0) }
        }
    }
}

extension FrameRate {
    /// Creates the fraction that a decimal number stands for: 29.97 is 30000/1001.
    init(near perSecond: Double) {
        let whole = perSecond.rounded()
        if perSecond == whole || whole >= 1e6 {
            self.init(Int(min(max(whole, 1), 1e6)))
        } else if abs(perSecond - whole * 1_000 / 1_001) < 0.005, whole > 1 {
            self.init(Int(whole) * 1_000, 1_001)
        } else {
            self.init(max(Int((perSecond * 1_000).rounded()), 1), 1_000)
        }
    }
}

extension CaptureFormat.Sizes {
    /// Returns the sizes that can be optimal. A fitness distance has its minima at the bounds of a range and at the
    /// named values, because it is concave between them. `widths` and `heights` are the named values in the sensor's
    /// orientation. `aspect` is the ratio of width to height if the side that is not named follows the other one.
    func considered(widths: [Double], heights: [Double], aspect: Double?) -> [Dimensions] {
        switch self {
        case .discrete(let size):
            return size.width > 0 && size.height > 0 ? [size] : []
        case .stepwise(let smallest, let largest, let step):
            let across = SizeRange(smallest.width, largest.width, step: step.width)
            let down = SizeRange(smallest.height, largest.height, step: step.height)
            guard let across, let down else { return [] }
            var (columns, rows) = (across.considered(widths), down.considered(heights))
            if let aspect {
                let (before, beside) = (columns, rows)
                rows.formUnion(before.flatMap { down.nearest(Double($0) / aspect) })
                columns.formUnion(beside.flatMap { across.nearest(Double($0) * aspect) })
            }
            let sorted = rows.sorted()
            return columns.sorted().flatMap { width in sorted.map { Dimensions(width: width, height: $0) } }
        }
    }
}

/// A range of widths or heights with a step.
private struct SizeRange {
    /// The maximum width or height in pixels. It exceeds that of each sensor. The sum of two such values does not
    /// overflow.
    private static let largest = 1 << 24

    let smallest: Int
    let steps: Int
    let step: Int

    /// Returns nil for an invalid range.
    init?(_ smallest: Int, _ largest: Int, step: Int) {
        guard smallest > 0, largest >= smallest, smallest <= Self.largest else { return nil }
        self.smallest = smallest
        self.step = step > 0 ? min(step, Self.largest) : 1
        steps = (min(largest, Self.largest) - smallest) / self.step
    }

    private subscript(index: Int) -> Int { smallest + index * step }

    func considered(_ named: [Double]) -> Set<Int> {
        Set([self[0], self[steps]] + named.flatMap(nearest))
    }

    /// Returns the two values of the range that are nearest to a number.
    func nearest(_ number: Double) -> [Int] {
        let index = (number - Double(smallest)) / Double(step)
        guard index > 0 else { return [self[0]] }
        guard index < Double(steps) else { return [self[steps]] }
        let below = Int(index)
        return [self[below], self[min(below + 1, steps)]]
    }
}

/// A format, a size and a frame rate of a camera.
struct VideoFormatChoice: Sendable {
    let encoding: CaptureEncoding
    let size: DerivedValue<Dimensions>

    /// The size after scaling and rotation.
    let delivered: Dimensions
    let frameRate: DerivedValue<FrameRate>

    /// The fitness of width, height and frame rate.
    let fits: [CapabilityFit]
    let score: FitnessScore

    /// The distance of the rate without tolerance.
    let deviation: Double
    let encodingCost: Int

    /// The reason for this format over the device's second best, for display; nil if there is only one.
    var reason: String?

    var rank: FitnessRank {
        var rank = FitnessRank()
        rank.unmetDemands = score.unmetDemands
        rank.missed = score.missed
        rank.distance = score.distance
        rank.derived = score.derived
        rank.loss = score.loss
        rank.defaults = score.defaults
        rank.surplus = score.surplus
        rank.encodingCost = encodingCost
        rank.area = size.output.area
        rank.deviation = deviation
        rank.rate = frameRate.output.perSecond
        return rank
    }

    func chosen(over next: VideoFormatChoice) -> VideoFormatChoice {
        var choice = self
        choice.reason = "rather than \(next): \(rank.advantage(over: next.rank))"
        return choice
    }
}

extension VideoFormatChoice: CustomStringConvertible {
    var description: String {
        let text = "\(delivered) at \(ConstraintNumber.rounded(frameRate.output.perSecond)), \(encoding.name)"
        guard size.isDerived || frameRate.isDerived else { return text }
        return text + " of \(size.native) at \(ConstraintNumber.rounded(frameRate.native.perSecond))"
    }
}

extension CaptureEncoding {
    /// Returns the relative CPU cost from the camera to the encoder. Encoders read I420 directly, and NV12 directly or
    /// after separating its chroma. YUYV is converted, MJPEG is decoded, and decoding H.264 costs more. With
    /// `prefersCoded`, H.264 is passed through. Returns nil for encodings that cannot be captured.
    func cost(prefersCoded: Bool) -> Int? {
        switch self {
        case .computed: 0
        case .i420: 1
        case .nv12: 2
        case .yuyv: 3
        case .mjpeg: 4
        case .h264: prefersCoded ? -1 : 5
        // GREY is the format of infrared cameras for face recognition, which are not meant as cameras.
        case .other("GREY"): nil
        case .other: isCapturable ? 3 : nil
        }
    }
}
