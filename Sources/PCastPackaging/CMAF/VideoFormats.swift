package import PCastCore
internal import PCastRTP

/// The parameter sets of an H.265 track and what follows from them.
package struct H265Format: Hashable, Sendable {
    /// The video, sequence and picture parameter sets, each a NAL unit with its header.
    package let sets: VideoParameterUnits
    /// The fields of the first sequence parameter set.
    let sequence: H265SequenceParameterSet

    /// Creates a format. Returns nil if a set is missing or too large, there are more of a kind than the standard
    /// permits, or the first sequence parameter set is invalid.
    package init?(_ sets: VideoParameterUnits) {
        guard let first = sets.sequence.first, !sets.video.isEmpty, !sets.picture.isEmpty, sets.video.count <= 16,
            sets.sequence.count <= 16, sets.picture.count <= 64, let sequence = H265SequenceParameterSet(first.span),
            (sets.video + sets.sequence + sets.picture).allSatisfy({ $0.count <= Int(UInt16.max) })
        else { return nil }
        self.sets = sets
        self.sequence = sequence
    }

    /// The size of the video after cropping.
    package var dimensions: Dimensions { sequence.dimensions }
    /// The codec string of the sample entry `hvc1` (ISO/IEC 14496-15, annex E.3).
    package var codecString: String { sequence.video.codecString }

    /// Writes the HEVCDecoderConfigurationRecord (ISO/IEC 14496-15, section 8.3.3.1).
    func writeConfiguration(to writer: inout BoxWriter) {
        let general = sequence.general
        writer.uint8(1)
        writer.uint8(general.space << 6 | (general.isHighTier ? 0x20 : 0) | general.profile)
        writer.uint32(general.compatibility)
        writer.uint16(UInt16(truncatingIfNeeded: general.constraints >> 32))
        writer.uint32(UInt32(truncatingIfNeeded: general.constraints))
        writer.uint8(general.level)
        // Segmentation and parallelism are unknown.
        writer.uint16(0xF000)
        writer.uint8(0xFC)
        writer.uint8(0xFC | sequence.chromaFormat)
        writer.uint8(0xF8 | UInt8(sequence.bitDepth - 8))
        writer.uint8(0xF8 | UInt8(sequence.chromaBitDepth - 8))
        // The average frame rate is unknown.
        writer.uint16(0)
        // NAL units have lengths of four bytes.
        writer.uint8(UInt8(sequence.subLayerCount) << 3 | (sequence.isNested ? 4 : 0) | 3)
        let arrays = [
            (HEVCUnit.videoParameterSet, sets.video), (HEVCUnit.sequenceParameterSet, sets.sequence),
            (HEVCUnit.pictureParameterSet, sets.picture),
        ]
        writer.uint8(UInt8(arrays.count))
        for (type, units) in arrays {
            // The samples have no further sets.
            writer.uint8(0x80 | type)
            writer.uint16(UInt16(units.count))
            for unit in units {
                writer.uint16(UInt16(unit.count))
                writer.append(unit)
            }
        }
    }
}

/// The NAL units of the parameter sets of H.265 by their kinds, without repetitions.
package struct VideoParameterUnits: Hashable, Sendable {
    package private(set) var video: [[UInt8]] = []
    package private(set) var sequence: [[UInt8]] = []
    package private(set) var picture: [[UInt8]] = []

    /// Creates an empty collection.
    package init() {}

    /// Adds a unit. Units that are no parameter sets are ignored.
    package mutating func add(_ unit: [UInt8]) {
        switch unit.first.map(HEVCUnit.type) {
        case HEVCUnit.videoParameterSet?: Self.add(unit, to: &video)
        case HEVCUnit.sequenceParameterSet?: Self.add(unit, to: &sequence)
        case HEVCUnit.pictureParameterSet?: Self.add(unit, to: &picture)
        default: break
        }
    }

    private static func add(_ unit: [UInt8], to units: inout [[UInt8]]) {
        if !units.contains(unit) { units.append(unit) }
    }
}

