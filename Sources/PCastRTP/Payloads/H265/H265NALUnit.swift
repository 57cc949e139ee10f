package import PCastCore

/// Constants of NAL units (ITU-T H.265, table 7-1) and of RTP payloads (RFC 7798, section 4.4).
enum H265NALUnit {
    /// The types of skipped leading frames, which refer to frames before the random access point (RASL_N, RASL_R).
    static let skippedLeading: ClosedRange<UInt8> = 8...9
    /// The types of slices with which decoding can begin (intra random access points).
    static let randomAccess: ClosedRange<UInt8> = 16...21
    /// The highest type of slices.
    static let lastSlice: UInt8 = 31
    static let videoParameterSet: UInt8 = 32
    static let sequenceParameterSet: UInt8 = 33
    static let pictureParameterSet: UInt8 = 34
    static let accessUnitDelimiter: UInt8 = 35
    static let fillerData: UInt8 = 38
    static let prefixInformation: UInt8 = 39

    /// The type of an aggregation packet.
    static let aggregation: UInt8 = 48
    /// The type of a fragmentation unit.
    static let fragmentation: UInt8 = 49
    /// The start bit in the FU header.
    static let fragmentStart: UInt8 = 0x80
    /// The end bit in the FU header.
    static let fragmentEnd: UInt8 = 0x40
    /// The size of the header of a NAL unit in bytes.
    static let headerSize = 2

    /// Returns the type of a unit from its first byte.
    @inline(__always)
    static func type(_ header: UInt8) -> UInt8 { header >> 1 & 0x3F }

    /// Returns whether a unit of at least two bytes belongs to the base layer (`nuh_layer_id` is 0), the only one that
    /// decoders of single-layer profiles decode.
    static func isBaseLayer(_ unit: Span<UInt8>) -> Bool { unit[0] & 1 == 0 && unit[1] & 0xF8 == 0 }

    /// Returns the first byte of a unit's header with another type.
    static func header(_ header: UInt8, type: UInt8) -> UInt8 { header & 0x81 | type << 1 }

    /// Returns whether a type is one of a coded stream; RTP uses those from 48 on for packets of its own.
    static func isSpecified(_ type: UInt8) -> Bool { type < aggregation }

    /// Returns whether a unit contains a slice.
    static func isSlice(_ type: UInt8) -> Bool { type <= lastSlice }

    /// Returns whether a unit is a video, sequence or picture parameter set.
    static func isParameterSet(_ type: UInt8) -> Bool { (videoParameterSet...pictureParameterSet).contains(type) }

    /// Returns whether a unit precedes the slices of a frame (section 7.4.2.4.4): parameter sets, delimiters and
    /// prefix information.
    static func precedesSlice(_ type: UInt8) -> Bool {
        (videoParameterSet...accessUnitDelimiter).contains(type) || type == prefixInformation
            || (41...44).contains(type)
    }
}

/// Iterates over the NAL units of an RTP payload, or returns its fragment of one (RFC 7798, section 4.4). Decoding order
/// numbers are not supported, because they are never negotiated.
///
/// It allocates nothing, and does not store the payload. An aggregate ends at the first unit that is empty or
/// truncated.
struct H265PayloadReader {
    /// A NAL unit or a fragment of one.
    struct Unit {
        /// The type of the NAL unit.
        let type: UInt8
        /// The range in the payload: of a whole unit with its header, or of a fragment without headers.
        let range: Range<Int>
        /// Whether the unit begins here.
        let isStart: Bool
        /// Whether it is a whole unit.
        let isWhole: Bool
        /// Whether it belongs to the base layer.
        let isBaseLayer: Bool

        /// The offset of the data after the header.
        var body: Int { isWhole ? range.lowerBound + H265NALUnit.headerSize : range.lowerBound }
    }

    /// The offset of the next unit.
    private var offset = 0

    /// Returns the next unit; nil after the last.
    mutating func next(in payload: Span<UInt8>) -> Unit? {
        guard payload.count > H265NALUnit.headerSize, offset < payload.count else { return nil }
        if offset == 0 {
            switch H265NALUnit.type(payload[0]) {
            case H265NALUnit.aggregation: offset = H265NALUnit.headerSize
            case H265NALUnit.fragmentation:
                offset = payload.count
                return Self.fragment(payload)
            case let type:
                offset = payload.count
                return Unit(
                    type: type, range: 0..<payload.count, isStart: true, isWhole: true,
                    isBaseLayer: H265NALUnit.isBaseLayer(payload))
            }
        }
        guard offset + 2 < payload.count else { return nil }
        let size = Int(payload[offset]) << 8 | Int(payload[offset + 1])
        let start = offset + 2
        guard size > H265NALUnit.headerSize, size <= payload.count - start else {
            offset = payload.count
            return nil
        }
        offset = start + size
        return Unit(
            type: H265NALUnit.type(payload[start]), range: start..<offset, isStart: true, isWhole: true,
            isBaseLayer: H265NALUnit.isBaseLayer(payload.extracting(start..<offset)))
    }

