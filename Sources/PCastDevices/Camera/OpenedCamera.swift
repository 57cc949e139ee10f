import CV4L2
import PCastCore

/// A camera that is reserved, with its format set and its buffers mapped.
struct OpenedCamera {
    let node: VideoNode
    let format: NegotiatedFormat
    let buffers: CaptureBuffers
    let controls: CameraControls
    let mountRotation: Int

    init(
        _ camera: CameraNode, _ configuration: VideoConfiguration, locksFrameRate: Bool
    ) throws(DeviceError) {
        let name = camera.identity.name
        do {
            try self.init(node: VideoNode(path: camera.path, access: .library), name, configuration, locksFrameRate)
        } catch let error as DriverError {
            throw error.deviceError(name, path: camera.path)
        } catch let error as DeviceError {
            throw error
        } catch {
            throw .faulty(name, reason: "\(error)")
        }
    }

    private init(
        node: VideoNode, _ name: String, _ configuration: VideoConfiguration, _ locksFrameRate: Bool
    ) throws {
        let formats = CameraFormats(node: node)
        guard let code = Self.code(for: configuration, formats) else {
            let encodings = Set(formats.codes().map(\.name)).sorted().joined(separator: ", ")
            throw DeviceError.faulty(
                name,
                reason:
                    "it does not offer \(configuration.encoding.name) (\(encodings.isEmpty ? "nothing" : encodings))")
        }
        let list = ControlList(of: node)
        format = try NegotiatedFormat(
            node, code: code, dimensions: configuration.dimensions, frameRate: configuration.frameRate)
        controls = CameraControls(node, list, size: format.dimensions)
        if format.code.isH264 { controls.prepareH264(frameRate: format.frameRate) }
        buffers = try CaptureBuffers(of: node)
        if locksFrameRate { controls.lockFrameRate() }
        mountRotation = CameraFeatures.mountRotation(list, node)
        self.node = node
    }

    /// Returns the driver's code of the requested encoding, or of the best one if none is requested.
    private static func code(for configuration: VideoConfiguration, _ formats: CameraFormats) -> FourCC? {
        let codes = formats.codes()
        guard configuration.encoding == .computed else {
            return codes.first { $0.encoding == configuration.encoding && $0.encoding.isCapturable }
        }
        let best = EncodingChoice(configuration).best(of: formats.list())
        return codes.first { $0.encoding == best }
    }
}

/// Chooses the encoding for a size and a rate if none is requested.
struct EncodingChoice {
    private let dimensions: Dimensions
    private let frameRate: FrameRate

    init(_ configuration: VideoConfiguration) {
        dimensions = configuration.dimensions
        frameRate = configuration.frameRate
    }

    /// Returns the encoding whose format is nearest to the size, then to the rate, then the cheapest to convert.
    /// Returns nil if no format can be captured.
    func best(of formats: [CaptureFormat]) -> CaptureEncoding? {
        formats.filter(\.encoding.isCapturable).min { rank($0) < rank($1) }?.encoding
    }

    private func rank(_ format: CaptureFormat) -> (Int, Double, Int) {
        (missingPixels(format.sizes), missingRate(format.rates), Self.work(format.encoding))
    }

    private func missingPixels(_ sizes: CaptureFormat.Sizes) -> Int {
        switch sizes {
        case .discrete(let size):
            return abs(size.width - dimensions.width) * dimensions.height
                + abs(size.height - dimensions.height) * dimensions.width
        case .stepwise(let smallest, let largest, _):
            return missingPixels(
                .discrete(
                    Dimensions(
                        width: min(max(dimensions.width, smallest.width), largest.width),
                        height: min(max(dimensions.height, smallest.height), largest.height))))
        }
    }

    private func missingRate(_ rates: CaptureFormat.Rates) -> Double {
        switch rates {
        case .discrete(let rates): rates.map { abs($0.perSecond - frameRate.perSecond) }.min() ?? 0
        case .range(let slowest, let fastest, _):
            max(0, slowest.perSecond - frameRate.perSecond, frameRate.perSecond - fastest.perSecond)
        }
    }

    private static func work(_ encoding: CaptureEncoding) -> Int {
        switch encoding {
        case .i420: 0
        case .nv12: 1
        case .yuyv: 2
        case .other, .computed: 3
        case .mjpeg: 4
        case .h264: 5
        }
    }
}
