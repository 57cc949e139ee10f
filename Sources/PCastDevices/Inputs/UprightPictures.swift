import PCastCodecs
import PCastMedia
import Synchronization

/// Turns the pictures of one input, whichever source's thread they come on.
final class UprightPictures: Sendable {
    private let rotator = Mutex(PictureRotator())
    private let guide: RotationGuide

    init(guide: RotationGuide) { self.guide = guide }

    /// The picture itself when it is upright already.
    func upright(_ picture: VideoFrame) -> VideoFrame { rotator.withLock { $0.turn(picture, by: guide.turn) } }
}
