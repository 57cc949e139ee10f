public import PCastEdgeAuth
import PCastIO

extension EdgeTokenBuilder {
    /// Sets the expiration to a duration from now.
    public func expiresIn(_ duration: Duration) -> EdgeTokenBuilder {
        expiresIn(duration, from: MonotonicClock.wallTime())
    }
}
