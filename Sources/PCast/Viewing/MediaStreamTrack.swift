public import PCastCore
import Synchronization

/// The video or audio track of a ``MediaStream`` (Phenix: `PhenixMediaStreamTrack`).
public final class MediaStreamTrack: Sendable {
    /// The type of media.
    public let mediaType: MediaType
    private let enabled = Atomic(true)
    /// The limits on the received bit rate; nil for a track that is not received.
    private let limits: BandwidthLimits?

    /// Creates a track. `limited` receives each change of the limit on the received bit rate; nil if there is none.
    init(_ mediaType: MediaType, limited: (@Sendable (Bitrate?) -> Void)? = nil) {
        self.mediaType = mediaType
        limits = limited.map { BandwidthLimits(changed: $0) }
    }

    /// Whether the track's frames are passed on, to the encoder of a publisher or to the renderers of a viewer.
    public var isEnabled: Bool { enabled.load(ordering: .relaxed) }

    /// Limits the received bit rate of a subscribed video track while the returned object exists. The lowest of several
    /// limits applies (Phenix: `limitBandwidth`).
    ///
    /// The platform sends the best layer below the limit, or the lowest layer if all are above it. The limit has no
    /// effect on audio and on tracks of this machine. ``Publisher/limitBandwidth(_:)`` limits the latter.
    ///
    /// - Parameter bitrate: The maximum bit rate.
    /// - Returns: The limit, which applies while the object exists.
    public func limitBandwidth(_ bitrate: Bitrate) -> BandwidthLimit {
        limits?.add(bitrate) ?? BandwidthLimit(bitrate: bitrate, remove: {})
    }

    /// Enables or disables the track. A disabled track passes no frames on. Video resumes with the next key frame.
    public func setEnabled(_ isEnabled: Bool) { enabled.store(isEnabled, ordering: .relaxed) }
}
