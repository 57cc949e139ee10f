public import PCastCore
import Synchronization

/// The video or the sound of a ``MediaStream`` (Phenix: `PhenixMediaStreamTrack`).
public final class MediaStreamTrack: Sendable {
    public let mediaType: MediaType
    private let enabled = Atomic(true)
    /// Of a track that is viewed; nil for one of this machine's.
    private let limits: BandwidthLimits?

    /// - Parameter limited: is told what the track is to take at most, whenever that changes; nil for no limit.
    init(_ mediaType: MediaType, limited: (@Sendable (Bitrate?) -> Void)? = nil) {
        self.mediaType = mediaType
        limits = limited.map { BandwidthLimits(changed: $0) }
    }

    /// Whether the track's frames are passed on: to the encoder of a publisher, to renderers of a viewer.
    public var isEnabled: Bool { enabled.load(ordering: .relaxed) }

    /// Limits what a viewed video track is sent, as long as the answer is held; of several limits the lowest counts
    /// (Phenix: `limitBandwidth`). The platform sends the best layer below it, and the lowest where none is. Sound is not
    /// limited, nor are tracks of this machine: for those there is ``Publisher/limitBandwidth(_:)``.
    public func limitBandwidth(_ bitrate: Bitrate) -> BandwidthLimit {
        limits?.add(bitrate) ?? BandwidthLimit(bitrate: bitrate, lift: {})
    }

    /// Holds the track's frames back, or passes them on again. After a pause, video goes on with the next key frame.
    public func setEnabled(_ isEnabled: Bool) { enabled.store(isEnabled, ordering: .relaxed) }
}
