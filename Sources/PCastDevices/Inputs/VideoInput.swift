package import PCastCodecs
package import PCastCore
import PCastIO
import Synchronization

/// The video of a stream, independent of its device. The device is selected by constraints, and can be changed or
/// replaced while the stream runs. Frames are scaled if the device lacks the requested size, and dropped if it lacks the
/// requested rate. They are rotated upright, and black while the device is disconnected. The device can be released
/// while nobody subscribes.
package final class VideoInput: VideoSource {
    /// The time for which a disconnected camera is awaited before the track fails.
    package static let timeout = TimeSpan.seconds(30)

    /// The state of the current source.
    private struct Current: Sendable {
        var request: VideoRequest
        var selection: VideoSelection?
        var source: any VideoSource
        var timeline = FrameTimeline()
        /// The reasons for the settings that the device did not accept.
        var unmet: [DeviceCapability: String] = [:]
    }

    private let current: SharedState<Current>
    private let slot: SwitchableSource<VideoSample>
    private let rotation: RotationGuide
    private let frames: FrameShaping

    /// Opens the best device for a request. Throws `DeviceError`: `.notFound`, `.unmet` if no device satisfies a
    /// required constraint, `.busy`, `.forbidden` or `.faulty`.
    package convenience init(_ request: VideoRequest) throws(DeviceError) {
        try self.init(request, accelerometer: AccelerometerMonitor())
    }

    convenience init(_ request: VideoRequest, accelerometer: AccelerometerMonitor) throws(DeviceError) {
        let selection = try SourceDevices.select(request)
        let rotation = RotationGuide(accelerometer: accelerometer)
        rotation.follow(selection)
        let source: any VideoSource
        do throws(DeviceError) {
            source = try SourceDevices.open(Self.cameraSelection(selection, request, rotation), request)
        } catch {
            rotation.stop()
            throw error
        }
        self.init(source, selection, request, rotation)
    }

    /// Creates an input from an open source, such as the video of a file.
    package convenience init(opened source: any VideoSource, request: VideoRequest) {
        let rotation = RotationGuide(accelerometer: AccelerometerMonitor())
        rotation.follow(nil)
        self.init(source, nil, request, rotation)
    }

    private init(
        _ source: any VideoSource, _ selection: VideoSelection?, _ request: VideoRequest,
        _ rotation: RotationGuide
    ) {
        let current = SharedState(Current(request: request, selection: selection, source: source))
        self.current = current
        self.rotation = rotation
        frames = FrameShaping(selection, guide: rotation)
        slot = SwitchableSource<VideoSample>(
            name: "video", source: source.mediaSource, timeout: Self.timeout,
            opening: Self.opening(request, selection, current, rotation),
            substitute: {
                let (dimensions, rate) = current.withLock { ($0.source.dimensions, $0.source.nominalFrameRate) }
                return BlackFrame.substitute(dimensions, frameRate: rate)
            })
        rotation.setRotationCallback { [weak self] in self?.updateFocusTarget() }
        adjust()
    }

    // MARK: State

    /// The request.
    package var request: VideoRequest { current.withLock { $0.request } }

    /// The selected device, its configuration and the reasons; nil for a file or an address.
    package var selection: VideoSelection? { current.withLock { $0.selection } }

    /// The reason for each capability whose ideal value is unsatisfied, for display.
    package var unmet: [DeviceCapability: String] {
        var unmet = current.withLock { current in
            (current.selection?.unmet ?? [:]).merging(current.unmet) { first, _ in first }
        }
        if rotation.isUnmet { unmet[.videoSourceRotationMode] = "there is no accelerometer" }
        return unmet
    }

    /// The size of the delivered frames, after scaling and rotation.
    package var dimensions: Dimensions {
        let (selection, native) = current.withLock { ($0.selection, $0.source.dimensions) }
        return (selection?.output(of: native) ?? native).turned(by: rotation.turn.degrees / 90)
    }

    /// The nominal frame rate, in frames per second.
    package var nominalFrameRate: Double {
        current.withLock { current in
            current.selection?.configuration.reducedFrameRate?.perSecond ?? current.source.nominalFrameRate
        }
    }

    /// The reason why encoded frames are decoded although pass-through was requested; nil while they are passed
    /// through, or if the source does not encode.
    package var transcodeReason: TranscodeReason? { current.withLock { $0.source }.transcodeReason }

    /// Whether the device is open. It is not while the input is paused or the device is disconnected.
    package var isOpen: Bool { slot.isOpen }

    // MARK: Running

    /// Starts the source. `deliver` receives frames and `ended` the end of the source. Throws `DeviceError` if it does
    /// not start.
    package func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let (current, frames) = (current, frames)
        try slot.start(
            deliver: { sample in
                switch sample {
                case .frame(let videoFrame):
                    let captured = videoFrame.captureTime ?? MonotonicClock.wallTime()
                    guard let turned = frames.shaped(videoFrame, captured: captured) else { return }
                    let timestamp = current.withLock { $0.timeline.timestamp(captured) }
                    deliver(.frame(turned.retimed(captureTime: captured, timestamp: timestamp)))
                case .coded(var frame):
                    let captured = frame.captureTime ?? MonotonicClock.wallTime()
                    frame.captureTime = captured
                    frame.timestamp = current.withLock { $0.timeline.timestamp(captured) }
                    deliver(.coded(frame))
                }
            }, ended: ended)
    }

    /// Stops the source and releases the device.
    package func stop() {
        slot.stop()
        rotation.stop()
    }

    /// Pauses the input and releases the device until `resume`. A file or an address continues.
    package func rest() {
        if selection != nil { slot.rest() }
    }

    /// Opens the device again, with black frames until that succeeds.
    package func resume() { slot.resume() }

    // MARK: Changes

    /// Changes the request while the stream runs. Controls take effect at once, another format reopens the device, and
    /// another device takes over when it is open. If the request fails, nothing changes. Throws the errors of `init`,
    /// and `DeviceError.unusable` for a file or an address.
    package func apply(_ request: VideoRequest) throws(DeviceError) {
        let (former, formerRequest) = current.withLock { ($0.selection, $0.request) }
        guard let former else {
            throw .unusable("\(current.withLock { $0.request.source })", reason: "a file or a URI cannot be changed")
        }
        let selection = try SourceDevices.select(request)
        let isSameDevice = selection.device.info.id == former.device.info.id
        let isSameFormat =
            selection.configuration.hasFormat(of: former.configuration)
            && selection.staysEncoded(for: request) == former.staysEncoded(for: formerRequest)
        if !isSameDevice || !isSameFormat {
            try slot.replace(isSameDevice: isSameDevice, opening: Self.opening(request, selection, current, rotation))
        }
        current.withLock { current in
            current.request = request
            current.selection = selection
        }
        frames.follow(selection)
        rotation.follow(selection)
        adjust()
    }

    /// Sets the clockwise rotation of the device relative to the application's user interface, which
    /// `VideoSourceRotationMode.followUIRotation` uses.
    package func setUserInterfaceRotation(_ turn: FrameRotation) { rotation.setUserInterface(turn) }

    /// Requests a key frame from a device that encodes.
    package func requestKeyFrame() {
        (current.withLock { $0.source } as? any AdjustableSource)?.requestKeyFrame()
    }

    private func adjust() {
        let (source, selection, request) = current.withLock { ($0.source, $0.selection, $0.request) }
        guard let adjustable = source as? any AdjustableSource, let selection else { return }
        let cameraSelection = Self.cameraSelection(
            selection, request, rotation, transcodeReason: source.transcodeReason)
        let unmet = adjustable.unmet.merging(adjustable.apply(cameraSelection.configuration)) { _, applied in applied }
        current.withLock { $0.unmet = unmet }
    }

    /// A focus target is a position of the frame as displayed, which a rotation changes.
    private func updateFocusTarget() {
        if current.withLock({ $0.selection?.configuration.focusTarget }) != nil { adjust() }
    }

    /// The selection with its focus target in the camera's own coordinates: before rotation and cropping. Frames that are
    /// passed through as the camera codes them are not rotated.
    private static func cameraSelection(
        _ selection: VideoSelection, _ request: VideoRequest, _ rotation: RotationGuide,
        transcodeReason: TranscodeReason? = nil
    ) -> VideoSelection {
        let isPassedThrough = selection.staysEncoded(for: request) && transcodeReason == nil
        var selection = selection
        let (native, output) = (selection.configuration.dimensions, selection.configuration.scaledDimensions)
        selection.configuration.focusTarget = selection.configuration.focusTarget?
            .beforeRotation(isPassedThrough ? .none : rotation.turn)
            .moved(from: output.map { FormatDerivation.part(of: native, for: $0) }, to: native)
        return selection
    }

    /// Returns a function that opens the selected device repeatedly.
    private static func opening(
        _ request: VideoRequest, _ selection: VideoSelection?, _ current: SharedState<Current>,
        _ rotation: RotationGuide
    ) -> @Sendable () throws(DeviceError) -> any MediaSource<VideoSample> {
        @Sendable func open() throws(DeviceError) -> any MediaSource<VideoSample> {
            guard let selection else {
                throw .unusable("\(request.source)", reason: "a file or a URI cannot be reopened")
            }
            let source = try SourceDevices.open(cameraSelection(selection, request, rotation), request)
            current.withLock { $0.source = source }
            return source.mediaSource
        }
        return open
    }
}

