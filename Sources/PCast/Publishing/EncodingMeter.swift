import PCastCore

/// What a video encoder did: counts since it began, and how long its last pictures took.
struct EncodingMeter: Sendable {
    var framesEncoded = 0
    /// What all of them took together.
    private(set) var total = TimeSpan.zero
    private var recent: [TimeSpan] = []
    private var next = 0

    /// Pictures that the mean is taken over: about a second.
    private static let window = 30

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

    /// The mean of the last pictures; nil before the first.
    var encodeTime: TimeSpan? {
        recent.isEmpty ? nil : recent.reduce(.zero, +) / Int64(recent.count)
    }
}
