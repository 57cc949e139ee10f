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

    /// Moves the focus manually. `nearness` is from 0 for the farthest to 1 for the nearest distance. Returns the
    /// reason if that is not possible, e.g., if the focus is locked; nil otherwise.
    package func moveFocus(to nearness: Double) -> String? { controls.moveFocus(to: min(max(nearness, 0), 1)) }
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
