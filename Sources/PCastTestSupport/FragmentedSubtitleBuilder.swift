/// Writes subtitles in fragmented MP4, for tests (ISO/IEC 14496-12 and 14496-30).
package enum FragmentedSubtitleBuilder {
    /// A sample of subtitles.
    package struct Sample: Sendable {
        /// The duration in ticks of the track's clock.
        package var duration: UInt32
        /// The boxes of WebVTT, or the document of TTML.
        package var bytes: [UInt8]

        package init(duration: UInt32, bytes: [UInt8]) { (self.duration, self.bytes) = (duration, bytes) }
    }

    /// Returns a box (ISO/IEC 14496-12, section 4.2).
    package static func box(_ type: String, _ contents: [UInt8]...) -> [UInt8] {
        let contents = contents.flatMap(\.self)
        return number(contents.count + 8) + Array(type.utf8) + contents
    }

    /// Returns a number in network byte order.
    package static func number(_ value: Int, _ count: Int = 4) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> ((count - 1 - $0) * 8)) }
    }

    /// Returns an initialization section with a track of subtitles behind one of another kind. The clock of the movie has
    /// `movieScale` ticks per second, in which the durations of edits are; an edit without media has the time -1.
    package static func initialization(
        _ entry: String, id: Int = 2, scale: Int = 1_000, duration: Int = 0, movieScale: Int = 600,
        edits: [(duration: Int, time: Int)] = []
    ) -> [UInt8] {
        func track(_ id: Int, _ entry: String, _ scale: Int) -> [UInt8] {
            let header = box("tkhd", number(0), number(0, 8), number(id), [UInt8](repeating: 0, count: 68))
            let media = box("mdhd", number(0x0100_0000), number(0, 16), number(scale), number(0, 12))
            let entries = box("stsd", number(0), number(1), box(entry, number(0, 6), number(1, 2)))
            let table = box("minf", box("stbl", entries))
            let list = edits.flatMap { number($0.duration) + number($0.time) + number(0x10000) }
            let edit = edits.isEmpty ? [] : box("edts", box("elst", number(0), number(edits.count), list))
            return box("trak", header, edit, box("mdia", media, table))
        }
        let header = box("mvhd", number(0), number(0, 8), number(movieScale), number(0, 4))
        let extensions = [9, id].map { box("trex", number(0), number($0), number(1), number(duration), number(0, 8)) }
        let tracks = track(9, "text", 90_000) + track(id, entry, scale)
        return box("ftyp", Array("iso6".utf8), number(0))
            + box("moov", header, tracks, box("mvex", extensions.flatMap(\.self)))
    }

    /// Returns a fragment. The data of the samples are behind it.
    package static func fragment(_ samples: [Sample], at time: Int, id: Int = 2) -> [UInt8] {
        fragment(runs: [samples], at: time, id: id)
    }

    /// Returns a fragment with several runs. The data of each run are in a box of their own behind it.
    package static func fragment(runs: [[Sample]], at time: Int, id: Int = 2) -> [UInt8] {
        let data = runs.map { box("mdat", $0.flatMap(\.bytes)) }
        func movie(size: Int) -> [UInt8] {
            var position = size
            var boxes: [UInt8] = []
            for (samples, data) in zip(runs, data) {
                let run = samples.flatMap { number(Int($0.duration)) + number($0.bytes.count) }
                boxes += box("trun", number(0x301), number(samples.count), number(position + 8), run)
                position += data.count
            }
            return box(
                "moof", box("mfhd", number(0), number(1)),
                box(
                    "traf", box("tfhd", number(0x020000), number(id)),
                    box("tfdt", number(0x0100_0000), number(time, 8)), boxes))
        }
        return movie(size: movie(size: 0).count) + data.flatMap(\.self)
    }

    /// Returns a cue of WebVTT (ISO/IEC 14496-30, section 6.6).
    package static func cue(_ text: String) -> [UInt8] {
        box("vttc", box("iden", Array("1".utf8)), box("sttg", Array("align:left".utf8)), box("payl", Array(text.utf8)))
    }

    /// The sample of a time without a cue.
    package static let empty = box("vtte")
}
