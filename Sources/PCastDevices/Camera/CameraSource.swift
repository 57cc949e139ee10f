import CV4L2
package import PCastCodecs
package import PCastCore
import PCastIO
import Synchronization

/// A V4L2 camera.
///
/// Opening it reserves the camera and sets its format; `start` starts streaming. The size and the rate that the driver
/// reports are adopted. Its frames are checked: truncated or damaged frames are counted and dropped, and impossible
/// timestamps are replaced.
package final class CameraSource: VideoSource {
    private enum Phase {
        case opened
        case running(WorkerThread)
        case over
    }

    /// The identifier from `Cameras.enumerate`.
    package let id: String
    /// The name for display.
    package let name: String
    /// The effective configuration: encoding, size and rate from the driver, and the requested modes.
    package let configuration: VideoConfiguration
    /// The clockwise quarter turns that make frames upright. Frames are delivered as captured.
    package let mountRotation: Int
    /// The reason for each capability that was unsatisfied when the camera was opened.
    package let unmet: [DeviceCapability: String]

    private let path: String
    private let record: CameraRecord
    private let areDecoded: Bool
    /// The stream, until the camera is closed.
    private let stream: SharedStream
    private let controls: CameraControls
    private let phase = Mutex(Phase.opened)

    /// Opens a camera. It blocks, usually for some milliseconds.
    ///
    /// - Parameters:
    ///   - id: The identifier from `Cameras.enumerate`, a name under `/dev/v4l/by-id` or `/dev/v4l/by-path`, or a node
    ///     such as `/dev/video0`; nil for the preferred camera.
    ///   - configuration: The requested configuration. `.computed` leaves the encoding to the camera. The driver
    ///     chooses the nearest values, which `configuration` contains afterwards.
    ///   - passesThrough: Whether H.264 is delivered as `.coded` and not decoded, while that is possible.
    ///   - locksFrameRate: Whether the camera is kept from lowering its frame rate in the dark, if it supports that.
    ///     Frames are darker then.
    /// - Throws: `DeviceError`: `.notFound`, `.busy` if another program uses it, `.forbidden` with the group to join,
    ///   or `.faulty`.
    package init(
        id: String? = nil, configuration: VideoConfiguration = VideoConfiguration(), passesThrough: Bool = false,
        locksFrameRate: Bool = false
    ) throws(DeviceError) {
        let camera = try CameraNode.survey().camera(id)
        let opened = try OpenedCamera(camera, configuration, locksFrameRate: locksFrameRate)
        let stream = try CameraStream(
            opened.node, name: camera.identity.name, format: opened.format, buffers: opened.buffers,
            controls: opened.controls, passesThrough: passesThrough)
        self.id = camera.id
        name = camera.identity.name
        mountRotation = opened.mountRotation
        controls = opened.controls
        var answer = configuration
        answer.encoding = opened.format.code.encoding
        answer.dimensions = opened.format.evenDimensions
        answer.frameRate = opened.format.frameRate
        self.configuration = answer
        areDecoded = stream.areDecoded
        unmet = controls.apply(configuration, areDecoded: areDecoded)
        path = camera.path
        record = stream.record
        self.stream = SharedStream(stream)
    }

    deinit { stop() }

    /// The size of the frames as delivered.
    package var dimensions: Dimensions { record.current.dimensions }
    /// The frame rate that the driver reports, in frames per second.
    package var nominalFrameRate: Double { configuration.frameRate.perSecond }

    /// The statistics of the camera.
    package var statistics: CameraStatistics { record.current.statistics }

    /// The reason why encoded frames are decoded although pass-through was requested; nil while they are passed
    /// through, or if it was not requested.
    package var transcodeReason: TranscodeReason? { record.current.transcodeReason }

    /// The current state of the focus.
    package var focusState: FocusState { controls.focusState }

    /// Starts streaming. `deliver` receives frames and `ended` the end of the source, both on the camera's thread.
    /// Throws `DeviceError` if the camera does not start. It has no effect after the first call.
    package func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        try phase.withLock { phase throws(DeviceError) in
            guard case .opened = phase, let stream = stream.value else { return }
            do throws(DriverError) {
                try stream.begin()
            } catch {
                throw error.deviceError(name, path: path)
            }
            let (shared, controls) = (self.stream, controls)
            do {
                phase = .running(
                    try WorkerThread(name: "camera", precedence: .media) {
                        let end = shared.value?.run(deliver)
                        // The camera is released before the notification, so that it can be opened again at once.
                        shared.release(controls)
                        if let end { ended(end) }
                    })
            } catch {
                throw .noThread("\(error)")
            }
        }
    }

    /// Stops streaming and releases the camera. It may be called repeatedly.
    package func stop() {
        let before = phase.withLock { phase in
            defer { phase = .over }
            return phase
        }
        switch before {
        case .opened: stream.release(controls)
        case .running(let worker):
            stream.value?.stop()
            worker.join()
        case .over: break
        }
    }

    /// Requests a key frame from a camera that encodes. Returns false if the camera does not support that; it sends key
    /// frames periodically then.
    @discardableResult
    package func requestKeyFrame() -> Bool { controls.requestKeyFrame() }

    /// Changes flash and focus while streaming. For another size, rate or encoding, the camera must be opened again.
    /// The focus target is a position in the camera's own frames before rotation. Returns the reason for each
    /// capability that is unsatisfied. A focus search continues after it returns; see `focusState`.
    package func apply(_ configuration: VideoConfiguration) -> [DeviceCapability: String] {
        controls.apply(configuration, areDecoded: areDecoded)
    }

    /// Moves the focus manually. `focusPosition` is from 0 for the farthest to 1 for the nearest distance. Returns the
    /// reason if that is not possible, e.g., if the focus is locked; nil otherwise.
    package func moveFocus(to focusPosition: Double) -> String? {
        controls.moveFocus(to: min(max(focusPosition, 0), 1))
    }
}