    /// Parses a fragmentation unit.
    private static func fragment(_ payload: Span<UInt8>) -> Unit? {
        guard payload.count > 3 else { return nil }
        return Unit(
            type: payload[2] & 0x3F, range: 3..<payload.count, isStart: payload[2] & H265NALUnit.fragmentStart != 0,
            isWhole: false, isBaseLayer: H265NALUnit.isBaseLayer(payload))
    }

    /// Returns whether a payload contains only slices of skipped leading frames, from its first unit.
    @inline(__always)
    static func isSkippedLeading(_ payload: ByteView) -> Bool {
        guard payload.count > 3 else { return false }
        var type = H265NALUnit.type(payload[0])
        if type == H265NALUnit.fragmentation {
            type = payload[2] & 0x3F
        } else if type == H265NALUnit.aggregation, payload.count > 4 {
            type = H265NALUnit.type(payload[4])
        }
        return H265NALUnit.skippedLeading.contains(type)
    }
}

/// The fields of a sequence parameter set that describe the video (ITU-T H.265, sections 7.3.2.2 and 7.3.3). Parsing
/// allocates nothing.
package struct H265SequenceParameterSet: Hashable, Sendable {
    /// The maximum width and height; a larger size is invalid.
    static let maximumSide = 16_384

    /// Profile, tier and level.
    package let general: H265ProfileTierLevel
    /// The bits of a luma sample, 8 to 16.
    package let bitDepth: Int
    /// The bits of a chroma sample, 8 to 16.
    package let chromaBitDepth: Int
    /// The value of `chroma_format_idc`: 0 for monochrome, 1 for 4:2:0, 2 for 4:2:2, 3 for 4:4:4.
    package let chromaFormat: UInt8
    /// The number of temporal sub-layers, 1 to 7.
    package let subLayerCount: Int
    /// The value of `sps_temporal_id_nesting_flag`.
    package let isNested: Bool
    /// The most frames that precede a frame in decoding order and follow it in presentation order
    /// (`sps_max_num_reorder_pics` of the highest sub-layer), 0 to 16.
    package let reorderedFrames: Int
    /// The size of the video after cropping.
    package let dimensions: Dimensions
    /// The ID of the parameter set, 0 to 15.
    let id: UInt32
    /// The ID of the video parameter set that it refers to, 0 to 15.
    let videoID: UInt32

    /// Parses a NAL unit with its header. Returns nil if it is not a sequence parameter set, or is truncated or
    /// invalid.
    package init?(_ unit: Span<UInt8>) {
        guard unit.count > H265NALUnit.headerSize,
            H265NALUnit.type(unit[0]) == H265NALUnit.sequenceParameterSet, H265NALUnit.isBaseLayer(unit)
        else { return nil }
        var reader = H264BitReader(offset: H265NALUnit.headerSize)
        videoID = reader.bits(4, unit)
        let subLayers = Int(reader.bits(3, unit))
        isNested = reader.bit(unit) == 1
        let space = UInt8(reader.bits(2, unit))
        let isHighTier = reader.bit(unit) == 1
        let profile = UInt8(reader.bits(5, unit))
        let compatibility = reader.bits(32, unit)
        let constraints = UInt64(reader.bits(32, unit)) << 16 | UInt64(reader.bits(16, unit))
        general = H265ProfileTierLevel(
            space: space, isHighTier: isHighTier, profile: profile, compatibility: compatibility,
            constraints: constraints, level: UInt8(reader.bits(8, unit)))
        Self.skipSubLayers(subLayers, &reader, unit)
        id = reader.unsignedExponentialGolomb(unit)
        let chroma = reader.unsignedExponentialGolomb(unit)
        let isSeparate = chroma == 3 && reader.bit(unit) == 1
        var width = Int(reader.unsignedExponentialGolomb(unit))
        var height = Int(reader.unsignedExponentialGolomb(unit))
        guard width <= Self.maximumSide, height <= Self.maximumSide else { return nil }
        if reader.bit(unit) == 1 {
            let unitX = !isSeparate && (chroma == 1 || chroma == 2) ? 2 : 1
            let unitY = !isSeparate && chroma == 1 ? 2 : 1
            let left = Int(reader.unsignedExponentialGolomb(unit))
            let right = Int(reader.unsignedExponentialGolomb(unit))
            let top = Int(reader.unsignedExponentialGolomb(unit))
            let bottom = Int(reader.unsignedExponentialGolomb(unit))
            width -= (left + right) * unitX
            height -= (top + bottom) * unitY
        }
        let depth = reader.unsignedExponentialGolomb(unit)
        guard !reader.isExhausted, id < 16, chroma <= 3, subLayers < 7, depth <= 8, width > 0, height > 0 else {
            return nil
        }
        let chromaDepth = reader.unsignedExponentialGolomb(unit)
        let reordered = Self.readReordering(subLayers, &reader, unit)
        bitDepth = 8 + Int(depth)
        chromaBitDepth = 8 + Int(min(chromaDepth, 8))
        chromaFormat = UInt8(chroma)
        subLayerCount = subLayers + 1
        reorderedFrames = reader.isExhausted ? 0 : Int(min(reordered, 16))
        dimensions = Dimensions(width: width, height: height)
    }

    /// The format of the video.
    package var video: CodecParameters {
        CodecParameters(.h265(general), bitDepth: bitDepth, dimensions: dimensions)
    }

    /// Reads the number of reordered frames of the highest sub-layer.
    private static func readReordering(
        _ subLayers: Int, _ reader: inout H264BitReader, _ unit: Span<UInt8>
    ) -> UInt32 {
        _ = reader.unsignedExponentialGolomb(unit)
        let statesAll = reader.bit(unit) == 1
        var reordered: UInt32 = 0
        for _ in 0...(statesAll ? subLayers : 0) {
            _ = reader.unsignedExponentialGolomb(unit)
            reordered = reader.unsignedExponentialGolomb(unit)
            _ = reader.unsignedExponentialGolomb(unit)
        }
        return reordered
    }

    /// Skips a number of bits.
    private static func skip(_ count: Int, _ reader: inout H264BitReader, _ unit: Span<UInt8>) {
        for _ in 0..<count { _ = reader.bit(unit) }
    }

    /// Skips the profiles and levels of sub-layers below the highest.
    private static func skipSubLayers(_ count: Int, _ reader: inout H264BitReader, _ unit: Span<UInt8>) {
        guard count > 0 else { return }
        let flags = reader.bits(16, unit)
        for index in 0..<count {
            if flags & 0x8000 >> UInt32(2 * index) != 0 { skip(88, &reader, unit) }
            if flags & 0x4000 >> UInt32(2 * index) != 0 { skip(8, &reader, unit) }
        }
    }
}

