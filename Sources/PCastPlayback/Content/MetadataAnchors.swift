import PCastCore

/// The wall-clock times from timed metadata, each once, even if it is read again.
struct MetadataAnchors {
    /// The maximum number of anchors. The oldest are removed.
    private static let capacity = 1_024

    private(set) var all: [TimecodeAnchor] = []
    /// The number of changes.
    private(set) var version = 0

    /// Adds the wall-clock time of metadata, if it has one.
    mutating func learn(from metadata: TimedMetadata) {
        guard let wallTime = metadata.wallTime else { return }
        let anchor = TimecodeAnchor(position: metadata.position, wallTime: wallTime, source: .timedMetadata)
        guard !all.contains(anchor) else { return }
        all.append(anchor)
        if all.count > Self.capacity { all.removeFirst() }
        version += 1
    }
}
