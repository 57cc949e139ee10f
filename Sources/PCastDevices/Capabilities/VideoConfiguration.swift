public import PCastMedia

/// How a source of pictures is opened: what the constraint solver chose.
public struct VideoConfiguration: Hashable, Sendable {
    public var encoding: CaptureEncoding
    /// As the device delivers them, before they are turned.
    public var dimensions: Dimensions
    public var frameRate: FrameRate
    public var flashMode: FlashMode
    public var autoFocusMode: AutoFocusMode
    public var focusTarget: FocusTarget?
    public var rotationMode: VideoSourceRotationMode

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
