import PCastCore

/// The arrivals of a track: the time of the last packet, and the bit rate on the wire, including headers.
struct TrackActivity {
    private static let spanCount = 8
    private static let span = TimeSpan.milliseconds(100)
    /// The headers of IPv4, UDP and RTP with a few extensions, and the authentication tag, in bytes.
    private static let overhead = 70

    /// The bytes of the last spans of 100 ms, each at its number modulo eight.
    private var bytes = SIMD8<Int32>(repeating: 0)
    /// The number of the newest span.
    private var newest: Int64 = 0
    private var start: Instant?

    private(set) var lastArrival: Instant?

    mutating func arrived(_ payload: Int, at now: Instant) {
        if start == nil || isSilent(at: now) {
            start = now
            bytes = SIMD8(repeating: 0)
            newest = Self.number(now)
        }
        move(to: Self.number(now))
        bytes[Int(newest) & (Self.spanCount - 1)] &+= Int32(payload + Self.overhead)
        lastArrival = now
    }

    private static func number(_ now: Instant) -> Int64 { now.nanoseconds / span.nanoseconds }

    private mutating func move(to number: Int64) {
        while newest < number {
            newest += 1
            bytes[Int(newest) & (Self.spanCount - 1)] = 0
        }
    }

    private static let silence = span * Int64(spanCount)

    private func isSilent(at now: Instant) -> Bool { lastArrival.map { now - $0 >= Self.silence } ?? true }

    /// The bit rate over the last 0.8 s; nil before that time has passed. If packets have just stopped, it is the last
    /// bit rate before; later it is nil.
    func bitrate(at now: Instant) -> Bitrate? {
        guard let start, let lastArrival, now - start >= Self.silence, !isSilent(at: now) else { return nil }
        let end = now - lastArrival > Self.span ? lastArrival : now
        var copy = self
        copy.move(to: Self.number(end))
        // The newest span is incomplete.
        let open = TimeSpan.nanoseconds(end.nanoseconds % Self.span.nanoseconds)
        let seconds = (Self.span * Int64(Self.spanCount - 1) + open).seconds
        return Bitrate(bitsPerSecond: Int64(Double(copy.bytes.wrappedSum()) * 8 / seconds))
    }
}