extension VideoConfiguration {
    /// Returns whether a device that was opened with the other configuration need not be reopened.
    func hasFormat(of other: VideoConfiguration) -> Bool {
        encoding == other.encoding && dimensions == other.dimensions && frameRate == other.frameRate
    }
}

extension VideoSelection {
    /// Whether frames are delivered as the camera encoded them, if they can be.
    fileprivate func staysEncoded(for request: VideoRequest) -> Bool {
        request.passesCameraThrough && configuration.encoding == .h264 && !configuration.isDerived
    }
}

/// The timestamps of a video track across changes of its source, from capture times relative to the first frame.
struct FrameTimeline {
    private var origin: WallTime?
    private var last: Int64 = -1

    /// Returns the timestamp of a frame. It is later than the previous one, even if the sources' clocks differ.
    mutating func timestamp(_ captureTime: WallTime) -> MediaTime {
        let origin = origin ?? captureTime
        self.origin = origin
        last = max(last + 1, ClockRate.video.ticks(in: captureTime - origin))
        return MediaTime(ticks: last, rate: .video)
    }
}

/// The black frames that replace those of a disconnected camera.
enum BlackFrame {
    static func substitute(_ dimensions: Dimensions, frameRate: Double)
        -> SwitchableSource<VideoSample>.SubstituteSample
    {
        let black = frame(dimensions)
        return SwitchableSource.SubstituteSample(
            interval: TimeSpan(seconds: 1 / max(1, frameRate)),
            sample: { time in
                .frame(black.retimed(captureTime: time, timestamp: MediaTime(ticks: 0, rate: .video)))
            })
    }

