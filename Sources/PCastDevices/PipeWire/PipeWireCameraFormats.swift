import PCastCodecs
import PCastCore

/// The formats of a camera of PipeWire: parameters to capabilities, and a configuration to a parameter.
package enum PipeWireCameraFormats {
    private typealias Key = PipeWireVideoFormat.Key

    /// The most formats of a camera that are listed.
    package static let maximum = 1_024

    /// The frame rates of a camera that states none.
    private static let standardRates = CaptureFormat.Rates.range(
        slowest: FrameRate(1), fastest: FrameRate(30), isContinuous: true)

    /// The largest numerator and denominator of a frame rate.
    private static let largestTerm: UInt32 = 1_000_000

    // MARK: Reading

    /// Returns the formats that a camera's parameters offer. The parameters are read with their choices. Formats that
    /// cannot be captured are left out.
    package static func list(_ pods: [PipeWirePod]) -> [CaptureFormat] {
        var formats: [CaptureFormat] = []
        for pod in pods where pod.type == Key.format && pod.properties[Key.mediaType] == .id(Key.video) {
            let rates = rates(pod.properties[Key.frameRate])
            for encoding in encodings(pod) {
                for sizes in sizes(pod.properties[Key.size]) {
                    let format = CaptureFormat(encoding: encoding, sizes: sizes, rates: rates)
                    guard !formats.contains(format) else { continue }
                    guard formats.count < maximum else { return formats }
                    formats.append(format)
                }
            }
        }
        return formats
    }

    private static func encodings(_ pod: PipeWirePod) -> [CaptureEncoding] {
        switch pod.properties[Key.mediaSubtype] {
        case .id(Key.jpeg): [.mjpeg]
        case .id(Key.raw):
            alternatives(pod.properties[Key.pixels]).compactMap { value in
                guard case .id(let id) = value else { return nil }
                return PipeWireVideoFormat.accepted.first { $0.id == id }.map { encoding(of: $0.pixels) }
            }
        default: []
        }
    }

    private static func sizes(_ value: PipeWirePod.Value?) -> [CaptureFormat.Sizes] {
        if case .range(_, .rectangle(let leastWidth, let leastHeight), .rectangle(let mostWidth, let mostHeight)) =
            value
        {
            let side = UInt32(PipeWireVideoFormat.longestSide)
            let least = Dimensions(width: even(max(2, leastWidth)), height: even(max(2, leastHeight)))
            let most = Dimensions(
                width: Int(min(side, mostWidth) & ~1), height: Int(min(side, mostHeight) & ~1))
            guard least.width <= most.width, least.height <= most.height else { return [] }
            return [.stepwise(smallest: least, largest: most, step: Dimensions(width: 2, height: 2))]
        }
        return alternatives(value).compactMap { value in
            guard case .rectangle(let width, let height) = value else { return nil }
            let sides = [width, height]
            // Frames have even sides, because their chroma is subsampled.
            guard sides.allSatisfy({ (2...UInt32(PipeWireVideoFormat.longestSide)).contains($0) && $0 % 2 == 0 }) else {
                return nil
            }
            return .discrete(Dimensions(width: Int(width), height: Int(height)))
        }
    }

    private static func even(_ side: UInt32) -> Int { (Int(side) + 1) & ~1 }

    private static func rates(_ value: PipeWirePod.Value?) -> CaptureFormat.Rates {
        if case .range(_, let least, let most) = value {
            guard let fastest = rate(most) else { return standardRates }
            // A rate that is not constant begins with 0.
            let slowest = rate(least) ?? min(FrameRate(1), fastest)
            return .range(slowest: min(slowest, fastest), fastest: fastest, isContinuous: true)
        }
        let rates = Set(alternatives(value).compactMap(rate)).sorted(by: >)
        return rates.isEmpty ? standardRates : .discrete(rates)
    }

    private static func rate(_ value: PipeWirePod.Value) -> FrameRate? {
        guard case .fraction(let numerator, let denominator) = value, (1...largestTerm).contains(numerator),
            (1...largestTerm).contains(denominator)
        else { return nil }
        return FrameRate(Int(numerator), Int(denominator))
    }

    private static func alternatives(_ value: PipeWirePod.Value?) -> [PipeWirePod.Value] {
        switch value {
        case .anyOf(let values): values
        case .range, nil: []
        case .some(let value): [value]
        }
    }

    // MARK: Writing

    /// Returns the parameter of the format that a configuration requests. Without an encoding, it is the cheapest one of
    /// these formats. Returns nil if there is none.
    static func offer(_ configuration: VideoConfiguration, of formats: [CaptureFormat]) -> PipeWirePod? {
        let encoding =
            configuration.encoding == .computed
            ? EncodingChoice(configuration).best(of: formats) : configuration.encoding
        guard let encoding else { return nil }
        let size = configuration.dimensions
        let rate = configuration.frameRate
        let preferred = PipeWirePod.Value.fraction(
            UInt32(clamping: rate.numerator), UInt32(clamping: rate.denominator))
        let isListed = formats.contains { format in
            guard case .discrete(let rates) = format.rates else { return false }
            return format.encoding == encoding && format.sizes == .discrete(size) && rates.contains(rate)
        }
        let common: KeyValuePairs<UInt32, PipeWirePod.Value> = [
            Key.size: .rectangle(UInt32(size.width), UInt32(size.height)),
            // A rate that is not listed is only preferred: the camera may not be able to deliver it.
            Key.frameRate: isListed ? preferred : .range(preferred, .fraction(0, 1), .fraction(1_000, 1)),
        ]
        guard encoding != .mjpeg else {
            return PipeWirePod(
                type: Key.format, parameter: Key.formatOffer,
                [Key.mediaType: .id(Key.video), Key.mediaSubtype: .id(Key.jpeg)], followedBy: common)
        }
        guard let id = PipeWireVideoFormat.accepted.first(where: { Self.encoding(of: $0.pixels) == encoding })?.id
        else {
            return nil
        }
        return PipeWirePod(
            type: Key.format, parameter: Key.formatOffer,
            [Key.mediaType: .id(Key.video), Key.mediaSubtype: .id(Key.raw), Key.pixels: .id(id)], followedBy: common)
    }

    /// Returns the encoding of pixels, by the names of V4L2.
    static func encoding(of pixels: RawPixelFormat) -> CaptureEncoding {
        switch pixels {
        case .yuyv: .yuyv
        case .nv12: .nv12
        case .i420: .i420
        default: .other(FourCC.raw.filter { $0.value == pixels }.map(\.key.name).max() ?? pixels.rawValue)
        }
    }
}
