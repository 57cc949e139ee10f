public import PCastMedia
import Synchronization

/// The video or the sound of a ``MediaStream`` (Phenix: `PhenixMediaStreamTrack`).
public final class MediaStreamTrack: Sendable {
    public let mediaType: MediaType
    private let enabled = Atomic(true)

    init(_ mediaType: MediaType) { self.mediaType = mediaType }

    /// Whether the track's frames are passed on: to the encoder of a publisher, to renderers of a viewer.
    public var isEnabled: Bool { enabled.load(ordering: .relaxed) }

    /// Holds the track's frames back, or passes them on again. After a pause, video goes on with the next key frame.
    public func setEnabled(_ isEnabled: Bool) { enabled.store(isEnabled, ordering: .relaxed) }
}
