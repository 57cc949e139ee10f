package import PCastCore

/// The beginning of a progressive MP4: everything before the data of its samples (ISO/IEC 14496-12). A player can start
/// before the file is complete, because the description (`moov`) precedes the media data (`mdat`).
package enum ProgressiveMovie {
    /// The edit list of a track (ISO/IEC 14496-12, section 8.6.6). It removes the samples that only prepare the decoder, such as those of audio before the first one that is heard.
    package struct Edit: Hashable, Sendable {
        /// The time before the track begins, in ticks of ``ProgressiveMovie/clockRate``.
        package var emptyDuration: Int64
        /// The first media time that is shown, in ticks of the track's clock since its first sample.
        package var mediaTime: Int64
        /// The duration that is shown, in ticks of ``ProgressiveMovie/clockRate``.
        package var duration: Int64

        /// Creates an edit list of one or two entries.
        package init(emptyDuration: Int64, mediaTime: Int64, duration: Int64) {
            self.emptyDuration = emptyDuration
            self.mediaTime = mediaTime
            self.duration = duration
        }

        func write(to writer: inout BoxWriter) {
            writer.fullBox("elst", version: 1) { writer in
                writer.uint32(emptyDuration > 0 ? 2 : 1)
                if emptyDuration > 0 {
                    writer.uint64(UInt64(emptyDuration))
                    // The media time -1 means that nothing is shown.
                    writer.uint64(.max)
                    writer.uint32(0x0001_0000)
                }
                writer.uint64(UInt64(max(0, duration)))
                writer.uint64(UInt64(max(0, mediaTime)))
                writer.uint32(0x0001_0000)
            }
        }
    }

    /// The clock of the movie.
    package static let clockRate = ClockRate.video
    /// The seconds from 1904, the epoch of the format, to 1970.
    private static let epochOffset: Int64 = 2_082_844_800

    /// Describes a movie.
    ///
    /// - Parameters:
    ///   - tracks: The tracks and what is shown of them.
    ///   - dataSize: The bytes of media data that follow.
    ///   - created: The time that the movie states as its creation.
    /// - Returns: The bytes before the data of the samples: file type, movie, and the header of the media data.
    package static func head(
        _ tracks: [(track: ProgressiveTrack, edit: Edit)], dataSize: Int64, created: WallTime
    ) -> [UInt8] {
        let seconds = UInt64(max(0, created.nanosecondsSinceEpoch / 1_000_000_000 + epochOffset))
        var writer = BoxWriter(capacity: 1_024 + tracks.reduce(0) { $0 + $1.track.boxSize })
        writer.box("ftyp") { writer in
            writer.text("isom")
            writer.uint32(0x200)
            for brand in ["isom", "iso2", "avc1", "mp41"] { writer.text(brand) }
        }
        var offsets: [Int] = []
        writer.box("moov") { writer in
            writer.fullBox("mvhd", version: 1) { writer in
                writer.uint64(seconds)
                writer.uint64(seconds)
                writer.uint32(UInt32(clockRate.hertz))
                writer.uint64(UInt64(tracks.map { $0.edit.emptyDuration + $0.edit.duration }.max() ?? 0))
                writer.movieHeaderEnd(nextTrackID: UInt32(tracks.count + 1))
            }
            for (index, element) in tracks.enumerated() {
                offsets.append(
                    element.track.write(id: UInt32(index + 1), element.edit, created: seconds, to: &writer))
            }
        }
        // A size of 64 bits follows the type.
        writer.uint32(1)
        writer.text("mdat")
        writer.uint64(UInt64(16 + dataSize))
        let base = Int64(writer.bytes.count)
        for (element, offset) in zip(tracks, offsets) {
            element.track.writeChunkOffsets(at: offset, base: base, to: &writer)
        }
        return writer.bytes
    }
}
