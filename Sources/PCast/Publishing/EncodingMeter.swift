import PCastCore

/// The statistics of a video encoder: counters since it began, and the encode times of the last frames.
struct EncodingMeter: Sendable {
    /// The number of encoded frames.
    var framesEncoded = 0
    /// The total encode time.
    private(set) var total = TimeSpan.zero
    private var recent: [TimeSpan] = []
    private var next = 0

    /// The number of frames of the mean, which is about a second.
    private static let window = 30

    /// Records that a frame was encoded in that time.
    mutating func encoded(in span: TimeSpan) {
        framesEncoded += 1
        total += span
        if recent.count < Self.window {
            recent.append(span)
        } else {
            recent[next] = span
            next = (next + 1) % Self.window
        }
    }

    /// The mean encode time of the last frames; nil before the first one.
    var encodeTime: TimeSpan? {
        recent.isEmpty ? nil : recent.reduce(.zero, +) / Int64(recent.count)
    }
}
