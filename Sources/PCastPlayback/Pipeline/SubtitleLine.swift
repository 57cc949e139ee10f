import PCastCore

/// The texts of a track, each shown from its position on until its end. Kept over seeks, so that what was read once is there
/// again; the oldest to come is forgotten.
struct SubtitleLine {
    private struct Text: Hashable {
        var text: String
        var begin: TimeSpan
        var end: TimeSpan
    }

    private static let capacity = 1_024

    /// By where they begin, and then as they came.
    private var texts: [Text] = []

    /// An empty text takes away what is shown.
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

    /// What is shown at a position, one line each; nil for nothing.
    func text(at position: TimeSpan) -> String? {
        let shown = texts.filter { $0.begin <= position && position < $0.end }
        return shown.isEmpty ? nil : shown.map(\.text).joined(separator: "\n")
    }

    /// Where that changes next.
    func change(after position: TimeSpan) -> TimeSpan? {
        var next: TimeSpan?
        for text in texts {
            for edge in [text.begin, text.end] where edge > position { next = min(next ?? edge, edge) }
        }
        return next
    }

    mutating func removeAll() { texts.removeAll() }
}
