import PCastCore

/// The bit rate of a growing count of bytes, measured between the times at which the count is read.
struct RateMeter: Sendable {
    /// The minimum interval between two readings. A shorter one is inaccurate.
    private static let shortest = TimeSpan.milliseconds(500)

    private var last: (bytes: Int, at: Instant)?

    /// The bit rate in bits per second; 0 before there are two readings.
    private(set) var bitsPerSecond = 0

    /// Reads the count of bytes.
    mutating func read(bytes: Int, at now: Instant) {
        guard let last else { return self.last = (bytes, now) }
        let span = now - last.at
        guard span >= Self.shortest else { return }
        // A new connection counts from zero.
        let grown = bytes >= last.bytes ? bytes - last.bytes : bytes
        bitsPerSecond = Int(Double(grown) * 8 / span.seconds)
        self.last = (bytes, now)
    }
}
