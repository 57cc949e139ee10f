/// A sample of a track: an access unit or an audio packet in the form that the container stores.
package struct CMAFSample: Hashable, Sendable {
    /// The data. H.264 and H.265: NAL units with lengths of four bytes. AV1: a temporal unit without delimiters.
    package var bytes: [UInt8]
    /// The duration in ticks of the track's clock.
    package var duration: UInt32
    /// The presentation time minus the decoding time, in ticks.
    package var compositionOffset: Int32
    /// Whether decoding can start with the sample.
    package var isSync: Bool

    /// Creates a sample.
    package init(bytes: [UInt8], duration: UInt32, compositionOffset: Int32 = 0, isSync: Bool) {
        self.bytes = bytes
        self.duration = duration
        self.compositionOffset = compositionOffset
        self.isSync = isSync
    }
}

/// A movie fragment of one track with its media data, which is a CMAF chunk (ISO/IEC 23000-19, section 7.3.2.3). A part
/// is one fragment, and a segment consists of the fragments of its parts.
package enum CMAFFragment {
    /// The file of a gap: a box that readers skip (ISO/IEC 14496-12, section 8.1.2). Clients should not load it, but VLC and
    /// GStreamer do, and GStreamer 1.22 repeats a failed request without an end.
    static let gap: [UInt8] = [0, 0, 0, 8] + Array("free".utf8)

    /// The ID of the only track.
    static let trackID: UInt32 = 1

    /// Flags of a sample that others do not depend on for decoding to start (ISO/IEC 14496-12, section 8.8.3.1).
    private static let syncFlags: UInt32 = 0x0200_0000
    /// Flags of a sample that depends on others and is no sync sample.
    private static let dependentFlags: UInt32 = 0x0101_0000

    /// Returns the bytes of a fragment.
    ///
    /// - Parameters:
    ///   - samples: The samples in decoding order. Their total size must be less than 2 GiB.
    ///   - sequence: The number of the fragment, which increases in the track.
    ///   - decodeTime: The decoding time of the first sample in ticks of the track's clock.
    /// - Returns: A movie fragment box and a media data box.
    package static func bytes(of samples: [CMAFSample], sequence: UInt32, decodeTime: UInt64) -> [UInt8] {
        let size = samples.reduce(0) { $0 + $1.bytes.count }
        precondition(size < 1 << 31, "a fragment must be smaller than 2 GiB")
        var writer = BoxWriter(capacity: size + 128 + 16 * samples.count)
        var dataOffset = 0
        writer.box("moof") { writer in
            writer.fullBox("mfhd") { $0.uint32(sequence) }
            writer.box("traf") { writer in
                // Offsets count from the beginning of the fragment (default-base-is-moof).
                writer.fullBox("tfhd", flags: 0x02_0000) { $0.uint32(trackID) }
                writer.fullBox("tfdt", version: 1) { $0.uint64(decodeTime) }
                dataOffset = writeRun(of: samples, to: &writer)
            }
        }
        writer.replaceUInt32(at: dataOffset, by: UInt32(writer.bytes.count + 8))
        writer.box("mdat") { writer in
            for sample in samples { writer.append(sample.bytes) }
        }
        return writer.bytes
    }

    /// Writes the properties of the samples (ISO/IEC 14496-12, section 8.8.8). Returns the offset of the field that says
    /// where the data begins.
    private static func writeRun(of samples: [CMAFSample], to writer: inout BoxWriter) -> Int {
        let hasOffsets = samples.contains { $0.compositionOffset != 0 }
        var dataOffset = 0
        // Data offset, and for each sample duration, size, flags and, if needed, composition offset.
        writer.fullBox("trun", version: 1, flags: hasOffsets ? 0xF01 : 0x701) { writer in
            writer.uint32(UInt32(samples.count))
            dataOffset = writer.bytes.count
            writer.uint32(0)
            for sample in samples {
                writer.uint32(sample.duration)
                writer.uint32(UInt32(sample.bytes.count))
                writer.uint32(sample.isSync ? syncFlags : dependentFlags)
                if hasOffsets { writer.uint32(UInt32(bitPattern: sample.compositionOffset)) }
            }
        }
        return dataOffset
    }
}
