import PCastCore

/// Decoded pictures that wait until they are due, in the order of their positions.
///
/// Eight of them are enough to play from, and when there are fewer than four more are read. Where sound lies far behind
/// pictures in the media, up to 96 wait, or what takes 192 MB.
struct VideoQueue {
    struct Entry {
        var frame: VideoFrame
        var position: TimeSpan
        /// nil where nobody says.
        var duration: TimeSpan?
    }

    static let low = 4
    static let high = 8
    private static let mostPictures = 96
    private static let mostBytes = 192 << 20
    /// Of a picture of which nothing is known.
    private static let usualInterval = TimeSpan.milliseconds(40)
    /// The last picture of which nothing is known stands for no longer than this.
    private static let longestInterval = TimeSpan.seconds(1)

    private var entries: [Entry] = []
    private var byteCount = 0
    /// Where the last picture begins that came, whether it waits or not; nil before the first.
    private(set) var last: TimeSpan?
    /// Where it ends, as far as anybody knows.
    private(set) var end: TimeSpan?

    var count: Int { entries.count }
    var isEmpty: Bool { entries.isEmpty }
    var first: Entry? { entries.first }
    var second: Entry? { entries.count > 1 ? entries[1] : nil }

    /// None may be added.
    var isAtLimit: Bool { fills(1, of: 1) }
    /// So many wait that something else is missing.
    var isFarAhead: Bool { fills(1, of: 2) }

    private func fills(_ part: Int, of whole: Int) -> Bool {
        entries.count >= Self.mostPictures * part / whole
            || entries.count >= Self.high * 2 && byteCount >= Self.mostBytes * part / whole
    }

    /// One that does not lie behind the last is left out.
    mutating func append(_ frame: VideoFrame, at position: TimeSpan, duration: TimeSpan?) {
        if let last, position <= last { return }
        let interval = last.map { min(position - $0, Self.longestInterval) } ?? Self.usualInterval
        entries.append(Entry(frame: frame, position: position, duration: duration))
        byteCount += frame.memory.count
        (last, end) = (position, position + (duration ?? interval))
    }

    mutating func removeFirst() -> Entry {
        let entry = entries.removeFirst()
        byteCount -= entry.frame.memory.count
        return entry
    }

    mutating func removeAll() { self = VideoQueue() }
}
