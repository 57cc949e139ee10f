import PCastCodecs
import PCastCore
import Synchronization

/// Rotates the frames of one input, on the thread of any source.
final class InputRotation: Sendable {
    private let rotator = Mutex(FrameRotator())
    private let guide: RotationGuide

    init(guide: RotationGuide) { self.guide = guide }

    /// Returns the rotated frame; the same frame if it is upright.
    func upright(_ frame: VideoFrame) -> VideoFrame { rotator.withLock { $0.turn(frame, by: guide.turn) } }
}
