import PCastCore

/// The texts of a subtitle track, each with the range of positions in which it is displayed. They are kept across
/// seeks, because the content may not be read again. The earliest are removed.
struct SubtitleLine {
    private struct Text: Hashable {
        var text: String
        var begin: TimeSpan
        var end: TimeSpan
    }

    /// The maximum number of texts.
    private static let capacity = 1_024

    /// The texts, ordered by their beginning and then by their arrival.
    private var texts: [Text] = []

    /// Adds a text for a range of positions. An empty text ends all texts that are displayed at its beginning.
    mutating func add(_ text: String, over range: ClosedRange<TimeSpan>) {
        let (begin, end) = (range.lowerBound, range.upperBound)
        if text.isEmpty {
            for index in texts.indices where texts[index].begin < begin && texts[index].end > begin {
                texts[index].end = begin
            }
            return
        }
        let new = Text(text: text, begin: begin, end: end)
        guard begin < end, !texts.contains(new) else { return }
        texts.insert(new, at: texts.firstIndex { $0.begin > begin } ?? texts.endIndex)
        if texts.count > Self.capacity { texts.removeFirst() }
    }

    /// Returns the texts at a position, one per line; nil if there are none.
    func text(at position: TimeSpan) -> String? {
        let shown = texts.filter { $0.begin <= position && position < $0.end }
        return shown.isEmpty ? nil : shown.map(\.text).joined(separator: "\n")
    }

    /// Returns the next position after `position` at which the text changes; nil if there is none.
    func change(after position: TimeSpan) -> TimeSpan? {
        var next: TimeSpan?
        for text in texts {
            for edge in [text.begin, text.end] where edge > position { next = min(next ?? edge, edge) }
        }
        return next
    }

    /// Removes all texts.
    mutating func removeAll() { texts.removeAll() }
}
