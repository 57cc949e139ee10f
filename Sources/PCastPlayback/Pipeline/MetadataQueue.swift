import PCastCore

/// A queue of timed metadata until the playhead reaches it.
struct MetadataQueue {
    /// The maximum number of entries. The earliest are removed.
    private static let capacity = 1_024

    private var waiting: [TimedMetadata] = []

    /// The position of the first entry; nil if the queue is empty.
    var first: TimeSpan? { waiting.first?.position }

    /// Adds metadata, unless it ends before `position`.
    mutating func add(_ metadata: TimedMetadata, after position: TimeSpan) {
        guard metadata.position + max(metadata.duration ?? .zero, .zero) >= position else { return }
        waiting.insert(metadata, at: waiting.firstIndex { $0.position > metadata.position } ?? waiting.endIndex)
        if waiting.count > Self.capacity { waiting.removeFirst() }
    }

    /// Returns and removes the first entry at or before a position; nil if there is none.
    mutating func take(upTo position: TimeSpan) -> TimedMetadata? {
        guard let first = waiting.first, first.position <= position else { return nil }
        return waiting.removeFirst()
    }

    /// Removes all entries.
    mutating func removeAll() { waiting.removeAll() }
}