/// The sequence header of an AV1 track and what follows from it.
package struct AV1Format: Hashable, Sendable {
    /// The unit with the sequence header, which has a size field.
    package let unit: [UInt8]
    /// The fields of the header.
    let header: AV1SequenceHeader

    /// Creates a format from a unit. Returns nil if the sequence header is invalid.
    ///
    /// - Parameters:
    ///   - unit: The unit with its header and size.
    ///   - contents: The range of its contents.
    package init?(unit: [UInt8], contents: Range<Int>) {
        guard let header = AV1SequenceHeader(unit.span.extracting(contents)) else { return nil }
        self.unit = unit
        self.header = header
    }

    /// The maximum size of the video.
    package var dimensions: Dimensions { header.dimensions }
    /// The codec string (“AV1 Codec ISO Media File Format Binding”, section 5).
    package var codecString: String { header.video.codecString }

    /// Writes the AV1CodecConfigurationRecord (“AV1 Codec ISO Media File Format Binding”, section 2.3.3).
    func writeConfiguration(to writer: inout BoxWriter) {
        writer.uint8(0x81)
        writer.uint8(header.profile << 5 | header.level)
        var flags = header.tier << 7
        if header.bitDepth > 8 { flags |= 0x40 }
        if header.bitDepth == 12 { flags |= 0x20 }
        if header.chroma.isMonochrome { flags |= 0x10 }
        if header.chroma.hasHalfColumns { flags |= 0x08 }
        if header.chroma.hasHalfRows { flags |= 0x04 }
        writer.uint8(flags | header.chroma.position)
        // The initial delay of the presentation is unknown.
        writer.uint8(0)
        writer.append(unit)
    }
}

/// The format of a VP9 track, from the header of a key frame.
package struct VP9Format: Hashable, Sendable {
    /// The fields of the header.
    let header: VP9FrameHeader
    /// The size of the video, which is that of the largest spatial layer.
    package let dimensions: Dimensions

    /// Creates a format. Returns nil if the frame or superframe does not begin with a key frame.
    package init?(keyFrame frame: Span<UInt8>) {
        guard let header = VP9FrameHeader(keyFrame: frame), let size = VP9Superframe.size(ofKeyFrame: frame) else {
            return nil
        }
        self.header = header
        dimensions = size
    }

    /// The codec string (“VP Codec ISO Media File Format Binding”).
    package var codecString: String { header.video(size: dimensions).codecString }

    /// The level multiplied by ten, the lowest one that permits the size.
    private var level: UInt8 { UInt8(CodecParameters.vp9Level(of: dimensions)) }

    /// The primaries, the transfer function and the matrix (ITU-T H.273) by the value of `color_space`; 2 is unspecified.
    private var color: [UInt8] {
        switch header.colorSpace {
        case 1: [6, 6, 6]
        case 2: [1, 1, 1]
        case 3: [6, 6, 6]
        case 4: [7, 7, 7]
        case 5: [9, header.bitDepth == 12 ? 15 : 14, 9]
        case 7: [1, 13, 0]
        default: [2, 2, 2]
        }
    }

    /// Writes the VPCodecConfigurationRecord (“VP Codec ISO Media File Format Binding”).
    func writeConfiguration(to writer: inout BoxWriter) {
        writer.uint8(header.profile)
        writer.uint8(level)
        // 4:2:0 with samples beside those of luma, 4:2:2, 4:4:4.
        let subsampling: UInt8 = header.hasHalfColumns ? (header.hasHalfRows ? 1 : 2) : 3
        writer.uint8(header.bitDepth << 4 | subsampling << 1 | (header.isFullRange ? 1 : 0))
        writer.append(color)
        // There are no data for the initialization of the decoder.
        writer.uint16(0)
    }
}
