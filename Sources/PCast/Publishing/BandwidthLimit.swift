public import PCastCore

/// A limit on what a publisher sends or a viewer is sent; it holds as long as this object does (Phenix: the
/// `PhenixDisposable` that `limitBandwidth` answers).
public final class BandwidthLimit: Sendable {
    /// Bits a second of the video.
    public let bitrate: Bitrate
    private let lift: @Sendable () -> Void

    init(bitrate: Bitrate, lift: @escaping @Sendable () -> Void) {
        self.bitrate = bitrate
        self.lift = lift
    }

    deinit { lift() }
}
