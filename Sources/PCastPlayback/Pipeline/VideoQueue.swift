import PCastCore

/// A queue of decoded video frames until they are due, in the order of positions.
///
/// Playback needs eight frames, and reading resumes below four. The maximum is 96 frames or 192 MiB, for media whose
/// audio is stored far behind its video.
struct VideoQueue {
    /// A frame with its position.
    struct Entry {
        var frame: VideoFrame
        var position: TimeSpan
        /// The duration; nil if unknown.
        var duration: TimeSpan?
    }

    /// The number of frames below which reading resumes.
    static let low = 4
    /// The number of frames at which reading pauses.
    static let high = 8
    /// The maximum number of frames.
    private static let maximumFrames = 96
    /// The maximum size of the frames in bytes.
    private static let maximumBytes = 192 << 20
    /// The assumed duration of the first frame if it is unknown.
    private static let defaultInterval = TimeSpan.milliseconds(40)
    /// The maximum duration that is derived from the previous interval.
    static let longestInterval = TimeSpan.seconds(1)

    private var entries: [Entry] = []
    private var byteCount = 0
    /// The position of the last frame so far, displayed or not; nil before the first.
    private(set) var last: TimeSpan?
    /// The position of the end of the last frame, which may be estimated; nil before the first.
    private(set) var end: TimeSpan?

    /// The number of frames.
    var count: Int { entries.count }
    /// Whether the queue is empty.
    var isEmpty: Bool { entries.isEmpty }
    /// The first entry; nil if the queue is empty.
    var first: Entry? { entries.first }
    /// The second entry; nil if there are fewer than two.
    var second: Entry? { entries.count > 1 ? entries[1] : nil }

    /// Whether the queue is at its maximum.
    var isAtLimit: Bool { fills(1, of: 1) }
    /// Whether the queue is half full, which means that the other medium is missing.
    var isFarAhead: Bool { fills(1, of: 2) }

    /// Whether the queue has reached a fraction of its maximum.
    private func fills(_ part: Int, of whole: Int) -> Bool {
        entries.count >= Self.maximumFrames * part / whole
            || entries.count >= Self.high * 2 && byteCount >= Self.maximumBytes * part / whole
    }

    /// Adds a frame. A frame that is not after the last one is ignored.
    mutating func append(_ frame: VideoFrame, at position: TimeSpan, duration: TimeSpan?) {
        if let last, position <= last { return }
        let interval = last.map { min(position - $0, Self.longestInterval) } ?? Self.defaultInterval
        entries.append(Entry(frame: frame, position: position, duration: duration))
        byteCount += frame.memory.count
        (last, end) = (position, position + (duration ?? interval))
    }

    /// Removes and returns the first entry. The queue must not be empty.
    mutating func removeFirst() -> Entry {
        let entry = entries.removeFirst()
        byteCount -= entry.frame.memory.count
        return entry
    }

    /// Removes all entries, and forgets the last position.
    mutating func removeAll() { self = VideoQueue() }
}
