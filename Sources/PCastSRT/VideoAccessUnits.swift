import PCastCore
import PCastRTMP

/// An access unit of H.264 or H.265.
struct VideoAccessUnit: Sendable {
    /// The access unit in Annex B format; empty if the packet has parameter sets only.
    let bytes: [UInt8]
    /// Whether decoding can begin with it.
    let isKeyFrame: Bool
    /// The configuration if it is new or has changed.
    let newConfiguration: RTMPCodecConfiguration?
}

/// The maximum number and size of parameter sets of a stream.
private enum ParameterSetLimits {
    /// The maximum size of all parameter sets in bytes.
    static let size = 16 * 1_024
    static let sequenceSets = 31
    static let pictureSets = 255
}

/// Converts the PES packets of H.264 to access units for packetizers, each with its parameter sets if decoding can begin
/// with it (ISO/IEC 13818-1, section 2.14).
struct H264AccessUnits: Sendable {
    private var sequenceSets: [[UInt8]] = []
    private var pictureSets: [[UInt8]] = []
    private var configuration: AVCDecoderConfiguration?

    /// Returns the access unit of a packet; nil if it has no NAL units.
    mutating func accessUnit(_ packet: ElementaryPacket) -> VideoAccessUnit? {
        packet.bytes.withByteView { view in
            let data = view.extracting(packet.payloadStart..<view.count)
            var (sequence, picture): ([[UInt8]], [[UInt8]]) = ([], [])
            var (isKeyFrame, hasImage, hasUnits) = (false, false, false)
            var reader = AnnexBReader(data)
            while let unit = reader.nextUnit() {
                hasUnits = true
                switch unit[0] & H264NALUnit.typeMask {
                case H264NALUnit.sequenceParameterSet: sequence.append(Array(unit))
                case H264NALUnit.pictureParameterSet: picture.append(Array(unit))
                case H264NALUnit.idrSlice: (isKeyFrame, hasImage) = (true, true)
                case let type: hasImage = hasImage || H264NALUnit.isImage(type)
                }
            }
            guard hasUnits else { return nil }
            let changed = update(sequence, picture)
            guard hasImage else {
                return VideoAccessUnit(bytes: [], isKeyFrame: false, newConfiguration: changed.map { .h264($0) })
            }
            let isComplete = !sequence.isEmpty && !picture.isEmpty
            let missing = isKeyFrame && !isComplete ? configuration?.parameterSets ?? [] : []
            var bytes: [UInt8] = []
            bytes.reserveCapacity(missing.count + data.count + 64)
            bytes += missing
            reader = AnnexBReader(data)
            while let unit = reader.nextUnit() {
                let type = unit[0] & H264NALUnit.typeMask
                // Delimiters and padding are of the transport stream. Packetizers use the unspecified types.
                guard H264NALUnit.isSpecified(type), type != H264NALUnit.accessUnitDelimiter,
                    type != H264NALUnit.fillerData
                else { continue }
                bytes += AnnexBReader.startCode
                bytes += unit
            }
            return VideoAccessUnit(
                bytes: bytes, isKeyFrame: isKeyFrame, newConfiguration: changed.map { .h264($0) })
        }
    }

    /// Replaces the parameter sets by those of an access unit. Returns the configuration if it has changed.
    private mutating func update(_ sequence: [[UInt8]], _ picture: [[UInt8]]) -> AVCDecoderConfiguration? {
        let (newSequenceSets, newFrameSets) =
            (sequence.isEmpty ? sequenceSets : sequence, picture.isEmpty ? pictureSets : picture)
        guard newSequenceSets != sequenceSets || newFrameSets != pictureSets else { return nil }
        let size = (newSequenceSets + newFrameSets).reduce(0) { $0 + $1.count }
        guard newSequenceSets.count <= ParameterSetLimits.sequenceSets,
            newFrameSets.count <= ParameterSetLimits.pictureSets, size <= ParameterSetLimits.size
        else { return nil }
        (sequenceSets, pictureSets) = (newSequenceSets, newFrameSets)
        guard let first = sequenceSets.first, first.count >= 4, !pictureSets.isEmpty else { return nil }
        // The record of MP4 (ISO/IEC 14496-15, section 5.3.3.1), with lengths of four bytes.
        var record: [UInt8] = [1, first[1], first[2], first[3], 0xFF, 0xE0 | UInt8(sequenceSets.count)]
        for set in sequenceSets { record += [UInt8(set.count >> 8), UInt8(set.count & 0xFF)] + set }
        record.append(UInt8(pictureSets.count))
        for set in pictureSets { record += [UInt8(set.count >> 8), UInt8(set.count & 0xFF)] + set }
        configuration = record.withByteView { AVCDecoderConfiguration($0) }
        return configuration
    }
}

