import CV4L2
import PCastCore

/// Enumerates the formats of a camera, with bounds on what a driver reports.
struct CameraFormats {
    /// The limits. No driver exceeds them: vivid, which has the most, lists about 75 formats with 6 sizes each.
    private static let formatLimit: UInt32 = 128
    private static let sizeLimit: UInt32 = 128
    private static let rateLimit: UInt32 = 64
    private static let total = 4_096

    /// Common sizes. For a range of sizes, their frame rates are listed individually, because larger frames are often
    /// slower.
    private static let typical = [(320, 180), (640, 360), (640, 480), (1_280, 720), (1_920, 1_080), (3_840, 2_160)].map
    {
        Dimensions(width: $0.0, height: $0.1)
    }

    let node: VideoNode

    /// Returns the pixel formats in the driver's order of preference.
    func codes() -> [FourCC] {
        var codes: [FourCC] = []
        for index in 0..<Self.formatLimit {
            var description = v4l2_fmtdesc()
            description.index = index
            description.type = cv4l2_type(node.isMultiplanar)
            guard node.ask(CV4L2_ENUM_FMT, &description) == 0 else { break }
            let code = FourCC(description.pixelformat)
            if !codes.contains(code) { codes.append(code) }
        }
        return codes
    }

    /// Returns the formats with their sizes and frame rates.
    func list() -> [CaptureFormat] {
        var formats: [CaptureFormat] = []
        for code in codes() where formats.count < Self.total {
            for sizes in sizes(of: code) { formats.append(contentsOf: expanded(code, sizes)) }
        }
        return Array(formats.prefix(Self.total))
    }

    private func sizes(of code: FourCC) -> [CaptureFormat.Sizes] {
        var sizes: [CaptureFormat.Sizes] = []
        for index in 0..<Self.sizeLimit {
            var answer = v4l2_frmsizeenum()
            answer.index = index
            answer.pixel_format = code.code
            guard node.ask(CV4L2_ENUM_FRAMESIZES, &answer) == 0 else { break }
            guard answer.type == V4L2_FRMSIZE_TYPE_DISCRETE.rawValue else {
                if let range = Self.range(answer.stepwise) { sizes.append(range) }
                break
            }
            let size = Dimensions(width: Int(answer.discrete.width), height: Int(answer.discrete.height))
            if Self.isPossible(size), !sizes.contains(.discrete(size)) { sizes.append(.discrete(size)) }
        }
        // Drivers with a single size enumerate none.
        return sizes.isEmpty ? currentSize().map { [.discrete($0)] } ?? [] : sizes
    }

    private func currentSize() -> Dimensions? {
        var format = cv4l2_format()
        guard cv4l2_get_format(node.descriptor, node.isMultiplanar, &format) == 0 else { return nil }
        let size = Dimensions(width: Int(format.width), height: Int(format.height))
        return Self.isPossible(size) ? size : nil
    }

    private func expanded(_ code: FourCC, _ sizes: CaptureFormat.Sizes) -> [CaptureFormat] {
        func format(_ sizes: CaptureFormat.Sizes, ratesAt size: Dimensions) -> CaptureFormat {
            CaptureFormat(encoding: code.encoding, sizes: sizes, rates: rates(of: code, at: size))
        }
        switch sizes {
        case .discrete(let size): return [format(sizes, ratesAt: size)]
        case .stepwise(let smallest, let largest, let step):
            let range = format(sizes, ratesAt: largest)
            let typical = Self.typical.filter { Self.contains($0, smallest, largest, step) && $0 != largest }
            return [range] + typical.map { format(.discrete($0), ratesAt: $0) }.filter { $0.rates != range.rates }
        }
    }

    private func rates(of code: FourCC, at size: Dimensions) -> CaptureFormat.Rates {
        var rates: [FrameRate] = []
        for index in 0..<Self.rateLimit {
            var answer = v4l2_frmivalenum()
            answer.index = index
            answer.pixel_format = code.code
            answer.width = UInt32(size.width)
            answer.height = UInt32(size.height)
            guard node.ask(CV4L2_ENUM_FRAMEINTERVALS, &answer) == 0 else { break }
            guard answer.type == V4L2_FRMIVAL_TYPE_DISCRETE.rawValue else {
                // The shortest interval is the highest rate.
                guard let fastest = FrameRate(interval: answer.stepwise.min),
                    let slowest = FrameRate(interval: answer.stepwise.max)
                else { break }
                return .range(
                    slowest: min(slowest, fastest), fastest: max(slowest, fastest),
                    isContinuous: answer.type == V4L2_FRMIVAL_TYPE_CONTINUOUS.rawValue)
            }
            if let rate = FrameRate(interval: answer.discrete), !rates.contains(rate) { rates.append(rate) }
        }
        return .discrete(rates.isEmpty ? [currentRate()] : rates.sorted(by: >))
    }

    /// Returns the current rate for drivers that enumerate none, or 30, the rate of most sensors.
    private func currentRate() -> FrameRate {
        var (interval, canBeSet) = (v4l2_fract(), Int32(0))
        let error = cv4l2_get_interval(
            node.descriptor, node.isMultiplanar, &interval.numerator, &interval.denominator, &canBeSet)
        return (error == 0 ? FrameRate(interval: interval) : nil) ?? FrameRate(30)
    }

    private static func range(_ stepwise: v4l2_frmsize_stepwise) -> CaptureFormat.Sizes? {
        let limit = largestSide
        let smallest = Dimensions(width: Int(max(stepwise.min_width, 2)), height: Int(max(stepwise.min_height, 2)))
        let largest = Dimensions(
            width: min(Int(stepwise.max_width), limit), height: min(Int(stepwise.max_height), limit))
        guard smallest.width <= largest.width, smallest.height <= largest.height else { return nil }
        let step = Dimensions(width: Int(max(stepwise.step_width, 1)), height: Int(max(stepwise.step_height, 1)))
        return smallest == largest ? .discrete(largest) : .stepwise(smallest: smallest, largest: largest, step: step)
    }

    private static func contains(
        _ size: Dimensions, _ smallest: Dimensions, _ largest: Dimensions, _ step: Dimensions
    ) -> Bool {
        (smallest.width...largest.width).contains(size.width)
            && (smallest.height...largest.height).contains(size.height)
            && (size.width - smallest.width) % step.width == 0 && (size.height - smallest.height) % step.height == 0
    }

    private static let largestSide = 16_384

    /// Returns whether a frame can have this size.
    static func isPossible(_ size: Dimensions) -> Bool {
        (2...largestSide).contains(size.width) && (2...largestSide).contains(size.height)
    }
}
