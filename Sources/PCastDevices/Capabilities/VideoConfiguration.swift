public import PCastCore

/// The configuration of a video source, as the constraint solver chose it.
public struct VideoConfiguration: Hashable, Sendable {
    /// The encoding of the frames.
    public var encoding: CaptureEncoding
    /// The size of the device's frames, before rotation.
    public var dimensions: Dimensions
    /// The frame rate of the device.
    public var frameRate: FrameRate
    /// The size to which the frames are scaled, before rotation; nil for that of the device. Frames of a screen are scaled
    /// to fit within it. Those of a camera are first cut to its aspect ratio, around their centre.
    public var scaledDimensions: Dimensions?
    /// The rate to which frames are dropped evenly; nil for that of the device.
    public var reducedFrameRate: FrameRate?
    /// The flash mode.
    public var flashMode: FlashMode
    /// The focus mode.
    public var autoFocusMode: AutoFocusMode
    /// The position to focus on; nil for the camera's choice.
    public var focusTarget: FocusTarget?
    /// The rotation mode.
    public var rotationMode: VideoSourceRotationMode

    /// Creates a configuration.
    public init(
        encoding: CaptureEncoding = .computed, dimensions: Dimensions = Dimensions(width: 1_280, height: 720),
        frameRate: FrameRate = FrameRate(30), flashMode: FlashMode = .automatic,
        autoFocusMode: AutoFocusMode = .automatic, focusTarget: FocusTarget? = nil,
        rotationMode: VideoSourceRotationMode = .automatic
    ) {
        self.encoding = encoding
        self.dimensions = dimensions
        self.frameRate = frameRate
        self.flashMode = flashMode
        self.autoFocusMode = autoFocusMode
        self.focusTarget = focusTarget
        self.rotationMode = rotationMode
    }

    /// The size of the frames that are delivered, before rotation.
    public var deliveredDimensions: Dimensions { scaledDimensions ?? dimensions }

    /// The frame rate that is delivered.
    public var deliveredFrameRate: FrameRate { reducedFrameRate ?? frameRate }

    /// Whether frames are scaled or dropped, so that they cannot stay encoded.
    var isDerived: Bool { scaledDimensions != nil || reducedFrameRate != nil }
}