/// Converts the PES packets of H.265 to access units for packetizers, each with its parameter sets if decoding can begin
/// with it (ISO/IEC 13818-1, section 2.17).
struct H265AccessUnits: Sendable {
    /// The parameter sets of an access unit or of the stream.
    private struct Sets: Hashable {
        var video: [[UInt8]] = []
        var sequence: [[UInt8]] = []
        var picture: [[UInt8]] = []

        var isComplete: Bool { !video.isEmpty && !sequence.isEmpty && !picture.isEmpty }

        /// Whether the number and the size of the sets are permitted.
        var isWithinLimits: Bool {
            video.count <= ParameterSetLimits.sequenceSets && sequence.count <= ParameterSetLimits.sequenceSets
                && picture.count <= ParameterSetLimits.pictureSets
                && (video + sequence + picture).reduce(0) { $0 + $1.count } <= ParameterSetLimits.size
        }
    }

    private var sets = Sets()
    private var configuration: HEVCDecoderConfiguration?

    /// Returns the access unit of a packet; nil if it has no NAL units.
    mutating func accessUnit(_ packet: ElementaryPacket) -> VideoAccessUnit? {
        packet.bytes.withByteView { view in
            let data = view.extracting(packet.payloadStart..<view.count)
            var found = Sets()
            var (isKeyFrame, hasSlice, hasUnits) = (false, false, false)
            var reader = AnnexBReader(data)
            while let unit = reader.nextUnit() {
                hasUnits = true
                // A shorter unit has no contents, and packetizers drop it.
                guard unit.count > HEVCUnit.headerSize else { continue }
                switch HEVCUnit.type(unit[0]) {
                case HEVCUnit.videoParameterSet: found.video.append(Array(unit))
                case HEVCUnit.sequenceParameterSet: found.sequence.append(Array(unit))
                case HEVCUnit.pictureParameterSet: found.picture.append(Array(unit))
                case HEVCUnit.randomAccessPoints: (isKeyFrame, hasSlice) = (true, true)
                case HEVCUnit.slices: hasSlice = true
                default: break
                }
            }
            guard hasUnits else { return nil }
            let changed = update(found)
            guard hasSlice else {
                return VideoAccessUnit(bytes: [], isKeyFrame: false, newConfiguration: changed.map { .hevc($0) })
            }
            let missing = isKeyFrame && !found.isComplete ? configuration?.parameterSets ?? [] : []
            var bytes: [UInt8] = []
            bytes.reserveCapacity(missing.count + data.count + 64)
            bytes += missing
            reader = AnnexBReader(data)
            while let unit = reader.nextUnit() {
                guard unit.count > HEVCUnit.headerSize else { continue }
                let type = HEVCUnit.type(unit[0])
                // Delimiters and padding are of the transport stream. Packetizers use the unspecified types.
                guard type < HEVCUnit.firstUnspecified, type != HEVCUnit.accessUnitDelimiter,
                    type != HEVCUnit.fillerData
                else { continue }
                bytes += AnnexBReader.startCode
                bytes += unit
            }
            return VideoAccessUnit(
                bytes: bytes, isKeyFrame: isKeyFrame, newConfiguration: changed.map { .hevc($0) })
        }
    }

    /// Replaces the parameter sets by those of an access unit. Returns the configuration if it has changed.
    private mutating func update(_ found: Sets) -> HEVCDecoderConfiguration? {
        var next = sets
        if !found.video.isEmpty { next.video = found.video }
        if !found.sequence.isEmpty { next.sequence = found.sequence }
        if !found.picture.isEmpty { next.picture = found.picture }
        guard next != sets, next.isWithinLimits else { return nil }
        sets = next
        guard sets.isComplete else { return nil }
        configuration = HEVCDecoderConfiguration(video: sets.video, sequence: sets.sequence, picture: sets.picture)
        return configuration
    }
}
