import PCastCore

/// Bits a second of a count of bytes that grows, between the moments at which it was read.
struct RateMeter: Sendable {
    /// Readings closer together than this say too little.
    private static let shortest = TimeSpan.milliseconds(500)

    private var last: (bytes: Int, at: Instant)?

    /// Zero before there are two readings.
    private(set) var bitsPerSecond = 0

    mutating func read(bytes: Int, at now: Instant) {
        guard let last else { return self.last = (bytes, now) }
        let span = now - last.at
        guard span >= Self.shortest else { return }
        // A connection that was made anew counts from nothing.
        let grown = bytes >= last.bytes ? bytes - last.bytes : bytes
        bitsPerSecond = Int(Double(grown) * 8 / span.seconds)
        self.last = (bytes, now)
    }
}