/// The latest parameter set of each ID that a stream has sent.
///
/// At most ``maximumCount`` sets with ``maximumTotalSize`` bytes are kept; beyond that the oldest ones are removed. A
/// set that is too large or has no valid ID is ignored.
package struct H265ParameterSets: Sendable {
    private struct Entry {
        /// The type of the NAL unit.
        let type: UInt8
        let id: UInt32
        /// The ID of the set that it refers to; its own for a video parameter set.
        var parentID: UInt32
        /// The NAL unit with its header.
        var bytes: [UInt8]
        /// The position in the stream at which it was last sent.
        var order: Int64
        /// The format of the video from a sequence parameter set.
        var video: CodecParameters?
    }

    /// The maximum number of sets.
    package static let maximumCount = 32
    /// The maximum size of all sets in bytes.
    package static let maximumTotalSize = 4096
    /// The maximum size of a set in bytes; a larger one would not fit in an RTP packet.
    package static let maximumSize = 1_100

    private var entries: [Entry] = []
    /// The size of all sets in bytes.
    private var totalSize = 0

    /// Creates an empty collection.
    package init() {}

    /// Whether there is a picture parameter set with the sets that it refers to.
    package var isComplete: Bool {
        entries.contains { $0.type == H265NALUnit.pictureParameterSet && contains($0.id) }
    }

    private func entry(_ type: UInt8, _ id: UInt32) -> Entry? { entries.first { $0.type == type && $0.id == id } }

    /// Returns whether a picture parameter set and the sets that it refers to are present.
    package func contains(_ pictureID: UInt32) -> Bool {
        guard let picture = entry(H265NALUnit.pictureParameterSet, pictureID),
            let sequence = entry(H265NALUnit.sequenceParameterSet, picture.parentID)
        else { return false }
        return entry(H265NALUnit.videoParameterSet, sequence.parentID) != nil
    }

    /// Returns the format of the video that a picture parameter set refers to; that of the latest sequence parameter set
    /// if the ID is nil or unknown.
    package func video(_ pictureID: UInt32?) -> CodecParameters? {
        if let picture = pictureID.flatMap({ entry(H265NALUnit.pictureParameterSet, $0) }) {
            return entry(H265NALUnit.sequenceParameterSet, picture.parentID)?.video
        }
        return entries.filter { $0.type == H265NALUnit.sequenceParameterSet }.max { $0.order < $1.order }?.video
    }

    /// Stores a parameter set, which replaces the one with the same ID. Other units are ignored.
    ///
    /// - Parameters:
    ///   - unit: The NAL unit with its header.
    ///   - order: The position in the stream. A set from before the stored one is ignored.
    package mutating func remember(_ unit: Span<UInt8>, order: Int64) {
        guard unit.count <= Self.maximumSize, let set = H265ParameterSetID(unit) else { return }
        if let index = entries.firstIndex(where: { $0.type == set.type && $0.id == set.id }) {
            guard order >= entries[index].order else { return }
            entries[index].order = order
            let isEqual =
                entries[index].bytes.count == unit.count
                && unit.indices.allSatisfy { entries[index].bytes[$0] == unit[$0] }
            if isEqual { return }
            totalSize += unit.count - entries[index].bytes.count
            entries[index].bytes = Array(unit)
            entries[index].parentID = set.parentID
            entries[index].video = H265SequenceParameterSet(unit)?.video
        } else {
            totalSize += unit.count
            entries.append(
                Entry(
                    type: set.type, id: set.id, parentID: set.parentID, bytes: Array(unit), order: order,
                    video: H265SequenceParameterSet(unit)?.video))
        }
        while entries.count > Self.maximumCount || totalSize > Self.maximumTotalSize { removeOldest() }
    }

    private mutating func removeOldest() {
        guard let oldest = entries.indices.min(by: { entries[$0].order < entries[$1].order }) else { return }
        totalSize -= entries[oldest].bytes.count
        entries.remove(at: oldest)
    }

    /// The sets in the order in which they refer to each other: video, sequence and picture parameter sets.
    package var inOrder: [[UInt8]] {
        (H265NALUnit.videoParameterSet...H265NALUnit.pictureParameterSet).flatMap { type in
            entries.filter { $0.type == type }.map(\.bytes)
        }
    }

    /// All sets in Annex B format.
    package var annexB: [UInt8] { inOrder.flatMap { AnnexBReader.startCode + $0 } }

    /// Returns RTP payloads that contain all sets, each in a packet of its own if several do not fit.
    func payloads() -> [[UInt8]] {
        var payloads: [[UInt8]] = []
        var group: [[UInt8]] = []
        var size = H265NALUnit.headerSize
        func finish() {
            guard group.count > 1 else { return payloads += group }
            // The layer and the temporal layer of parameter sets are the lowest ones.
            let header: [UInt8] = [H265NALUnit.aggregation << 1, 1]
            payloads.append(
                group.reduce(into: header) { payload, unit in
                    payload += [UInt8(unit.count >> 8), UInt8(truncatingIfNeeded: unit.count)] + unit
                })
        }
        for unit in inOrder {
            if !group.isEmpty, size + 2 + unit.count > Self.maximumSize {
                finish()
                group.removeAll()
                size = H265NALUnit.headerSize
            }
            group.append(unit)
            size += 2 + unit.count
        }
        finish()
        return payloads
    }
}

