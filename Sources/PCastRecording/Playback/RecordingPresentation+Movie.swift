package import PCastCore
import PCastDatabase
import PCastPackaging

/// The recording as one MP4 file.
extension RecordingPresentation {
    /// A segment with its position in the recording.
    struct PlacedSegment {
        let segment: SegmentRecord
        /// The index of its period.
        let period: Int
        /// The time from the beginning of the recording, without the time between periods.
        let position: TimeSpan

        var end: TimeSpan { position + segment.duration }
    }

    /// The media before the beginning of a range from which audio is decoded: more than the priming of AAC, and the 80 ms
    /// of Opus (RFC 7845, section 4.6).
    private static let audioPreroll = TimeSpan.milliseconds(100)

    /// Returns the position in the recording of a capture time. A time between two periods is that of the later one.
    package func position(of time: WallTime) -> TimeSpan {
        var position = TimeSpan.zero
        for period in periods {
            if time < period.end { return position + max(.zero, time - period.start) }
            position = position + (period.end - period.start)
        }
        return position
    }

    /// Returns the capture time of a position in the recording.
    private func captureTime(at position: TimeSpan) -> WallTime {
        var rest = position
        for period in periods {
            let duration = period.end - period.start
            if rest < duration { return period.start + rest }
            rest = rest - duration
        }
        return periods.last?.end ?? WallTime(nanosecondsSinceEpoch: 0)
    }

    /// Creates an MP4 file of a range of the recording, without encoding: the best video, and AAC if there is any, or else
    /// Opus. It reads the descriptions of all parts in the range.
    ///
    /// Video is decoded from the last key frame before the range, and audio from 100 ms before it. Edit lists hide both.
    ///
    /// - Parameters:
    ///   - files: The files of the recording.
    ///   - start: The beginning of the range, from the beginning of the recording.
    ///   - end: The end of the range; nil for that of the recording.
    ///   - maximumSampleCount: The maximum number of samples.
    /// - Returns: The file, or the reason why there is none.
    /// - Throws: ``RecordingError``.
    package func movie(
        in files: RecordingFiles, from start: TimeSpan = .zero, to end: TimeSpan? = nil,
        maximumSampleCount: Int = RecordedMovie.maximumSampleCount
    ) throws(RecordingError) -> RecordedMovie.Result {
        let start = max(.zero, start)
        let end = min(end ?? duration, duration)
        guard start < end else { return .nothing }
        let video = tracks.filter { $0.kind == .video }.max {
            ($0.largest?.dimensions?.height ?? 0, $0.averageBandwidth)
                < ($1.largest?.dimensions?.height ?? 0, $1.averageBandwidth)
        }
        let audio = tracks.first { $0.kind == .aac } ?? tracks.first { $0.kind == .opus }
        var builder = MovieBuilder(files)
        if let video {
            let placed = placedSegments(of: video)
            let first = placed.lastIndex { $0.position <= start } ?? 0
            try builder.add(placed[first...].prefix { $0.position < end }, from: .zero, to: end)
        }
        if let audio {
            let from = start - Self.audioPreroll
            let segments = placedSegments(of: audio).drop { $0.end <= from }.prefix { $0.position < end }
            try builder.add(segments, from: from, to: end)
        }
        guard try builder.appendAll(maximumSampleCount: maximumSampleCount) else { return .tooLong }
        return builder.movie(from: start, to: end, created: captureTime(at: start)).map { .movie($0) } ?? .nothing
    }

    /// Returns the segments of a track that have media. A segment that overlaps the previous one is left out, as in
    /// playlists.
    private func placedSegments(of track: RecordedTrack) -> [PlacedSegment] {
        var placed: [PlacedSegment] = []
        var rest = track.segments.filter { !$0.isGap }[...]
        var offset = TimeSpan.zero
        for (index, period) in periods.enumerated() {
            var position = period.start
            while let segment = rest.first, period.contains(segment) {
                rest = rest.dropFirst()
                guard segment.start + Self.tolerance >= position else { continue }
                position = segment.start + segment.duration
                placed.append(
                    PlacedSegment(segment: segment, period: index, position: offset + (segment.start - period.start)))
            }
            offset = offset + (period.end - period.start)
        }
        return placed
    }
}
