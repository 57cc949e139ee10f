/// A rule that selects the cue points of a passage to process, and the cue point after which playback resumes.
///
/// For example, after a seek over three advertisements an application shows only the last one, and none twice
/// (Brightcove's `BCOVCuePointProgressPolicy`).
public struct CuePointProgressPolicy: Hashable, Sendable {
    /// The cue points of a passage that are processed.
    public enum Processing: Hashable, Sendable {
        /// All cue points.
        case all
        /// The last cue point.
        case final
        /// The first cue point.
        case first
    }

    /// The position at which playback resumes after processing.
    public enum Resuming: Hashable, Sendable {
        /// The position of the playhead.
        case contentPlayhead
        /// The position of the last processed cue point.
        case lastProcessedCuePoint
    }

    /// The decision about one passage.
    public struct Result: Hashable, Sendable {
        /// The cue points to process, in order.
        public var cuePoints: CuePointCollection
        /// The cue point after which playback resumes; nil to resume at the playhead.
        public var resumeCuePoint: CuePoint?
    }

    /// The cue points of a passage that are processed.
    public let processing: Processing
    /// The position at which playback resumes after processing.
    public let resuming: Resuming
    /// Whether cue points that were processed before are skipped.
    public let ignoresProcessed: Bool
    /// The cue points of all earlier passages.
    private var processed: Set<CuePoint> = []

    /// Creates a policy that has processed no cue points yet.
    public init(processing: Processing, resuming: Resuming, ignoresProcessed: Bool) {
        self.processing = processing
        self.resuming = resuming
        self.ignoresProcessed = ignoresProcessed
    }

    /// Returns the cue points of a passage to process. All cue points of the passage count as processed, including
    /// those that the policy does not select.
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
