package import PCastCore

/// A track of a progressive movie: the tables that describe its samples (ISO/IEC 14496-12, section 8.6 and 8.7). The data
/// of the samples stay where they are.
package struct ProgressiveTrack: Sendable {
    /// A value that several samples in a row have.
    private struct Run: Sendable {
        var count: UInt32
        let value: UInt32
    }

    /// The chunks in a row that have the same number of samples and the same sample entry.
    private struct ChunkRun: Sendable {
        let first: UInt32
        let sampleCount: UInt32
        let entry: UInt32
    }

    /// Video or audio.
    package let mediaType: MediaType
    /// The clock of the track.
    package let clockRate: ClockRate
    /// The decoding time of the first sample in ticks; nil before it.
    package private(set) var start: Int64?

    private var entries: [[UInt8]] = []
    private var width: UInt16 = 0
    private var height: UInt16 = 0
    private var sizes: [UInt32] = []
    private var durations: [Run] = []
    private var compositionOffsets: [Run] = []
    private var syncSamples: [UInt32] = []
    private var chunkRuns: [ChunkRun] = []
    private var chunkOffsets: [Int64] = []
    /// The decoding time of the last sample.
    private var lastTime: Int64 = 0
    /// The duration of the last sample, until the next one is known.
    private var lastDuration: UInt32 = 0

    /// Creates a track without samples.
    package init(_ mediaType: MediaType, clockRate: ClockRate) {
        self.mediaType = mediaType
        self.clockRate = clockRate
    }

    /// The number of samples.
    package var sampleCount: Int { sizes.count }

    /// The end of the last sample in ticks; nil before the first.
    package var end: Int64? { start.map { _ in lastTime + Int64(lastDuration) } }

    /// Appends the samples of a fragment as a chunk.
    ///
    /// The duration of the sample before it reaches to its first sample, so absent media prolong the last sample. A
    /// fragment that begins before the last sample is moved behind it.
    ///
    /// - Parameters:
    ///   - fragment: The fragment.
    ///   - description: The track of the fragment, of the same media type. Its sample entry is added unless it is known.
    ///   - time: The decoding time of the first sample, in ticks of this track's clock.
    ///   - offset: The offset of the samples in the media data.
    package mutating func append(
        _ fragment: CMAFFragmentDescription, of description: CMAFTrackDescription, at time: Int64, offset: Int64
    ) {
        let entry = index(of: description)
        var time = start == nil ? time : max(time, lastTime + 1)
        for sample in fragment.samples {
            if start == nil {
                start = time
            } else {
                Self.append(UInt32(clamping: time - lastTime), to: &durations)
            }
            sizes.append(sample.size)
            if sample.isSync { syncSamples.append(UInt32(sizes.count)) }
            Self.append(UInt32(bitPattern: sample.compositionOffset), to: &compositionOffsets)
            lastTime = time
            let ticks = Int64(sample.duration)
            lastDuration = UInt32(
                clamping: description.clockRate == clockRate
                    ? ticks : clockRate.ticks(in: description.clockRate.span(ofTicks: ticks)))
            time += max(1, Int64(lastDuration))
        }
        let count = UInt32(fragment.samples.count)
        chunkOffsets.append(offset)
        if chunkRuns.last?.sampleCount != count || chunkRuns.last?.entry != entry {
            chunkRuns.append(ChunkRun(first: UInt32(chunkOffsets.count), sampleCount: count, entry: entry))
        }
    }

    /// Returns the number of a sample entry, from 1.
    private mutating func index(of description: CMAFTrackDescription) -> UInt32 {
        width = max(width, description.width)
        height = max(height, description.height)
        if let known = entries.firstIndex(of: description.sampleEntry) { return UInt32(known + 1) }
        entries.append(description.sampleEntry)
        return UInt32(entries.count)
    }

    private static func append(_ value: UInt32, to runs: inout [Run]) {
        if runs.last?.value == value {
            runs[runs.count - 1].count += 1
        } else {
            runs.append(Run(count: 1, value: value))
        }
    }

    // MARK: Boxes

    /// The bytes of the track's box, about.
    var boxSize: Int {
        1_024 + entries.reduce(0) { $0 + $1.count } + 4 * (sizes.count + syncSamples.count)
            + 8 * (durations.count + compositionOffsets.count + chunkOffsets.count) + 12 * chunkRuns.count
    }

    /// Writes the track.
    ///
    /// - Parameters:
    ///   - id: The number of the track.
    ///   - edit: What is shown of the media.
    ///   - created: The time of creation in seconds since 1904.
    ///   - writer: The writer.
    /// - Returns: The offset of the first chunk offset, for ``writeChunkOffsets(at:base:to:)``.
    func write(id: UInt32, _ edit: ProgressiveMovie.Edit, created: UInt64, to writer: inout BoxWriter) -> Int {
        var offsets = 0
        writer.box("trak") { writer in
            writer.fullBox("tkhd", version: 1, flags: 7) { writer in
                writer.uint64(created)
                writer.uint64(created)
                writer.uint32(id)
                writer.uint32(0)
                writer.uint64(UInt64(edit.emptyDuration + edit.duration))
                writer.trackHeaderEnd(mediaType, width: Int(width), height: Int(height))
            }
            writer.box("edts") { edit.write(to: &$0) }
            writer.box("mdia") { writer in
                writer.fullBox("mdhd", version: 1) { writer in
                    writer.uint64(created)
                    writer.uint64(created)
                    writer.uint32(UInt32(clamping: clockRate.hertz))
                    writer.uint64(UInt64(max(0, (end ?? 0) - (start ?? 0))))
                    writer.mediaHeaderEnd()
                }
                writer.mediaInformation(mediaType) { offsets = writeTables(to: &$0) }
            }
        }
        return offsets
    }

    private func writeTables(to writer: inout BoxWriter) -> Int {
        writer.fullBox("stsd") { writer in
            writer.uint32(UInt32(entries.count))
            for entry in entries { writer.append(entry) }
        }
        var durations = durations
        if start != nil { Self.append(lastDuration, to: &durations) }
        writer.fullBox("stts") { Self.write(durations, to: &$0) }
        if compositionOffsets.contains(where: { $0.value != 0 }) {
            writer.fullBox("ctts", version: 1) { Self.write(compositionOffsets, to: &$0) }
        }
        if syncSamples.count < sizes.count {
            writer.fullBox("stss") { writer in
                writer.uint32(UInt32(syncSamples.count))
                for number in syncSamples { writer.uint32(number) }
            }
        }
        writer.fullBox("stsc") { writer in
            writer.uint32(UInt32(chunkRuns.count))
            for run in chunkRuns {
                writer.uint32(run.first)
                writer.uint32(run.sampleCount)
                writer.uint32(run.entry)
            }
        }
        writer.fullBox("stsz") { writer in
            writer.uint32(0)
            writer.uint32(UInt32(sizes.count))
            for size in sizes { writer.uint32(size) }
        }
        var first = 0
        writer.fullBox("co64") { writer in
            writer.uint32(UInt32(chunkOffsets.count))
            first = writer.bytes.count
            writer.zeros(8 * chunkOffsets.count)
        }
        return first
    }

    private static func write(_ runs: [Run], to writer: inout BoxWriter) {
        writer.uint32(UInt32(runs.count))
        for run in runs {
            writer.uint32(run.count)
            writer.uint32(run.value)
        }
    }

    /// Writes the offsets of the chunks in the file when the beginning of the media data is known.
    func writeChunkOffsets(at position: Int, base: Int64, to writer: inout BoxWriter) {
        for (index, offset) in chunkOffsets.enumerated() {
            writer.replaceUInt64(at: position + 8 * index, by: UInt64(base + offset))
        }
    }
}
