/// The newest captions of a live stream, from which a viewer takes the text of each displayed frame by the frame's
/// capture time.
///
/// At most ``capacity`` cues are kept. If there are more, the earliest are removed.
package struct CaptionGate: Hashable, Sendable {
    /// The maximum number of cues.
    package static let capacity = 64

    /// The cues, ordered by capture time and then by arrival.
    package private(set) var cues: [CaptionCue] = []

    /// Creates a gate without cues.
    package init() {}

    /// Adds a cue. A cue that is already known is not added again.
    package mutating func add(_ cue: CaptionCue) {
        guard !cues.contains(cue) else { return }
        cues.insert(cue, at: cues.firstIndex { $0.captureTime > cue.captureTime } ?? cues.endIndex)
        if cues.count > Self.capacity { cues.removeFirst() }
    }

    /// Returns the texts for a frame that was captured at a time, one below the other; nil if there are none.
    package func text(at time: WallTime) -> String? {
        guard !cues.isEmpty else { return nil }
        let shown = cues.filter { $0.captureTime <= time && time < $0.end }
        return shown.isEmpty ? nil : shown.map(\.text).joined(separator: "\n")
    }

    /// Returns the next time after `time` at which the text may change; nil if there is none.
    package func change(after time: WallTime) -> WallTime? {
        cues.flatMap { [$0.captureTime, $0.end] }.filter { $0 > time }.min()
    }

    /// Removes the cues that ended before a time.
    package mutating func removeAll(endedBefore time: WallTime) { cues.removeAll { $0.end < time } }
}
