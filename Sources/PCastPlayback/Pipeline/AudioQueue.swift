import PCastCore

/// Decoded sound from what is heard now on, in the order of its positions: what has been handed on to be heard is kept until
/// it was, for it is handed on again after a pause.
///
/// A quarter of a second is enough to play from, and when there is less than 150 ms more is read; four times of it where it
/// is without pictures, which would have to wait beside it decoded. Where pictures lie far behind sound in the media, up to
/// ten seconds wait.
struct AudioQueue {
    struct Entry {
        var frame: AudioFrame
        var position: TimeSpan

        var end: TimeSpan { position + frame.length }
    }

    static let low = TimeSpan.milliseconds(150)
    static let high = TimeSpan.milliseconds(250)
    private static let most = TimeSpan.seconds(10)

    private var entries: [Entry] = []
    /// How many of them were handed on.
    private var handed = 0
    /// Where the sound ends that came, whether it was heard or not; nil before the first.
    private(set) var end: TimeSpan?

    var isEmpty: Bool { entries.isEmpty }
    var first: Entry? { entries.first }
    /// What is to be handed on next.
    var next: Entry? { handed < entries.count ? entries[handed] : nil }
    /// Something was handed on that has perhaps not been heard.
    var isHanded: Bool { handed > 0 }

    /// How much there is.
    var length: TimeSpan { entries.first.map { end! - $0.position } ?? .zero }
    /// None may be added.
    var isAtLimit: Bool { length >= Self.most }

    /// What does not lie behind the last is left out.
    mutating func append(_ frame: AudioFrame, at position: TimeSpan) {
        let entry = Entry(frame: frame, position: position)
        guard frame.sampleCount > 0, end.map({ entry.end > $0 }) ?? true else { return }
        entries.append(entry)
        end = entry.end
    }

    mutating func takeNext() -> Entry? {
        guard let next else { return nil }
        handed += 1
        return next
    }

    /// Nothing was handed on.
    mutating func rewind() { handed = 0 }

    /// Forgets what was heard before a position.
    mutating func discard(before position: TimeSpan) {
        let count = entries.prefix { $0.end <= position }.count
        guard count > 0 else { return }
        entries.removeFirst(count)
        handed = max(0, handed - count)
    }

    mutating func removeAll() { self = AudioQueue() }
}

extension AudioFrame {
    /// What is left of it behind its first samples.
    func dropping(_ span: TimeSpan) -> AudioFrame {
        let count = min(max(0, Int(ClockRate.opus.ticks(in: span))), sampleCount)
        guard count > 0 else { return self }
        var frame = self
        frame.samples.removeFirst(count * channels)
        frame.timestamp.ticks += Int64(count)
        return frame
    }
}
