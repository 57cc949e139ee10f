internal import PCastCodecs
internal import PCastCore
internal import PCastHLS

/// Reads a subtitle rendition as far as it is loaded. Playback does not wait for it. It is not thread-safe.
final class SubtitleReader {
    let loader: RenditionLoader
    private var segment: LoadedSegment?
    private var hasSubscribers = false
    private var cues: [(text: String, range: ClosedRange<TimeSpan>)] = []
    private var seen: Set<WebVTTSegment.Cue> = []

    /// The maximum number of cues that are remembered to detect repetitions.
    private static let seenLimit = 1_000

    /// Creates a reader.
    init(_ loader: RenditionLoader) { self.loader = loader }

    /// Seeks to a position.
    func seek(to position: TimeSpan) {
        segment = loader.seek(to: position)
        hasSubscribers = false
        cues.removeAll()
        seen.removeAll()
    }

    /// Returns the subtitles that begin up to a position, each once. `clocks` are those of audio and video; a segment
    /// with an unknown clock waits until they set it.
    func read(to position: TimeSpan, _ clocks: MediaClocks) -> [ContentItem] {
        while let next = nextSegment(upTo: position) {
            guard let offset = clocks.offset(of: next) else { break }
            hasSubscribers = true
            take(next, offset)
        }
        let due = cues.prefix { $0.range.lowerBound <= position }
        cues.removeFirst(due.count)
        if !due.isEmpty { loader.read(to: position) }
        return due.map { .subtitle($0.text, $0.range) }
    }

    /// Returns the next segment that begins up to a position; nil if it is not loaded.
    private func nextSegment(upTo position: TimeSpan) -> LoadedSegment? {
        if segment == nil || hasSubscribers {
            guard case .segment(let next)? = loader.next(after: segment) else { return nil }
            (segment, hasSubscribers) = (next, false)
        }
        guard let segment, segment.bytes.isComplete, segment.start <= position + .seconds(1 as Int64) else {
            return nil
        }
        return segment
    }

    /// Adds the cues of a segment.
    private func take(_ segment: LoadedSegment, _ offset: TimeSpan) {
        guard let text = WebVTTSegment(segment.bytes.all) else { return }
        if seen.count > Self.seenLimit { seen.removeAll() }
        // A cue that extends over several segments is in each of them.
        for cue in text.cues where seen.insert(cue).inserted {
            let start = MediaClocks.unwound(
                cue.start + text.clockOffset + offset, near: segment.start, SegmentDemuxer.Container.mpegTS.wrap)
            cues.append((cue.text, start...(start + (cue.end - cue.start))))
        }
        cues.sort { $0.range.lowerBound < $1.range.lowerBound }
    }
}
