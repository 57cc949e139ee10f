internal import PCastCore

extension CMAFFormat {
    /// The number of ticks by which decoding precedes presentation: the encoder delay of AAC, which an edit list removes
    /// (ISO/IEC 14496-12, section 8.6.6). Zero for the others: a live stream is joined in its middle, so Opus has no
    /// pre-skip.
    package var priming: Int64 {
        if case .aac(let format) = self { return Int64(format.priming) }
        return 0
    }

    /// The initialization segment: a file type box and a movie box with one track (ISO/IEC 23000-19, section 7.3.1).
    package var initializationSegment: [UInt8] {
        var writer = BoxWriter()
        writer.box("ftyp") { writer in
            writer.text("iso6")
            writer.uint32(0)
            // The brand cmf2 permits negative composition offsets (ISO/IEC 23000-19, section 7.7).
            for brand in ["iso6", "cmfc", "cmf2", "mp41"] { writer.text(brand) }
        }
        writer.box("moov") { writer in
            writeMovieHeader(to: &writer)
            writer.box("trak") { writer in
                writeTrackHeader(to: &writer)
                if priming > 0 { writeEditList(to: &writer) }
                writer.box("mdia") { writeMedia(to: &$0) }
            }
            writer.box("mvex") { writer in
                writer.fullBox("trex") { writer in
                    writer.uint32(CMAFFragment.trackID)
                    // The first sample description; fragments state durations, sizes and flags.
                    writer.uint32(1)
                    writer.zeros(12)
                }
            }
        }
        return writer.bytes
    }

    private func writeMovieHeader(to writer: inout BoxWriter) {
        writer.fullBox("mvhd") { writer in
            writer.zeros(8)
            writer.uint32(1_000)
            // The duration is unknown, and the fragments have it.
            writer.uint32(0)
            writer.movieHeaderEnd(nextTrackID: CMAFFragment.trackID + 1)
        }
    }

    private func writeTrackHeader(to writer: inout BoxWriter) {
        // The track is enabled, in the movie and in the preview.
        writer.fullBox("tkhd", flags: 7) { writer in
            writer.zeros(8)
            writer.uint32(CMAFFragment.trackID)
            writer.zeros(8)
            writer.trackHeaderEnd(mediaType, width: dimensions?.width ?? 0, height: dimensions?.height ?? 0)
        }
    }

    private func writeEditList(to writer: inout BoxWriter) {
        writer.box("edts") { writer in
            writer.fullBox("elst", version: 1) { writer in
                writer.uint32(1)
                // The duration zero means all of a fragmented track.
                writer.uint64(0)
                writer.uint64(UInt64(priming))
                writer.uint32(0x0001_0000)
            }
        }
    }

    private func writeMedia(to writer: inout BoxWriter) {
        writer.fullBox("mdhd") { writer in
            writer.zeros(8)
            writer.uint32(UInt32(clockRate.hertz))
            writer.uint32(0)
            writer.mediaHeaderEnd()
        }
        writer.mediaInformation(mediaType) { writer in
            writer.fullBox("stsd") { writer in
                writer.uint32(1)
                writeSampleEntry(to: &writer)
            }
            writer.fullBox("stts") { $0.uint32(0) }
            writer.fullBox("stsc") { $0.uint32(0) }
            writer.fullBox("stsz") { $0.zeros(8) }
            writer.fullBox("stco") { $0.uint32(0) }
        }
    }

