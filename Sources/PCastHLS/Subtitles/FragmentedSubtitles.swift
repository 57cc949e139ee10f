internal import PCastCore

/// A track of subtitles in fragmented MP4: WebVTT (`wvtt`) or the text of TTML (`stpp`; ISO/IEC 14496-30).
package struct FragmentedSubtitles: Sendable {
    private enum Coding { case webVTT, ttml }

    private struct Sample {
        var start: TimeSpan
        var end: TimeSpan
        var bytes: ArraySlice<UInt8>
    }

    private let coding: Coding
    /// The ID of the track.
    private let id: UInt64
    /// The ticks per second of the track's clock.
    private let scale: UInt64
    /// The duration and the size of samples for which fragments specify none.
    private let defaults: (duration: UInt64, size: UInt64)
    /// The time on the track's clock that is presented at time zero (edit list; ISO/IEC 14496-12, section 8.6.6).
    private let edit: TimeSpan

    /// The maximum number of samples, and of cues, that are read from a segment.
    static let limit = 10_000

    /// Reads the initialization section. Returns nil if it has no track of subtitles with a supported coding.
    package init?(initialization bytes: [UInt8]) {
        guard let movie = ISOBox.contents(of: "moov", in: bytes[...]) else { return nil }
        for track in ISOBox.all(in: movie) where track.isOf("trak") {
            guard let entries = ISOBox.contents(of: "mdia", "minf", "stbl", "stsd", in: track.contents),
                let entry = ISOBox.all(in: entries.dropFirst(8)).first, entry.isOf("wvtt") || entry.isOf("stpp"),
                let header = ISOBox.contents(of: "tkhd", in: track.contents),
                let id = Self.field(behindTimesOf: header),
                let media = ISOBox.contents(of: "mdia", "mdhd", in: track.contents),
                let scale = Self.field(behindTimesOf: media), scale > 0
            else { continue }
            coding = entry.isOf("wvtt") ? .webVTT : .ttml
            (self.id, self.scale) = (id, scale)
            defaults = Self.defaults(ofTrack: id, in: movie)
            edit = Self.edit(ofTrack: track.contents, scale, in: movie)
            return
        }
        return nil
    }

    /// Reads the field after the two times of a track header or a media header.
    private static func field(behindTimesOf header: ArraySlice<UInt8>) -> UInt64? {
        var fields = BoxFields(header)
        guard let version = fields.number(1) else { return nil }
        fields.skip(3 + (version == 1 ? 16 : 8))
        return fields.number(4)
    }

    /// Returns the time on a track's clock that is presented at time zero: the beginning of the first edit with media, less
    /// the empty edits before it. It is zero if there is no edit list, or none with a valid time.
    private static func edit(
        ofTrack track: ArraySlice<UInt8>, _ scale: UInt64, in movie: ArraySlice<UInt8>
    ) -> TimeSpan {
        guard var list = ISOBox.contents(of: "edts", "elst", in: track).map({ BoxFields($0) }),
            let version = list.number(1)
        else { return .zero }
        list.skip(3)
        let movieScale = ISOBox.contents(of: "mvhd", in: movie).flatMap { field(behindTimesOf: $0) } ?? 0
        let size = version == 1 ? 8 : 4
        var delay: UInt64 = 0
        for _ in 0..<(list.number(4) ?? 0) {
            guard let duration = list.number(size), let time = list.number(size) else { break }
            list.skip(4)
            // An edit without media has the time -1.
            guard time == UInt64.max >> (64 - 8 * size) else {
                guard let start = TimeSpan(ticks: time, scale: scale),
                    let wait = delay == 0 ? TimeSpan.zero : TimeSpan(ticks: delay, scale: movieScale)
                else { break }
                return start - wait
            }
            delay &+= duration
        }
        return .zero
    }

    /// Returns the defaults of a track (`trex`).
    private static func defaults(ofTrack id: UInt64, in movie: ArraySlice<UInt8>) -> (duration: UInt64, size: UInt64) {
        let extensions = ISOBox.contents(of: "mvex", in: movie) ?? []
        for box in ISOBox.all(in: extensions) where box.isOf("trex") {
            var fields = BoxFields(box.contents.dropFirst(4))
            guard fields.number(4) == id else { continue }
            fields.skip(4)
            if let duration = fields.number(4), let size = fields.number(4) { return (duration, size) }
        }
        return (0, 0)
    }

    /// Returns the cues of a segment, at most 10,000, with the times at which they are presented according to the edit list.
    /// A cue that several samples contain is returned for each of them. Of a segment that is still loaded, the samples that
    /// have arrived are read.
    package func cues(in segment: [UInt8]) -> [WebVTTSegment.Cue] { cues(in: segment[...], of: segment) }

    /// Reads the fragments of a segment that have arrived completely since the last call, so that each fragment is read once.
    ///
    /// - Parameters:
    ///   - segment: The segment as far as it is loaded.
    ///   - position: The number of bytes that were read, zero before the first call.
    ///   - isComplete: Whether nothing more is loaded. The rest of the segment is then read as it is.
    /// - Returns: The cues, at most 10,000.
    package func cues(
        in segment: [UInt8], after position: inout Int, isComplete: Bool
    ) -> [WebVTTSegment.Cue] {
        let start = min(max(position, 0), segment.count)
        var end = segment.count
        if !isComplete {
            // The data of a fragment is in the boxes behind it. A box without a size ends with the segment.
            let boxes = ISOBox.all(in: segment[start...])
            let last = boxes.last { box in
                box.isOf("mdat") && segment[box.start..<box.start + 4].contains { $0 != 0 }
            }
            guard let last else { return [] }
            end = last.end
            // The data of the last fragment may continue in another box, which has not arrived.
            if let fragment = boxes.last(where: { $0.isOf("moof") }), fragment.start < end,
                !hasArrived(fragment, of: segment)
            {
                end = fragment.start
            }
        }
        position = end
        return cues(in: segment[start..<end], of: segment)
    }

    /// Returns the cues of the fragments in a part of a segment.
    private func cues(in part: ArraySlice<UInt8>, of segment: [UInt8]) -> [WebVTTSegment.Cue] {
        var cues: [WebVTTSegment.Cue] = []
        func add(_ start: TimeSpan, _ end: TimeSpan, _ text: String) {
            let (start, end) = (max(start - edit, .zero), end - edit)
            if start < end { cues.append(WebVTTSegment.Cue(start: start, end: end, text: text)) }
        }
        for sample in samples(in: part, of: segment) {
            switch coding {
            case .webVTT:
                for text in Self.texts(ofWebVTT: sample.bytes) { add(sample.start, sample.end, text) }
            case .ttml:
                for paragraph in TimedTextDocument(sample.bytes)?.paragraphs ?? [] {
                    // A document is valid for the time of its sample.
                    let start = max(paragraph.start, sample.start)
                    let end = min(paragraph.end ?? sample.end, sample.end)
                    if start < end { add(start, end, paragraph.text) }
                }
            }
            if cues.count >= Self.limit { return Array(cues.prefix(Self.limit)) }
        }
        return cues
    }

    /// Returns the texts of the cues in a sample of WebVTT (ISO/IEC 14496-30, section 6.5).
    private static func texts(ofWebVTT sample: ArraySlice<UInt8>) -> [String] {
        ISOBox.all(in: sample).compactMap { box in
            guard box.isOf("vttc"), let payload = ISOBox.contents(of: "payl", in: box.contents) else { return nil }
            let lines = String(decoding: payload, as: UTF8.self).split { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }
            let text = lines.map(WebVTTSegment.plain).joined(separator: "\n")
            return text.isEmpty ? nil : text
        }
    }

    /// Returns the samples of the track in a part of a segment, as far as their bytes are present.
    private func samples(in part: ArraySlice<UInt8>, of segment: [UInt8]) -> [Sample] {
        var samples: [Sample] = []
        var limits = SampleLimits(samples: Self.limit, bytes: part.count)
        for fragment in ISOBox.all(in: part) where fragment.isOf("moof") {
            for track in ISOBox.all(in: fragment.contents) where track.isOf("traf") {
                read(track.contents, from: fragment.start, of: segment, &limits, into: &samples)
            }
        }
        return samples
    }

    /// Returns whether the data of all samples in a fragment is present, in a segment that is still loaded.
    private func hasArrived(_ fragment: ISOBox, of segment: [UInt8]) -> Bool {
        var samples: [Sample] = []
        var limits = SampleLimits(samples: Self.limit, bytes: segment.count - fragment.start)
        for track in ISOBox.all(in: fragment.contents) where track.isOf("traf") {
            read(track.contents, from: fragment.start, of: segment, &limits, into: &samples)
        }
        return limits.dataEnd <= segment.count
    }

    /// The samples, and the bytes of samples, that may still be read.
    private struct SampleLimits {
        var samples: Int
        var bytes: Int
        /// The index behind the data of all samples that were read, whether it is present or not.
        var dataEnd = 0
    }

    /// Reads the samples of a track fragment. `start` is the index of the movie fragment, to which the offsets of data
    /// refer.
    private func read(
        _ track: ArraySlice<UInt8>, from start: Int, of segment: [UInt8], _ limits: inout SampleLimits,
        into samples: inout [Sample]
    ) {
        guard var header = ISOBox.contents(of: "tfhd", in: track).map({ BoxFields($0) }),
            let flags = header.number(4), header.number(4) == id
        else { return }
        var (duration, size) = defaults
        if flags & 0x1 != 0 { header.skip(8) }
        if flags & 0x2 != 0 { header.skip(4) }
        if flags & 0x8 != 0 { duration = header.number(4) ?? duration }
        if flags & 0x10 != 0 { size = header.number(4) ?? size }
        var time: UInt64 = 0
        if var base = ISOBox.contents(of: "tfdt", in: track).map({ BoxFields($0) }), let version = base.number(1) {
            base.skip(3)
            time = base.number(version == 1 ? 8 : 4) ?? 0
        }
        var next = start
        for run in ISOBox.all(in: track) where run.isOf("trun") {
            var fields = BoxFields(run.contents)
            guard let flags = fields.number(4), let count = fields.number(4) else { return }
            if flags & 0x1 != 0 {
                guard let offset = fields.number(4) else { return }
                next = start + Int(Int32(truncatingIfNeeded: offset))
            }
            if flags & 0x4 != 0 { fields.skip(4) }
            for _ in 0..<count {
                limits.samples -= 1
                guard limits.samples >= 0, let own = flags & 0x100 == 0 ? duration : fields.number(4),
                    let length = flags & 0x200 == 0 ? size : fields.number(4)
                else { return }
                if flags & 0x400 != 0 { fields.skip(4) }
                limits.dataEnd = max(limits.dataEnd, next + Int(length))
                let shift = flags & 0x800 == 0 ? 0 : fields.number(4) ?? 0
                let shown = time &+ UInt64(bitPattern: Int64(Int32(truncatingIfNeeded: shift)))
                if next >= 0, next <= segment.count, Int(length) <= segment.count - next,
                    let begin = TimeSpan(ticks: shown, scale: scale),
                    let end = TimeSpan(ticks: shown &+ own, scale: scale), begin < end
                {
                    limits.bytes -= Int(length)
                    guard limits.bytes >= 0 else { return }
                    samples.append(Sample(start: begin, end: end, bytes: segment[next..<next + Int(length)]))
                }
                next += Int(length)
                time &+= own
            }
        }
    }
}
