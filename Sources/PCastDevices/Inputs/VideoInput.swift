public import PCastCodecs
import PCastIO
public import PCastMedia
import Synchronization

/// The pictures of one stream, whatever becomes of their device: opened under constraints, changed or exchanged while
/// the stream runs, black while the device is unplugged, turned upright, and given back while nobody looks.
public final class VideoInput: VideoSource {
    /// How long an unplugged camera is waited for before the track fails.
    public static let patience = TimeSpan.seconds(30)

    /// What is known of the source that delivers.
    private struct Current: Sendable {
        var request: VideoRequest
        var selection: VideoSelection?
        var source: any VideoSource
        var timeline = PictureTimeline()
        /// The adjustments that the device did not take.
        var unmet: [DeviceCapability: String] = [:]
    }

    private let current: SharedState<Current>
    private let slot: SourceSlot<VideoSample>
    private let rotation: RotationGuide
    private let pictures: UprightPictures

    /// Opens the device that suits the request best.
    ///
    /// - Throws: `.notFound`, `.unmet` for a demand that no device meets, `.busy`, `.forbidden`, `.faulty`.
    public convenience init(_ request: VideoRequest) throws(DeviceError) {
        try self.init(request, accelerometer: AccelerometerWatch())
    }

    convenience init(_ request: VideoRequest, accelerometer: AccelerometerWatch) throws(DeviceError) {
        let selection = try SourceDevices.select(request)
        let rotation = RotationGuide(accelerometer: accelerometer)
        rotation.follow(selection)
        let source: any VideoSource
        do throws(DeviceError) {
            source = try SourceDevices.open(Self.aimed(selection, request, rotation), request)
        } catch {
            rotation.stop()
            throw error
        }
        self.init(source, selection, request, rotation)
    }

    /// Takes a source that was opened already, such as one of two media of a file.
    public convenience init(opened source: any VideoSource, request: VideoRequest) {
        let rotation = RotationGuide(accelerometer: AccelerometerWatch())
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
        pictures = UprightPictures(guide: rotation)
        slot = SourceSlot<VideoSample>(
            name: "video", source: source.mediaSource, patience: Self.patience,
            opening: Self.opening(request, selection, current, rotation),
            standIn: {
                let (dimensions, rate) = current.withLock { ($0.source.dimensions, $0.source.nominalFrameRate) }
                return BlackPicture.standIn(dimensions, frameRate: rate)
            })
        rotation.setTurnCallback { [weak self] in self?.aimAgain() }
        adjust()
    }

    // MARK: What it is

    /// What was asked for.
    public var request: VideoRequest { current.withLock { $0.request } }

    /// Which device it is, how it was opened, and why; nil for a file or an address.
    public var selection: VideoSelection? { current.withLock { $0.selection } }

    /// The wishes that could not be granted, each with the reason for people.
    public var unmet: [DeviceCapability: String] {
        var unmet = current.withLock { current in
            (current.selection?.unmet ?? [:]).merging(current.unmet) { wish, _ in wish }
        }
        if rotation.isUnmet { unmet[.videoSourceRotationMode] = "there is no accelerometer to follow" }
        return unmet
    }

    /// Of the pictures as they are delivered, upright.
    public var dimensions: Dimensions {
        current.withLock { $0.source.dimensions }.turned(by: rotation.turn.degrees / 90)
    }

    public var nominalFrameRate: Double { current.withLock { $0.source.nominalFrameRate } }

    /// Why pictures that the source has coded are decoded although they were to be passed through; nil as long as they
    /// are, and where there is nothing to pass.
    public var passThroughObstacle: PassThroughObstacle? { current.withLock { $0.source }.passThroughObstacle }

    /// Whether the device is open: not while it rests, nor while it is away.
    public var isOpen: Bool { slot.isOpen }

    // MARK: Running

    public func start(
        deliver: @escaping @Sendable (VideoSample) -> Void, ended: @escaping @Sendable (SourceEnd) -> Void
    ) throws(DeviceError) {
        let (current, pictures) = (current, pictures)
        try slot.start(
            deliver: { sample in
                switch sample {
                case .picture(let picture):
                    let turned = pictures.upright(picture)
                    let captured = picture.captureTime ?? MonotonicClock.wallTime()
                    let timestamp = current.withLock { $0.timeline.place(captured) }
                    deliver(.picture(turned.retimed(captureTime: captured, timestamp: timestamp)))
                case .coded(var frame):
                    let captured = frame.captureTime ?? MonotonicClock.wallTime()
                    frame.captureTime = captured
                    frame.timestamp = current.withLock { $0.timeline.place(captured) }
                    deliver(.coded(frame))
                }
            }, ended: ended)
    }

