internal import PCastCodecs
internal import PCastCore
internal import PCastHLS

/// Reads a rendition of subtitles as far as it has come; nothing waits for it. Used by one thread at a time.
final class SubtitleReader {
    let loader: RenditionLoader
    private var segment: LoadedSegment?
    private var isTaken = false
    private var cues: [(text: String, range: ClosedRange<TimeSpan>)] = []
    private var seen: Set<WebVTTSegment.Cue> = []

    private static let seenLimit = 1_000

    init(_ loader: RenditionLoader) { self.loader = loader }

    func seek(to position: TimeSpan) {
        segment = loader.seek(to: position)
        isTaken = false
        cues.removeAll()
        seen.removeAll()
    }

    /// The texts that begin up to a position, each once.
    ///
    /// - Parameter clocks: those that pictures and sound have set; a segment of another waits for them.
    func read(to position: TimeSpan, _ clocks: MediaClocks) -> [ContentItem] {
        while let next = nextSegment(upTo: position) {
            guard let offset = clocks.offset(of: next) else { break }
            isTaken = true
            take(next, offset)
        }
        let due = cues.prefix { $0.range.lowerBound <= position }
        cues.removeFirst(due.count)
        if !due.isEmpty { loader.read(to: position) }
        return due.map { .subtitle($0.text, $0.range) }
    }

    private func nextSegment(upTo position: TimeSpan) -> LoadedSegment? {
        if segment == nil || isTaken {
            guard case .segment(let next)? = loader.next(after: segment) else { return nil }
            (segment, isTaken) = (next, false)
        }
        guard let segment, segment.bytes.isComplete, segment.start <= position + .seconds(1 as Int64) else {
            return nil
        }
        return segment
    }

    private func take(_ segment: LoadedSegment, _ offset: TimeSpan) {
        guard let text = WebVTTSegment(segment.bytes.all) else { return }
        if seen.count > Self.seenLimit { seen.removeAll() }
        // One that goes on over segments stands in each of them.
        for cue in text.cues where seen.insert(cue).inserted {
            let start = MediaClocks.unwound(
                cue.start + text.clockOffset + offset, near: segment.start, SegmentDemuxer.Container.mpegTS.wrap)
            cues.append((cue.text, start...(start + (cue.end - cue.start))))
        }
        cues.sort { $0.range.lowerBound < $1.range.lowerBound }
    }
}
