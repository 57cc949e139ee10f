public import PCastMedia

/// What a renderer tells, each on a thread of its own that must not be held up: where a window, a terminal or a
/// loudspeaker takes part.
public struct RendererCallbacks: Sendable {
    /// The first whole, decoded picture is shown. Once.
    public var onFirstFrame: (@Sendable () -> Void)?

    /// The pictures have a size, or another one.
    public var onDimensions: (@Sendable (Dimensions) -> Void)?

    /// A picture is due now.
    public var onFrame: (@Sendable (VideoFrame) -> Void)?

    /// Sound that is to be heard from an instant on; silent while muted. It comes before its time.
    public var onSound: (@Sendable (AudioFrame, Instant) -> Void)?

    /// Nothing can be decoded before the publisher sends a key frame.
    public var onKeyFrameNeeded: (@Sendable () -> Void)?

    public init(
        onFirstFrame: (@Sendable () -> Void)? = nil, onDimensions: (@Sendable (Dimensions) -> Void)? = nil,
        onFrame: (@Sendable (VideoFrame) -> Void)? = nil,
        onSound: (@Sendable (AudioFrame, Instant) -> Void)? = nil, onKeyFrameNeeded: (@Sendable () -> Void)? = nil
    ) {
        self.onFirstFrame = onFirstFrame
        self.onDimensions = onDimensions
        self.onFrame = onFrame
        self.onSound = onSound
        self.onKeyFrameNeeded = onKeyFrameNeeded
    }
}