    public func stop() {
        slot.stop()
        rotation.stop()
    }

    /// Gives the device back until `resume`. A file or an address goes on.
    public func rest() {
        if selection != nil { slot.rest() }
    }

    /// Opens the device again; black until that succeeds.
    public func resume() { slot.resume() }

    // MARK: Changes

    /// Asks for something else while the stream runs: controls take effect at once, another format reopens the device,
    /// another device takes over once its own is open. When it cannot be had, all goes on as before.
    ///
    /// - Throws: as `init` does, and `.unusable` for a file or an address, or where one is asked for.
    public func apply(_ request: VideoRequest) throws(DeviceError) {
        let (former, passedThrough) = current.withLock { ($0.selection, $0.request.passesThrough) }
        guard let former else {
            throw .unusable("\(current.withLock { $0.request.source })", reason: "a file or an address stays as it is")
        }
        let selection = try SourceDevices.select(request)
        let isSameDevice = selection.device.info.id == former.device.info.id
        let isSameFormat =
            selection.configuration.hasFormat(of: former.configuration) && request.passesThrough == passedThrough
        if !isSameDevice || !isSameFormat {
            try slot.replace(isSameDevice: isSameDevice, opening: Self.opening(request, selection, current, rotation))
        }
        current.withLock { current in
            current.request = request
            current.selection = selection
        }
        rotation.follow(selection)
        adjust()
    }

    /// Says how far clockwise the device is turned while the application's user interface stands upright: what
    /// `VideoSourceRotationMode.followUIRotation` follows.
    public func setUserInterfaceTurn(_ turn: PictureTurn) { rotation.setUserInterface(turn) }

    /// Asks a device that codes its pictures itself for one that can be decoded alone.
    public func requestKeyFrame() {
        (current.withLock { $0.source } as? any AdjustableSource)?.requestKeyFrame()
    }

    private func adjust() {
        let (source, selection, request) = current.withLock { ($0.source, $0.selection, $0.request) }
        guard let adjustable = source as? any AdjustableSource, let selection else { return }
        let aimed = Self.aimed(selection, request, rotation, obstacle: source.passThroughObstacle)
        let unmet = adjustable.unmet.merging(adjustable.apply(aimed.configuration)) { _, applied in applied }
        current.withLock { $0.unmet = unmet }
    }

    /// A focus target is a position of the frame as displayed, which a rotation changes.
    private func aimAgain() {
        if current.withLock({ $0.selection?.configuration.focusTarget }) != nil { adjust() }
    }

    /// The selection with its focus target in the camera's own coordinates. Frames that are passed through as the camera codes
    /// them are not rotated.
    private static func aimed(
        _ selection: VideoSelection, _ request: VideoRequest, _ rotation: RotationGuide,
        obstacle: PassThroughObstacle? = nil
    ) -> VideoSelection {
        let isPassedThrough = request.passesThrough && obstacle == nil && selection.configuration.encoding == .h264
        var selection = selection
        selection.configuration.focusTarget = selection.configuration.focusTarget?
            .beforeRotation(isPassedThrough ? .none : rotation.turn)
        return selection
    }

    /// Opens what was selected, again and again.
    private static func opening(
        _ request: VideoRequest, _ selection: VideoSelection?, _ current: SharedState<Current>,
        _ rotation: RotationGuide
    ) -> @Sendable () throws(DeviceError) -> any MediaSource<VideoSample> {
        @Sendable func open() throws(DeviceError) -> any MediaSource<VideoSample> {
            guard let selection else {
                throw .unusable("\(request.source)", reason: "a file or an address is opened once")
            }
            let source = try SourceDevices.open(aimed(selection, request, rotation), request)
            current.withLock { $0.source = source }
            return source.mediaSource
        }
        return open
    }
}

extension VideoConfiguration {
    /// Whether a device that was opened with the other need not be opened again.
    func hasFormat(of other: VideoConfiguration) -> Bool {
        encoding == other.encoding && dimensions == other.dimensions && frameRate == other.frameRate
    }
}
