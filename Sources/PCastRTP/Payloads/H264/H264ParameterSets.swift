package import PCastCore

/// The latest parameter set of each ID that a stream has sent or announced. A set is valid until another one replaces
/// it (ITU-T H.264, section 7.4.1.2.1).
///
/// At most ``maximumCount`` sets with ``maximumTotalSize`` bytes are kept; beyond that the oldest ones are removed. A
/// set that is too large or has no valid ID is ignored.
package struct H264ParameterSets: Sendable {
    private struct Entry {
        /// Whether it is a sequence parameter set.
        let isSequence: Bool
        /// The ID of the parameter set.
        let id: UInt32
        /// The ID of the sequence parameter set: its own, or the one that a picture parameter set refers to.
        var sequenceID: UInt32
        /// The NAL unit with its header.
        var bytes: [UInt8]
        /// The position in the stream at which it was last sent.
        var order: Int64
        /// The size of the video from a sequence parameter set; nil for a picture parameter set.
        var dimensions: Dimensions?
    }

    /// The maximum number of sets.
    static let maximumCount = 32
    /// The maximum size of all sets in bytes.
    static let maximumTotalSize = 4096
    /// The maximum size of a set in bytes; a larger one would not fit in a packet.
    static let maximumSize = PayloadPacketizer.defaultMaximumPayloadSize

    private var entries: [Entry] = []
    /// The size of all sets in bytes.
    private var totalSize = 0

    /// Creates an empty collection.
    package init() {}

    /// Whether there is a picture parameter set with its sequence parameter set, which a frame needs at least.
    package var isComplete: Bool {
        entries.contains { entry in
            !entry.isSequence && entries.contains { $0.isSequence && $0.id == entry.sequenceID }
        }
    }

    /// Returns whether a picture parameter set and its sequence parameter set are present.
    func contains(_ pictureID: UInt32) -> Bool {
        guard let picture = entries.first(where: { !$0.isSequence && $0.id == pictureID }) else { return false }
        return entries.contains { $0.isSequence && $0.id == picture.sequenceID }
    }

    /// Returns the size of the video that a picture parameter set refers to; that of the latest sequence parameter set
    /// if the ID is nil or unknown.
    func dimensions(_ pictureID: UInt32?) -> Dimensions? {
        let picture = pictureID.flatMap { id in entries.first { !$0.isSequence && $0.id == id } }
        guard let picture else { return entries.filter(\.isSequence).max { $0.order < $1.order }?.dimensions }
        return entries.first { $0.isSequence && $0.id == picture.sequenceID }?.dimensions
    }

    /// Stores a parameter set, which replaces the one with the same ID. Other units are ignored.
    ///
    /// - Parameters:
    ///   - unit: The NAL unit with its header.
    ///   - order: The position in the stream. A set from before the stored one is ignored.
    package mutating func remember(_ unit: Span<UInt8>, order: Int64) {
        guard unit.count <= Self.maximumSize, let set = H264ParameterSetID(unit) else { return }
        if let index = entries.firstIndex(where: { $0.isSequence == set.isSequence && $0.id == set.id }) {
            guard order >= entries[index].order else { return }
            entries[index].order = order
            if Self.isEqual(entries[index].bytes, unit) { return }
            totalSize += unit.count - entries[index].bytes.count
            entries[index].bytes = Self.copy(unit)
            entries[index].sequenceID = set.sequenceID
            entries[index].dimensions = H264SequenceParameterSet(unit)?.dimensions
        } else {
            totalSize += unit.count
            entries.append(
                Entry(
                    isSequence: set.isSequence, id: set.id, sequenceID: set.sequenceID, bytes: Self.copy(unit),
                    order: order, dimensions: H264SequenceParameterSet(unit)?.dimensions))
        }
        while entries.count > Self.maximumCount || totalSize > Self.maximumTotalSize { removeOldest() }
    }

    private mutating func removeOldest() {
        guard let oldest = entries.indices.min(by: { entries[$0].order < entries[$1].order }) else { return }
        totalSize -= entries[oldest].bytes.count
        entries.remove(at: oldest)
    }

    /// Returns whether the bytes of a set are equal to a unit.
    private static func isEqual(_ bytes: [UInt8], _ unit: Span<UInt8>) -> Bool {
        bytes.count == unit.count && unit.indices.allSatisfy { bytes[$0] == unit[$0] }
    }

    private static func copy(_ unit: Span<UInt8>) -> [UInt8] { unit.withUnsafeBufferPointer { Array($0) } }

    // MARK: Sending

    /// The sets, with the sequence parameter sets first, because the others refer to them.
    private var inOrder: [[UInt8]] {
        entries.filter(\.isSequence).map(\.bytes) + entries.filter { !$0.isSequence }.map(\.bytes)
    }

    /// All sets in Annex B format, with the sequence parameter sets first.
    var annexB: [UInt8] { inOrder.flatMap { [0, 0, 0, 1] + $0 } }

    /// Returns payloads that contain all sets (RFC 6184).
    ///
    /// - Parameter aggregates: Whether the peer accepts several units in a packet (`packetization-mode=1`).
    /// - Returns: The payloads.
    func payloads(aggregates: Bool) -> [[UInt8]] {
        var payloads: [[UInt8]] = []
        var group: [[UInt8]] = []
        var size = 1
        func finish() {
            guard group.count > 1 else { return payloads += group }
            // The NRI of a STAP-A is the maximum of its units (RFC 6184, section 5.7.1).
            let reference = group.reduce(0) { max($0, $1[0] & H264NALUnit.referenceMask) }
            payloads.append(
                group.reduce(into: [reference | H264NALUnit.stapA]) { payload, unit in
                    payload += [UInt8(unit.count >> 8), UInt8(truncatingIfNeeded: unit.count)] + unit
                })
        }
        for unit in inOrder {
            if !group.isEmpty, !aggregates || size + 2 + unit.count > Self.maximumSize {
                finish()
                group.removeAll()
                size = 1
            }
            group.append(unit)
            size += 2 + unit.count
        }
        finish()
        return payloads
    }
}

