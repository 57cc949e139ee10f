import PCastCore

/// What media say of themselves, until the playhead comes there.
struct MetadataQueue {
    /// The earliest gives way.
    private static let capacity = 1_024

    private var waiting: [TimedMetadata] = []

    var first: TimeSpan? { waiting.first?.position }

    /// What is over at `position` is left out.
    mutating func add(_ metadata: TimedMetadata, after position: TimeSpan) {
        guard metadata.position + max(metadata.duration ?? .zero, .zero) >= position else { return }
        waiting.insert(metadata, at: waiting.firstIndex { $0.position > metadata.position } ?? waiting.endIndex)
        if waiting.count > Self.capacity { waiting.removeFirst() }
    }

    mutating func take(upTo position: TimeSpan) -> TimedMetadata? {
        guard let first = waiting.first, first.position <= position else { return nil }
        return waiting.removeFirst()
    }

    mutating func removeAll() { waiting.removeAll() }
}
