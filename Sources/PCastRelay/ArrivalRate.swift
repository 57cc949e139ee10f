import PCastMedia

/// The rate at which a track arrives, with what its packets have around them on the wire.
struct ArrivalRate {
    private static let window = TimeSpan.seconds(Int64(1))
    /// IPv4, UDP, RTP with a few extensions, and the cipher's tag.
    private static let overhead = 70

    private var bytes = 0
    private var start: Instant?

    /// Of the windows before this one, the recent ones more; 0 before the first is over.
    private(set) var bitsPerSecond: Int64 = 0

    mutating func arrived(_ payload: Int, at now: Instant) {
        let begun = start ?? now
        let span = now - begun
        if start == nil { start = now }
        if span >= Self.window {
            let measured = Int64(Double(bytes) * 8 / span.seconds)
            bitsPerSecond = bitsPerSecond == 0 ? measured : (bitsPerSecond * 3 + measured) / 4
            bytes = 0
            start = now
        }
        bytes += payload + Self.overhead
    }
}
