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
        /// The format of the video from a sequence parameter set; nil for a picture parameter set.
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

    /// Whether there is a picture parameter set with its sequence parameter set, which a frame needs at least.
    package var isComplete: Bool {
        entries.contains { entry in
            !entry.isSequence && entries.contains { $0.isSequence && $0.id == entry.sequenceID }
        }
    }

    /// Returns whether a picture parameter set and its sequence parameter set are present.
    package func contains(_ pictureID: UInt32) -> Bool {
        guard let picture = entries.first(where: { !$0.isSequence && $0.id == pictureID }) else { return false }
        return entries.contains { $0.isSequence && $0.id == picture.sequenceID }
    }

    /// Returns the format of the video that a picture parameter set refers to; that of the latest sequence parameter set
    /// if the ID is nil or unknown.
    package func video(_ pictureID: UInt32?) -> CodecParameters? {
        let picture = pictureID.flatMap { id in entries.first { !$0.isSequence && $0.id == id } }
        guard let picture else { return entries.filter(\.isSequence).max { $0.order < $1.order }?.video }
        return entries.first { $0.isSequence && $0.id == picture.sequenceID }?.video
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
            entries[index].bytes = Array(unit)
            entries[index].sequenceID = set.sequenceID
            entries[index].video = H264SequenceParameterSet(unit).map { CodecParameters($0) }
        } else {
            totalSize += unit.count
            entries.append(
                Entry(
                    isSequence: set.isSequence, id: set.id, sequenceID: set.sequenceID, bytes: Array(unit),
                    order: order, video: H264SequenceParameterSet(unit).map { CodecParameters($0) }))
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

    /// The sets, with the sequence parameter sets first, because the others refer to them.
    package var inOrder: [[UInt8]] {
        entries.filter(\.isSequence).map(\.bytes) + entries.filter { !$0.isSequence }.map(\.bytes)
    }

    /// All sets in Annex B format, with the sequence parameter sets first.
    package var annexB: [UInt8] { inOrder.flatMap { [0, 0, 0, 1] + $0 } }
}

/// The ID of a parameter set and the one it refers to (ITU-T H.264, sections 7.3.2.1.1 and 7.3.2.2).
package struct H264ParameterSetID {
    /// Whether it is a sequence parameter set.
    package let isSequence: Bool
    /// The ID of the parameter set.
    package let id: UInt32
    /// The ID of the sequence parameter set: its own, or the one that a picture parameter set refers to.
    package let sequenceID: UInt32

    /// Parses a NAL unit. Returns nil if it is not a parameter set, is truncated or contains an invalid ID.
    package init?(_ unit: Span<UInt8>) {
        guard !unit.isEmpty else { return nil }
        switch unit[0] & H264NALUnit.typeMask {
        case H264NALUnit.sequenceParameterSet:
            // The ID follows the profile, the constraint flags and the level.
            var reader = H264BitReader(offset: 1)
            _ = reader.bits(24, unit)
            id = reader.unsignedExponentialGolomb(unit)
            guard !reader.isExhausted, id < 32 else { return nil }
            (isSequence, sequenceID) = (true, id)
        case H264NALUnit.pictureParameterSet:
            var reader = H264BitReader(offset: 1)
            id = reader.unsignedExponentialGolomb(unit)
            sequenceID = reader.unsignedExponentialGolomb(unit)
            guard !reader.isExhausted, id < 256, sequenceID < 32 else { return nil }
            isSequence = false
        default: return nil
        }
    }

    /// Returns the ID of the picture parameter set that a slice refers to (section 7.3.3); nil if the slice header is
    /// truncated.
    ///
    /// - Parameters:
    ///   - payload: The payload.
    ///   - offset: The offset of the slice header, after the header of the NAL unit.
    /// - Returns: The ID.
    package static func ofSlice(_ payload: Span<UInt8>, at offset: Int) -> UInt32? {
        var reader = H264BitReader(offset: offset)
        _ = reader.unsignedExponentialGolomb(payload)
        _ = reader.unsignedExponentialGolomb(payload)
        let id = reader.unsignedExponentialGolomb(payload)
        return reader.isExhausted || id > 255 ? nil : id
    }
}
