import PCastCore

/// The maximum bit rate of a publisher, regardless of what its viewers could receive.
///
/// The publisher is asked to keep to it (REMB) as soon as it sends half of it, and from then on. A publisher that
/// exceeds it by half for ten seconds ignores the request and must be removed.
struct BitrateLimit {
    /// The limit; nil if there is none.
    private(set) var bitrate: Bitrate?
    private var isNear = false
    private var exceededSince: Instant?

    private static let timeout = TimeSpan.seconds(10 as Int64)

    mutating func change(to bitrate: Bitrate?) {
        guard bitrate != self.bitrate else { return }
        self.bitrate = bitrate
        exceededSince = nil
    }

    /// The bit rate to request from the publisher; nil if nothing is to be requested.
    var request: Bitrate? { isNear ? bitrate : nil }

    /// Compares a measured bit rate with the limit. The measurement is nil while it is unknown.
    /// Returns true if the limit has been exceeded by too much for too long.
    mutating func observe(_ measured: Bitrate?, at now: Instant) -> Bool {
        guard let bitrate, let measured else { return false }
        if measured.bitsPerSecond * 2 >= bitrate.bitsPerSecond { isNear = true }
        guard measured.bitsPerSecond * 2 > bitrate.bitsPerSecond * 3 else {
            exceededSince = nil
            return false
        }
        let since = exceededSince ?? now
        exceededSince = since
        return now - since >= Self.timeout
    }
}
