import PCastCore

/// What a publisher may send at most, whatever its viewers could take.
///
/// It is asked for that (REMB) as soon as it sends half of it, and on from there. Who sends half as much again for ten
/// seconds does not heed it, and has to go.
struct BitrateLimit {
    /// Nil for as much as it likes.
    private(set) var bitrate: Bitrate?
    private var isNear = false
    private var exceededSince: Instant?

    private static let timeout = TimeSpan.seconds(10 as Int64)

    mutating func change(to bitrate: Bitrate?) {
        guard bitrate != self.bitrate else { return }
        self.bitrate = bitrate
        exceededSince = nil
    }

    /// What the publisher is to be asked for; nil for nothing.
    var request: Bitrate? { isNear ? bitrate : nil }

    /// - Parameter measured: what arrives; nil while it is not known.
    /// - Returns: whether it has been too much for too long.
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
