public import PCastCore

/// The configuration of a video source, as the constraint solver chose it.
public struct VideoConfiguration: Hashable, Sendable {
    /// The encoding of the frames.
    public var encoding: CaptureEncoding
    /// The size of the frames as delivered, before rotation.
    public var dimensions: Dimensions
    /// The frame rate.
    public var frameRate: FrameRate
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
}
