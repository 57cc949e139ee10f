import PCastCore

/// A queue of decoded audio from the current position on, in the order of positions. Audio that was sent to the audio
/// output stays until it was played, because it is sent again after a pause.
///
/// Playback needs 250 ms, and reading resumes below 150 ms. Audio without video needs four times as much, because it is
/// cheap to keep decoded. The maximum is ten seconds, for media whose video is stored far behind its audio.
struct AudioQueue {
    /// A frame with its position.
    struct Entry {
        var frame: AudioFrame
        var position: TimeSpan

        /// The position of the end of the frame.
        var end: TimeSpan { position + frame.length }
    }

    /// The duration below which reading resumes.
    static let low = TimeSpan.milliseconds(150)
    /// The duration at which reading pauses.
    static let high = TimeSpan.milliseconds(250)
    /// The maximum duration.
    private static let most = TimeSpan.seconds(10)

    private var entries: [Entry] = []
    /// The number of entries that were sent to the audio output.
    private var sentCount = 0
    /// The position of the end of all audio so far, played or not; nil before the first.
    private(set) var end: TimeSpan?

    /// Whether the queue is empty.
    var isEmpty: Bool { entries.isEmpty }
    /// The first entry; nil if the queue is empty.
    var first: Entry? { entries.first }
    /// The next entry to send to the audio output; nil if all were sent.
    var next: Entry? { sentCount < entries.count ? entries[sentCount] : nil }
    /// Whether an entry was sent that may not have been played yet.
    var hasUnplayedAudio: Bool { sentCount > 0 }

    /// The duration of the audio in the queue, without the time in which audio is absent.
    private(set) var length = TimeSpan.zero
    /// Whether the queue is at its maximum.
    var isAtLimit: Bool { length >= Self.most }

    /// Adds a frame. A frame that ends before the last one's end is ignored.
    mutating func append(_ frame: AudioFrame, at position: TimeSpan) {
        let entry = Entry(frame: frame, position: position)
        guard frame.sampleCount > 0, end.map({ entry.end > $0 }) ?? true else { return }
        entries.append(entry)
        length += frame.length
        end = entry.end
    }

    /// Returns the next entry to send, and marks it as sent; nil if there is none.
    mutating func takeNext() -> Entry? {
        guard let next else { return nil }
        sentCount += 1
        return next
    }

    /// Marks all entries as not sent.
    mutating func rewind() { sentCount = 0 }

    /// Removes entries that end at or before a position.
    mutating func discard(before position: TimeSpan) {
        let count = entries.prefix { $0.end <= position }.count
        guard count > 0 else { return }
        for entry in entries.prefix(count) { length -= entry.frame.length }
        entries.removeFirst(count)
        sentCount = max(0, sentCount - count)
    }

    /// Removes all entries, and forgets the last position.
    mutating func removeAll() { self = AudioQueue() }
}

extension AudioFrame {
    /// Returns the frame without the samples of its first time span.
    func dropping(_ span: TimeSpan) -> AudioFrame {
        let count = min(max(0, Int(ClockRate.opus.ticks(in: span))), sampleCount)
        guard count > 0 else { return self }
        var frame = self
        frame.samples.removeFirst(count * channels)
        frame.timestamp.ticks += Int64(count)
        return frame
    }
}