/// The properties of a video stream from its sequence parameter set (ITU-T H.264, section 7.3.2.1.1).
package struct H264SequenceParameterSet: Hashable, Sendable {
    /// The profile, `profile_idc`.
    package let profile: UInt8

    /// The six constraint flags and two reserved bits after the profile.
    package let constraints: UInt8

    /// The level multiplied by ten, such as 31 for 3.1.
    package let level: UInt8

    /// The size of the video after cropping.
    package let dimensions: Dimensions

    /// The maximum width and height; a larger size is invalid.
    package static let maximumSide = 16_384

    /// Parses a NAL unit with its header. Returns nil if it is not a sequence parameter set, or if it is truncated or
    /// invalid.
    package init?(_ unit: Span<UInt8>) {
        guard unit.count >= 4, unit[0] & H264NALUnit.typeMask == H264NALUnit.sequenceParameterSet else { return nil }
        profile = unit[1]
        constraints = unit[2]
        level = unit[3]
        var reader = H264BitReader(offset: 4)
        _ = reader.unsignedExponentialGolomb(unit)
        let chroma = Self.readChroma(profile: profile, &reader, unit)
        Self.skipPictureOrder(&reader, unit)
        guard let dimensions = Self.readDimensions(chroma: chroma, &reader, unit) else { return nil }
        self.dimensions = dimensions
    }

    /// Reads `ChromaArrayType`, which is 1 (4:2:0) except for the high profiles.
    private static func readChroma(profile: UInt8, _ reader: inout H264BitReader, _ unit: Span<UInt8>) -> UInt32 {
        switch profile {
        case 100, 110, 122, 244, 44, 83, 86, 118, 128, 134, 135, 138, 139: break
        default: return 1
        }
        let format = reader.unsignedExponentialGolomb(unit)
        let isSeparate = format == 3 && reader.bit(unit) == 1
        _ = reader.unsignedExponentialGolomb(unit)
        _ = reader.unsignedExponentialGolomb(unit)
        _ = reader.bit(unit)
        if reader.bit(unit) == 1 {
            for list in 0..<(format == 3 ? 12 : 8) where reader.bit(unit) == 1 {
                skipScalingList(size: list < 6 ? 16 : 64, &reader, unit)
            }
        }
        return isSeparate ? 0 : format
    }

    /// Skips a scaling list (section 7.3.2.1.1.1).
    private static func skipScalingList(size: Int, _ reader: inout H264BitReader, _ unit: Span<UInt8>) {
        var last: Int64 = 8
        for _ in 0..<size {
            let next = (last + reader.signedExponentialGolomb(unit)) & 0xFF
            if next == 0 || reader.isExhausted { return }
            last = next
        }
    }

    /// Skips the fields about the picture order count and the reference frames.
    private static func skipPictureOrder(_ reader: inout H264BitReader, _ unit: Span<UInt8>) {
        _ = reader.unsignedExponentialGolomb(unit)
        let orderType = reader.unsignedExponentialGolomb(unit)
        if orderType == 0 {
            _ = reader.unsignedExponentialGolomb(unit)
        } else if orderType == 1 {
            _ = reader.bit(unit)
            _ = reader.signedExponentialGolomb(unit)
            _ = reader.signedExponentialGolomb(unit)
            // The standard limits `num_ref_frames_in_pic_order_cnt_cycle` to 255.
            for _ in 0..<min(reader.unsignedExponentialGolomb(unit), 255) {
                _ = reader.signedExponentialGolomb(unit)
            }
        }
        _ = reader.unsignedExponentialGolomb(unit)
        _ = reader.bit(unit)
    }

    /// Reads the size, which is in macroblocks of 16 × 16 and cropped in chroma samples (equations 7-13 to 7-22).
    private static func readDimensions(
        chroma: UInt32, _ reader: inout H264BitReader, _ unit: Span<UInt8>
    ) -> Dimensions? {
        let columns = Int(reader.unsignedExponentialGolomb(unit)) + 1
        let rows = Int(reader.unsignedExponentialGolomb(unit)) + 1
        let fieldFactor = reader.bit(unit) == 1 ? 1 : 2
        if fieldFactor == 2 { _ = reader.bit(unit) }
        _ = reader.bit(unit)
        guard columns <= maximumSide / 16, rows * fieldFactor <= maximumSide / 16 else { return nil }
        var width = columns * 16
        var height = rows * fieldFactor * 16
        if reader.bit(unit) == 1 {
            let unitX = chroma == 1 || chroma == 2 ? 2 : 1
            let unitY = (chroma == 1 ? 2 : 1) * fieldFactor
            let left = Int(reader.unsignedExponentialGolomb(unit))
            let right = Int(reader.unsignedExponentialGolomb(unit))
            width -= (left + right) * unitX
            let top = Int(reader.unsignedExponentialGolomb(unit))
            let bottom = Int(reader.unsignedExponentialGolomb(unit))
            height -= (top + bottom) * unitY
        }
        guard !reader.isExhausted, width > 0, height > 0 else { return nil }
        return Dimensions(width: width, height: height)
    }
}
