public import PCastCore

/// A limit on the bit rate that a publisher sends or a subscriber receives. It applies while this object exists
/// (Phenix: the `PhenixDisposable` that `limitBandwidth` returns).
public final class BandwidthLimit: Sendable {
    /// The maximum bit rate of the video.
    public let bitrate: Bitrate
    private let remove: @Sendable () -> Void

    init(bitrate: Bitrate, remove: @escaping @Sendable () -> Void) {
        self.bitrate = bitrate
        self.remove = remove
    }

    deinit { remove() }
}
