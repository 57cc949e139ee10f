import PCastCore

/// The wall times that timed metadata told, each once however often it is read.
struct MetadataAnchors {
    /// The oldest are forgotten.
    private static let capacity = 1_024

    private(set) var all: [TimecodeAnchor] = []
    /// Rises with each that is new.
    private(set) var version = 0

    mutating func learn(from metadata: TimedMetadata) {
        guard let wallTime = metadata.wallTime else { return }
        let anchor = TimecodeAnchor(position: metadata.position, wallTime: wallTime, source: .timedMetadata)
        guard !all.contains(anchor) else { return }
        all.append(anchor)
        if all.count > Self.capacity { all.removeFirst() }
        version += 1
    }
}
