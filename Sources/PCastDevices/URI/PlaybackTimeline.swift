import PCastCore

/// Converts the presentation times of a file to positions that start at zero and continue seamlessly when the file
/// repeats.
struct PlaybackTimeline {
    /// The presentation time of the first frame; nil before it.
    private var beginning: TimeSpan?

    /// The position at which the current pass started.
    private var passStart = TimeSpan.zero

    /// The end of everything that was played.
    private(set) var end = TimeSpan.zero

    /// Returns the position of a frame since the start of the first pass. It may be slightly negative for a frame
    /// before the first one that was read, e.g., because of an encoder's priming samples.
    mutating func position(of time: TimeSpan, length: TimeSpan) -> TimeSpan {
        let start = beginning ?? time
        beginning = start
        let position = passStart + (time - start)
        end = max(end, position + length)
        return position
    }

    /// Starts another pass at the end of the last one.
    mutating func startNextPass() { passStart = end }
}
