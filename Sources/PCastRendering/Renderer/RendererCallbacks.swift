package import PCastCore

/// The callbacks of a renderer. They run on the renderer's threads and must return quickly.
package struct RendererCallbacks: Sendable {
    /// Called once, when the first frame is presented.
    package var onFirstFrame: (@Sendable () -> Void)?

    /// Called when the size of the frames is known or changes.
    package var onDimensions: (@Sendable (Dimensions) -> Void)?

    /// Called when a frame is due.
    package var onFrame: (@Sendable (VideoFrame) -> Void)?

    /// Called with audio and its presentation time, ahead of that time. The audio is silent while muted.
    package var onAudio: (@Sendable (AudioFrame, Instant) -> Void)?

    /// Called when decoding requires a key frame.
    package var onKeyFrameNeeded: (@Sendable () -> Void)?

    /// Creates callbacks; nil for those that are not needed.
    package init(
        onFirstFrame: (@Sendable () -> Void)? = nil, onDimensions: (@Sendable (Dimensions) -> Void)? = nil,
        onFrame: (@Sendable (VideoFrame) -> Void)? = nil,
        onAudio: (@Sendable (AudioFrame, Instant) -> Void)? = nil, onKeyFrameNeeded: (@Sendable () -> Void)? = nil
    ) {
        self.onFirstFrame = onFirstFrame
        self.onDimensions = onDimensions
        self.onFrame = onFrame
        self.onAudio = onAudio
        self.onKeyFrameNeeded = onKeyFrameNeeded
    }
}
