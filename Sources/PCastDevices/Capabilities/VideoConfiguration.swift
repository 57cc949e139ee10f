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

/// A frame rate in frames per second as a fraction, such as 30000/1001.
public struct FrameRate: Hashable, Sendable, CustomStringConvertible {
    /// The numerator, greater than 0.
    public let numerator: Int
    /// The denominator, greater than 0.
    public let denominator: Int

    /// Creates a rate from a numerator and a denominator, which must be greater than 0.
    public init(_ numerator: Int, _ denominator: Int = 1) {
        precondition(numerator > 0 && denominator > 0, "the frame rate must be positive")
        self.numerator = numerator
        self.denominator = denominator
    }

    /// The frames per second.
    public var perSecond: Double { Double(numerator) / Double(denominator) }

    /// The rate as a whole number or a fraction.
    public var description: String {
        numerator % denominator == 0 ? "\(numerator / denominator)" : "\(numerator)/\(denominator)"
    }
}

extension FrameRate: Comparable {
    /// Returns whether the left rate is lower.
    public static func < (left: FrameRate, right: FrameRate) -> Bool {
        left.numerator * right.denominator < right.numerator * left.denominator
    }
}
