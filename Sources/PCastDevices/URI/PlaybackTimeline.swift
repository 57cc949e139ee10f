import PCastMedia

/// Lays a file's presentation times end to end: from zero where it begins, and on without a seam when it is played
/// again.
struct PlaybackTimeline {
    /// The file's own time of its beginning, known from the first frame.
    private var beginning: TimeSpan?

    /// Where the present pass began, since the first.
    private var passStart = TimeSpan.zero

    /// Where everything that was played so far ends.
    private(set) var end = TimeSpan.zero

    /// Where a frame stands, since the beginning of the first pass. A little negative for a frame that stands before
    /// the one that was read first, as sound does that an encoder put ahead.
    mutating func position(of time: TimeSpan, length: TimeSpan) -> TimeSpan {
        let start = beginning ?? time
        beginning = start
        let position = passStart + (time - start)
        end = max(end, position + length)
        return position
    }

    /// The file is read from its beginning again, where the last pass ended.
    mutating func startAgain() { passStart = end }
}
