import PCastCore
import PCastDatabase
import PCastPackaging

/// Creates the description of a movie from the parts of a recording.
struct MovieBuilder {
    /// A part with its position in the recording.
    private struct PlacedPart {
        let file: File
        let part: PartFileReader.Part
        let fragment: CMAFFragmentDescription
        let position: TimeSpan
        /// The origin of the decoding times of the part.
        let origin: Origin
    }

    /// The parts whose decoding times are of one clock without a discontinuity.
    private struct Origin: Hashable {
        let period: Int
        let rendition: String
    }

    /// A file of the recording.
    private struct File {
        let index: Int32
        let reader: PartFileReader
        let description: CMAFTrackDescription
    }

    /// A track, and the parts that it still needs.
    private struct Input {
        var track: ProgressiveTrack
        var segments: ArraySlice<RecordingPresentation.PlacedSegment>
        let start: TimeSpan
        let end: TimeSpan
        /// The parts of the segment that was read last.
        var parts: ArraySlice<PlacedPart> = []
        /// A decoding time of an origin, and the time in the track that it has.
        var anchor: (origin: Origin, decodeTime: Int64, time: Int64)?
    }

    private let source: RecordingFiles
    private var inputs: [Input] = []
    private var names: [RecordingFolder.FileName] = []
    private var chunks: [RecordedMovie.Chunk] = []
    private var dataSize: Int64 = 0
    /// The file that each rendition was read from last.
    private var files: [String: (name: RecordingFolder.FileName, file: File)] = [:]

    /// The difference of a decoding time from the position of its part from which on the position is used.
    private static let maximumDeviation = TimeSpan.milliseconds(250)
    /// The largest difference of two decoding times of an origin.
    private static let maximumSpan: Int64 = 1 << 40

    init(_ source: RecordingFiles) { self.source = source }

    /// Adds a track with the parts of segments, if there are any, that are in a range of the recording.
    ///
    /// - Throws: ``RecordingError``.
    mutating func add(
        _ segments: ArraySlice<RecordingPresentation.PlacedSegment>, from start: TimeSpan, to end: TimeSpan
    ) throws(RecordingError) {
        guard let first = segments.first else { return }
        let description = try file(of: first.segment).description
        inputs.append(
            Input(
                track: ProgressiveTrack(description.mediaType, clockRate: description.clockRate), segments: segments,
                start: start, end: end))
    }

    /// Appends all parts in the order of their positions, so that a player reads both tracks at about the same place.
    /// Returns false if there are more samples than the maximum.
    ///
    /// - Throws: ``RecordingError``.
    mutating func appendAll(maximumSampleCount: Int) throws(RecordingError) -> Bool {
        var count = 0
        while true {
            for index in inputs.indices { try readParts(of: index) }
            let next = inputs.indices.filter { !inputs[$0].parts.isEmpty }.min {
                (inputs[$0].parts.first?.position ?? .zero) < (inputs[$1].parts.first?.position ?? .zero)
            }
            guard let next, let part = inputs[next].parts.popFirst() else { return true }
            count += part.fragment.samples.count
            guard count <= maximumSampleCount else { return false }
            append(part, to: next)
        }
    }

    /// Reads the next segment of a track, if it has no more parts.
    private mutating func readParts(of index: Int) throws(RecordingError) {
        while inputs[index].parts.isEmpty, let next = inputs[index].segments.popFirst() {
            let file = try file(of: next.segment)
            guard file.description.mediaType == inputs[index].track.mediaType else {
                throw .corrupt(path: file.reader.path)
            }
            let (start, end) = (inputs[index].start, inputs[index].end)
            let origin = Origin(period: next.period, rendition: next.segment.rendition)
            var parts: [PlacedPart] = []
            var position = next.position
            try file.reader.readDescriptions(of: next.segment) { part, fragment in
                let partStart = position
                position = position + part.header.duration
                guard let fragment, position > start, partStart < end else { return }
                parts.append(
                    PlacedPart(file: file, part: part, fragment: fragment, position: partStart, origin: origin))
            }
            inputs[index].parts = parts[...]
        }
    }

    /// Returns the file of a segment.
    private mutating func file(of segment: SegmentRecord) throws(RecordingError) -> File {
        let name = RecordingFolder.FileName(
            epoch: segment.epoch, rendition: segment.rendition, number: segment.file)
        if let known = files[segment.rendition], known.name == name { return known.file }
        let reader = try source.open(name)
        guard let beginning = try reader.beginning(),
            let description = CMAFTrackDescription(initializationSegment: beginning.initialization)
        else { throw .corrupt(path: reader.path) }
        let file = File(index: Int32(names.count), reader: reader, description: description)
        names.append(name)
        files[segment.rendition] = (name, file)
        return file
    }

    private mutating func append(_ part: PlacedPart, to index: Int) {
        let time = time(of: part, in: index)
        inputs[index].track.append(part.fragment, of: part.file.description, at: time, offset: dataSize)
        chunks.append(
            RecordedMovie.Chunk(
                file: part.file.index, dataOffset: Int32(part.fragment.dataOffset),
                length: Int32(part.fragment.dataSize), part: part.part.offset, offset: dataSize))
        dataSize += Int64(part.fragment.dataSize)
    }

    /// Returns the decoding time of a part in the track. In a period, the times are those of the fragments, which are
    /// exact. A period begins at its position.
    private mutating func time(of part: PlacedPart, in index: Int) -> Int64 {
        let clock = inputs[index].track.clockRate
        let decodeTime = part.fragment.decodeTime - part.file.description.priming
        let expected = clock.ticks(in: part.position)
        if let anchor = inputs[index].anchor, anchor.origin == part.origin,
            (decodeTime - anchor.decodeTime).magnitude < Self.maximumSpan
        {
            let distance = decodeTime - anchor.decodeTime
            let rate = part.file.description.clockRate
            let time = anchor.time + (rate == clock ? distance : clock.ticks(in: rate.span(ofTicks: distance)))
            if abs(time - expected) < clock.ticks(in: Self.maximumDeviation) { return time }
        }
        inputs[index].anchor = (part.origin, decodeTime, expected)
        return expected
    }

    /// Returns the movie; nil if no track has media in the range.
    func movie(from start: TimeSpan, to end: TimeSpan, created: WallTime) -> RecordedMovie? {
        var tracks: [(track: ProgressiveTrack, edit: ProgressiveMovie.Edit)] = []
        for input in inputs {
            guard let edit = Self.edit(of: input.track, from: start, to: end) else { continue }
            tracks.append((input.track, edit))
        }
        guard !tracks.isEmpty else { return nil }
        return RecordedMovie(
            head: ProgressiveMovie.head(tracks, dataSize: dataSize, created: created), chunks: chunks, files: source,
            names: names, hasVideo: tracks.contains { $0.track.mediaType == .video })
    }

    private static func edit(
        of track: ProgressiveTrack, from start: TimeSpan, to end: TimeSpan
    ) -> ProgressiveMovie.Edit? {
        guard let trackStart = track.start, let trackEnd = track.end else { return nil }
        let clock = track.clockRate
        func movieTicks(_ ticks: Int64) -> Int64 { ProgressiveMovie.clockRate.ticks(in: clock.span(ofTicks: ticks)) }
        let first = max(clock.ticks(in: start), trackStart)
        let last = min(clock.ticks(in: end), trackEnd)
        guard first < last else { return nil }
        return ProgressiveMovie.Edit(
            emptyDuration: movieTicks(first - clock.ticks(in: start)), mediaTime: first - trackStart,
            duration: movieTicks(last - first))
    }
}
