import PCastCore
import PCastIO
import PCastWeb

/// A gate that rejects connections if there are too many, or too many per second.
struct PlatformConnectionFilter: ConnectionFilter {
    let limiter: RequestLimiter

    func admits(_ address: IPAddress?) -> Bool {
        limiter.admitConnection(from: address, at: MonotonicClock.now())
    }

    func closed(_ address: IPAddress?) { limiter.connectionClosed(from: address) }
}
