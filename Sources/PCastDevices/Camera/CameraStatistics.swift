/// The statistics of a camera since it was started.
package struct CameraStatistics: Hashable, Sendable {
    /// The number of delivered frames.
    package var captured = 0
    /// The number of dropped frames: by the driver, which skips their sequence numbers if it has no free buffer, or
    /// because newer frames were already available.
    package var dropped = 0
    /// The number of damaged frames: marked by the driver, truncated, undecodable, or of a different size.
    package var damaged = 0
    /// The number of frames whose driver timestamp was impossible and was replaced.
    package var retimed = 0
    /// The number of restarts of streaming because no frames arrived.
    package var restarted = 0

    /// Creates statistics with zeros.
    package init() {}
}
