public import PCastCodecs
import PCastIO
public import PCastMedia
import Synchronization

/// The pictures of a camera, by V4L2.
///
/// Opening it takes it from other programs, and sets its format; `start` begins streaming. What its driver says about
/// size and rate is believed and told, and what it delivers is not: pictures that are too short or broken are counted and
/// left out, and so are times that cannot be.
public final class CameraSource: VideoSource {
    private enum Phase {
        case opened
        case running(WorkerThread)
        case over
    }

    /// Its identifier, as `Cameras.enumerate` tells it.
    public let id: String
    /// For people.
    public let name: String
    /// What is in force: encoding, size and rate as the driver answered, and the modes that were asked for when it was
    /// opened.
    public let configuration: VideoConfiguration
    /// Quarter turns clockwise that bring its pictures upright; they are delivered as the sensor gives them.
    public let mountingTurns: Int
    /// What of the modes could not be met when it was opened, and why.
    public let unmet: [DeviceCapability: String]

    private let path: String
    private let record: CameraRecord
    private let areDecoded: Bool
    /// Nil once it was given back.
    private let stream: SharedStream
    private let controls: CameraControls
    private let phase = Mutex(Phase.opened)

    /// Opens a camera; blocks for as long as that takes, mostly some milliseconds.
    ///
    /// - Parameters:
    ///   - id: as `Cameras.enumerate` tells it, a name under `/dev/v4l/by-id` or `/dev/v4l/by-path`, or a node such as
    ///     `/dev/video0`; nil for the best one.
    ///   - configuration: what to ask it for; `.computed` leaves the encoding to it. What it cannot, it answers with the
    ///     nearest that it can, which `configuration` tells then.
    ///   - passesThrough: H.264 is delivered as `.coded`, and not decoded, as long as it can be passed on.
    ///   - holdsFrameRate: the camera is kept from lowering its rate in the dark (COD7), where it can be: pictures are
    ///     darker then.
    /// - Throws: `.notFound`, `.busy` when another program has it, `.forbidden` with the group to join, `.faulty`.
    public init(
        id: String? = nil, configuration: VideoConfiguration = VideoConfiguration(), passesThrough: Bool = false,
        holdsFrameRate: Bool = false
    ) throws(DeviceError) {
        let camera = try CameraNode.survey().camera(id)
        let opened = try OpenedCamera(camera, configuration, holdsFrameRate: holdsFrameRate)
        let stream = try CameraStream(
            opened.node, name: camera.identity.name, format: opened.format, buffers: opened.buffers,
            controls: opened.controls, passesThrough: passesThrough)
        self.id = camera.id
        name = camera.identity.name
        mountingTurns = opened.mountingTurns
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

    public var dimensions: Dimensions { record.current.dimensions }
    public var nominalFrameRate: Double { configuration.frameRate.perSecond }

    /// What became of its pictures.
    public var statistics: CameraStatistics { record.current.statistics }

    /// Why its coded pictures are decoded although they were to be passed on; nil when they are passed on, or were not to
    /// be.
    public var passThroughObstacle: PassThroughObstacle? { record.current.obstacle }

    public var focusState: FocusState { controls.focusState }

    public func start(
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
                        // Given back before it is told, so that it can be opened again at once.
                        shared.release(controls)
                        if let end { ended(end) }
                    })
            } catch {
                throw .noThread("\(error)")
            }
        }
    }

    public func stop() {
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

    /// Asks a camera that codes its pictures for a key frame. Answers false when it cannot be asked; then one comes when
    /// the camera sees fit.
    @discardableResult
    public func requestKeyFrame() -> Bool { controls.requestKeyFrame() }

    /// Changes flash and focus while it runs; size, rate and encoding are changed by opening it anew.
    ///
    /// - Parameter configuration: its focus target is a position in the camera's own frame, before rotation.
    /// - Returns: what could not be met, and why. Focusing once goes on after this returns: `focusState` tells.
    public func apply(_ configuration: VideoConfiguration) -> [DeviceCapability: String] {
        controls.apply(configuration, areDecoded: areDecoded)
    }

    /// Moves the focus by hand.
    ///
    /// - Parameter nearness: from 0 for the farthest to 1 for the nearest.
    /// - Returns: why it could not be; nil when it was done. A locked focus is not moved (seed 004, "Auto-focus mode").
    public func moveFocus(to nearness: Double) -> String? { controls.moveFocus(to: min(max(nearness, 0), 1)) }
}

/// A stream until its camera is given back, which happens once.
private final class SharedStream: Sendable {
    private let stream: Mutex<CameraStream?>

    init(_ stream: CameraStream) { self.stream = Mutex(stream) }

    var value: CameraStream? { stream.withLock { $0 } }

    /// Closes the camera: the controls go back to what they were while its node is still open.
    func release(_ controls: CameraControls) {
        let stream = stream.withLock { $0.take() }
        stream?.finish()
        controls.close()
    }
}