    static func frame(_ dimensions: Dimensions) -> VideoFrame {
        let frame = VideoFramePool(capacity: 0).frame(
            dimensions: dimensions, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video))
        FrameCanvas(frame.memory, dimensions: dimensions).fill(
            left: 0, top: 0, right: dimensions.width, bottom: dimensions.height, colour: .black)
        return frame
    }
}

/// A request for a video source.
package struct VideoRequest: Hashable, Sendable {
    /// The source. If it is ambiguous, the best device is selected.
    package var source: SourceSpecification
    /// The constraints.
    package var constraints: DeviceConstraints

    /// Whether video of a camera or an address is delivered without decoding, if it has the codec and no B-frames.
    package var passesThrough: Bool

    /// The codec of video that is delivered without decoding: H.264, or H.265 of an address.
    package var codec: Codec

    /// Whether frames of a camera or a screen are scaled and dropped to obtain a size or a rate that it lacks.
    package var allowsScaling: Bool

    /// Creates a request.
    package init(
        _ source: SourceSpecification = .camera(id: nil), constraints: DeviceConstraints = [:],
        passesThrough: Bool = false, codec: Codec = .h264, allowsScaling: Bool = true
    ) {
        self.allowsScaling = allowsScaling
        self.source = source
        self.constraints = constraints
        self.passesThrough = passesThrough
        self.codec = codec
    }

    /// Whether video of a camera is delivered without decoding. Cameras deliver H.264 only.
    var passesCameraThrough: Bool { passesThrough && codec == .h264 }

    /// Whether the camera must keep its frame rate in the dark.
    var demandsFrameRate: Bool {
        constraints[.frameRate]?.contains { $0.kind == .min || $0.kind == .exact } ?? false
    }
}
