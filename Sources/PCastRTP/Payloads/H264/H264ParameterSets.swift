import PCastMedia

/// The last sequence and picture parameter set of each ID that a stream has sent or announced. Each is in force until another
/// one replaces it (ITU-T H.264, section 7.4.1.2.1).
///
/// At most `maximumCount` sets with `maximumTotalSize` bytes are kept. When there are more, those that were replaced or sent
/// the longest ago are forgotten. A set that is too large or has no ID is not kept.
public struct H264ParameterSets: Sendable {
    private struct Entry {
        let isSequence: Bool
        let id: UInt32
        /// Of a picture parameter set: the ID of the sequence parameter set that it refers to.
        var sequenceID: UInt32
        var bytes: [UInt8]
        /// Where in the stream it was sent last.
        var order: Int64
        /// Of a sequence parameter set.
        var dimensions: Dimensions?
    }

    static let maximumCount = 32
    static let maximumTotalSize = 4096
    /// Larger ones would not fit a packet.
    static let maximumSize = PayloadPacketizer.defaultMaximumPayloadSize

    private var entries: [Entry] = []
    private var totalSize = 0

    public init() {}

    /// Whether a picture can be decoded with them, as far as its slices do not tell which ones they need.
    public var isComplete: Bool {
        entries.contains { entry in
            !entry.isSequence && entries.contains { $0.isSequence && $0.id == entry.sequenceID }
        }
    }

    /// Whether a picture can be decoded whose slices refer to that picture parameter set.
    func contains(_ pictureID: UInt32) -> Bool {
        guard let picture = entries.first(where: { !$0.isSequence && $0.id == pictureID }) else { return false }
        return entries.contains { $0.isSequence && $0.id == picture.sequenceID }
    }

    /// The size of the pictures whose slices refer to that picture parameter set; of the last sequence parameter set where it
    /// is nil.
    func dimensions(_ pictureID: UInt32?) -> Dimensions? {
        let picture = pictureID.flatMap { id in entries.first { !$0.isSequence && $0.id == id } }
        guard let picture else { return entries.filter(\.isSequence).max { $0.order < $1.order }?.dimensions }
        return entries.first { $0.isSequence && $0.id == picture.sequenceID }?.dimensions
    }

    /// Keeps a parameter set instead of the one that had its ID. Other units are ignored.
    ///
    /// - Parameters:
    ///   - unit: a NAL unit, header first.
    ///   - order: where in the stream it was sent. One from before the one that is kept is ignored.
    public mutating func remember(_ unit: Span<UInt8>, order: Int64) {
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
        while entries.count > Self.maximumCount || totalSize > Self.maximumTotalSize { forgetOldest() }
    }

    private mutating func forgetOldest() {
        guard let oldest = entries.indices.min(by: { entries[$0].order < entries[$1].order }) else { return }
        totalSize -= entries[oldest].bytes.count
        entries.remove(at: oldest)
    }

    private static func isEqual(_ bytes: [UInt8], _ unit: Span<UInt8>) -> Bool {
        bytes.count == unit.count && unit.indices.allSatisfy { bytes[$0] == unit[$0] }
    }

    private static func copy(_ unit: Span<UInt8>) -> [UInt8] { unit.withUnsafeBufferPointer { Array($0) } }

    // MARK: Sending them

    /// Sequence parameter sets first, for the others refer to them.
    private var inOrder: [[UInt8]] {
        entries.filter(\.isSequence).map(\.bytes) + entries.filter { !$0.isSequence }.map(\.bytes)
    }

    /// All sets in Annex B, sequence parameter sets first.
    var annexB: [UInt8] { inOrder.flatMap { [0, 0, 0, 1] + $0 } }

    /// The payloads that carry all sets (RFC 6184).
    ///
    /// - Parameter aggregates: whether the peer takes several in one packet (`packetization-mode=1`).
    func payloads(aggregates: Bool) -> [[UInt8]] {
        var payloads: [[UInt8]] = []
        var group: [[UInt8]] = []
        var size = 1
        func finish() {
            guard group.count > 1 else { return payloads += group }
            // STAP-A: its NRI is the largest of what it aggregates (section 5.7.1).
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