/// A stream that is released once.
private final class SharedStream: Sendable {
    private let stream: Mutex<CameraStream?>

    init(_ stream: CameraStream) { self.stream = Mutex(stream) }

    var value: CameraStream? { stream.withLock { $0 } }

    /// Closes the camera. The controls are restored while its node is still open.
    func release(_ controls: CameraControls) {
        let stream = stream.withLock { $0.take() }
        stream?.finish()
        controls.close()
    }
}

/// The state that a camera's thread publishes. It remains available after the camera is closed.
final class CameraRecord: Sendable {
    struct Entries: Sendable {
        var statistics = CameraStatistics()
        var dimensions: Dimensions
        var transcodeReason: TranscodeReason?
    }

    private let entries: Mutex<Entries>

    init(dimensions: Dimensions) { entries = Mutex(Entries(dimensions: dimensions)) }

    var current: Entries { entries.withLock { $0 } }

    func change(_ body: (inout Entries) -> Void) { entries.withLock { body(&$0) } }
}

/// The statistics of a camera since it was started.
package struct CameraStatistics: Hashable, Sendable {
    /// The number of delivered frames.
    package var captured = 0
    /// The number of dropped frames: by the driver, which skips their sequence numbers if it has no free buffer, or
    /// because newer frames were already available.
    package var dropped = 0
    /// The number of damaged frames: marked by the driver, truncated, undecodable, or of a different size.
    package var damaged = 0
    /// The number of frames whose driver timestamp was impossible and was replaced.
    package var retimed = 0
    /// The number of restarts of streaming because no frames arrived.
    package var restarted = 0

    /// Creates statistics with zeros.
    package init() {}
}

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
                reason: "it does not offer \(configuration.encoding.name); it offers "
                    + (encodings.isEmpty ? "no known format" : encodings))
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