/// The ID of a parameter set and the one it refers to (ITU-T H.265, sections 7.3.2.1 to 7.3.2.3).
struct H265ParameterSetID {
    /// The type of the NAL unit.
    let type: UInt8
    /// The ID of the parameter set.
    let id: UInt32
    /// The ID of the set that it refers to; its own for a video parameter set.
    let parentID: UInt32

    /// Parses a NAL unit. Returns nil if it is not a parameter set of the base layer, is truncated or contains an invalid
    /// ID. Frames of the base layer refer to no set of another layer.
    init?(_ unit: Span<UInt8>) {
        guard unit.count > H265NALUnit.headerSize, H265NALUnit.isBaseLayer(unit) else { return nil }
        type = H265NALUnit.type(unit[0])
        var reader = H264BitReader(offset: H265NALUnit.headerSize)
        switch type {
        case H265NALUnit.videoParameterSet:
            id = reader.bits(4, unit)
            parentID = id
        case H265NALUnit.sequenceParameterSet:
            guard let set = H265SequenceParameterSet(unit) else { return nil }
            (id, parentID) = (set.id, set.videoID)
        case H265NALUnit.pictureParameterSet:
            id = reader.unsignedExponentialGolomb(unit)
            parentID = reader.unsignedExponentialGolomb(unit)
            guard !reader.isExhausted, id < 64, parentID < 16 else { return nil }
        default: return nil
        }
    }

    /// Returns the ID of the picture parameter set that the slice of a random access point refers to (section
    /// 7.3.6.1); nil if the slice header is truncated.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - offset: The offset of the slice header, after the header of the NAL unit.
    /// - Returns: The ID.
    static func ofSlice(_ payload: Span<UInt8>, at offset: Int) -> UInt32? {
        var reader = H264BitReader(offset: offset)
        _ = reader.bits(2, payload)
        let id = reader.unsignedExponentialGolomb(payload)
        return reader.isExhausted || id > 63 ? nil : id
    }
}
