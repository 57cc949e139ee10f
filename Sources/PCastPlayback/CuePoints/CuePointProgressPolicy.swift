/// Which of the cue points of a passage to act on, and where to go on from then: after a seek over three advertisements,
/// say, to show the last of them only, and none that was shown before.
public struct CuePointProgressPolicy: Hashable, Sendable {
    public enum Processing: Hashable, Sendable {
        case all
        case final
        case first
    }

    public enum Resuming: Hashable, Sendable {
        /// Where the playhead went.
        case contentPlayhead
        /// Behind the last cue point that was acted on.
        case lastProcessedCuePoint
    }

    public struct Result: Hashable, Sendable {
        /// To be acted on, in their order.
        public var cuePoints: CuePointCollection
        /// Behind which to go on; nil to go on where the playhead is.
        public var resumeCuePoint: CuePoint?
    }

    public let processing: Processing
    public let resuming: Resuming
    /// What was in an earlier passage is passed over.
    public let ignoresProcessed: Bool
    private var processed: Set<CuePoint> = []

    public init(processing: Processing, resuming: Resuming, ignoresProcessed: Bool) {
        self.processing = processing
        self.resuming = resuming
        self.ignoresProcessed = ignoresProcessed
    }

    /// A passage counts as processed as a whole, though only one cue point of it is acted on: whoever goes back over it does
    /// not get the others then.
    public mutating func apply(to passage: CuePointPassage) -> Result {
        var fresh = Array(passage.cuePoints)
        if ignoresProcessed {
            fresh.removeAll { processed.contains($0) }
            processed.formUnion(passage.cuePoints)
        }
        let chosen: [CuePoint] =
            switch processing {
            case .all: fresh
            case .final: Array(fresh.suffix(1))
            case .first: Array(fresh.prefix(1))
            }
        return Result(
            cuePoints: CuePointCollection(chosen),
            resumeCuePoint: resuming == .lastProcessedCuePoint ? chosen.last : nil)
    }
}