    private func writeSampleEntry(to writer: inout BoxWriter) {
        switch self {
        case .h264(let format):
            writer.box("avc1") { writer in
                Self.writeVideoEntry(format.dimensions, to: &writer)
                writer.box("avcC") { format.writeConfiguration(to: &$0) }
            }
        case .h265(let format):
            writer.box("hvc1") { writer in
                Self.writeVideoEntry(format.dimensions, to: &writer)
                writer.box("hvcC") { format.writeConfiguration(to: &$0) }
            }
        case .av1(let format):
            writer.box("av01") { writer in
                Self.writeVideoEntry(format.dimensions, to: &writer)
                writer.box("av1C") { format.writeConfiguration(to: &$0) }
            }
        case .vp9(let format):
            writer.box("vp09") { writer in
                Self.writeVideoEntry(format.dimensions, to: &writer)
                writer.fullBox("vpcC", version: 1) { format.writeConfiguration(to: &$0) }
            }
        case .opus(let channels):
            writer.box("Opus") { writer in
                Self.writeAudioEntry(channels: channels, sampleRate: 48_000, to: &writer)
                writer.box("dOps") { writer in
                    writer.uint8(0)
                    writer.uint8(UInt8(channels))
                    // No pre-skip, the input at 48 kHz, no gain, channel mapping family 0.
                    writer.uint16(0)
                    writer.uint32(48_000)
                    writer.uint16(0)
                    writer.uint8(0)
                }
            }
        case .aac(let format):
            writer.box("mp4a") { writer in
                Self.writeAudioEntry(channels: format.channels, sampleRate: format.sampleRate, to: &writer)
                writer.fullBox("esds") { format.writeDescriptors(to: &$0) }
            }
        }
    }

    /// Writes the fields of a `VisualSampleEntry` (ISO/IEC 14496-12, section 12.1.3).
    private static func writeVideoEntry(_ dimensions: Dimensions, to writer: inout BoxWriter) {
        writer.zeros(6)
        writer.uint16(1)
        writer.zeros(16)
        writer.uint16(UInt16(dimensions.width))
        writer.uint16(UInt16(dimensions.height))
        // 72 dots per inch.
        writer.uint32(0x0048_0000)
        writer.uint32(0x0048_0000)
        writer.uint32(0)
        writer.uint16(1)
        writer.zeros(32)
        writer.uint16(24)
        writer.uint16(0xFFFF)
    }

    /// Writes the fields of an `AudioSampleEntry` (ISO/IEC 14496-12, section 12.2.3).
    private static func writeAudioEntry(channels: Int, sampleRate: Int, to writer: inout BoxWriter) {
        writer.zeros(6)
        writer.uint16(1)
        writer.zeros(8)
        writer.uint16(UInt16(channels))
        writer.uint16(16)
        writer.zeros(4)
        // 16.16 bits; a higher rate than the field holds is in the codec's own configuration.
        writer.uint32(sampleRate <= 65_535 ? UInt32(sampleRate) << 16 : 0)
    }
}

extension H264Format {
    /// Writes the AVCDecoderConfigurationRecord (ISO/IEC 14496-15, section 5.3.3.1).
    func writeConfiguration(to writer: inout BoxWriter) {
        writer.append([1, sequence.profile.number, sequence.profile.constraints, sequence.level])
        // NAL units have lengths of four bytes.
        writer.uint8(0xFC | UInt8(H264Sample.lengthSize - 1))
        writer.uint8(0xE0 | UInt8(sequenceSets.count))
        for set in sequenceSets { Self.write(set, to: &writer) }
        writer.uint8(UInt8(pictureSets.count))
        for set in pictureSets { Self.write(set, to: &writer) }
        guard let chroma = sequence.chroma else { return }
        writer.append([0xFC | chroma.format, 0xF8 | chroma.lumaDepth - 8, 0xF8 | chroma.chromaDepth - 8, 0])
    }

    private static func write(_ set: [UInt8], to writer: inout BoxWriter) {
        writer.uint16(UInt16(set.count))
        writer.append(set)
    }
}

extension AACFormat {
    /// Writes the descriptors of the elementary stream (ISO/IEC 14496-1, section 7.2.6).
    func writeDescriptors(to writer: inout BoxWriter) {
        let specific = UInt8(configuration.count)
        writer.append([3, specific + 23, 0, 0, 0])
        // MPEG-4 audio, an audio stream; buffer size and bit rates are unknown.
        writer.append([4, specific + 15, 0x40, 0x15])
        writer.zeros(11)
        writer.append([5, specific])
        writer.append(configuration)
        writer.append([6, 1, 2])
    }
}
