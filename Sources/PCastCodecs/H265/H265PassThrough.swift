package import PCastCore

/// Converts encoded frames of H.265 of an address or a file to the form in which they are sent. The result starts with a
/// random access point, and each of these has parameter sets. Frames that refer to missing frames are dropped.
package struct H265PassThrough: Sendable {
    /// The newest parameter sets of each type, in the order in which they refer to each other.
    private var sets: [UInt8: [[UInt8]]] = [:]
    private var needsKeyFrame = true
    private var order = FrameOrder()
    private var hasBegun = false

    /// The maximum size of the parameter sets of one type in bytes. Larger ones are ignored.
    private static let maximumSize = 4_096

    /// The number of frames that were dropped: damaged ones, and those that refer to them. Frames before the first key
    /// frame do not count.
    package private(set) var droppedCount = 0

    /// Creates a filter with the parameter sets from a header in Annex B, which may be empty.
    package init(parameterSets: [UInt8] = []) { remember(parameterSets) }

    /// Filters an access unit.
    ///
    /// - Parameters:
    ///   - accessUnit: One frame in Annex B, or NAL units that belong to the next frame.
    ///   - isDamaged: Whether the container marks it as damaged.
    ///   - timestamp: The timestamp at 90 kHz.
    ///   - captureTime: The capture time; nil if it is unknown.
    /// - Returns: The frame to send; nil if it is dropped.
    /// - Throws: `TranscodeReason` if the stream cannot be sent like this.
    package mutating func pass(
        _ accessUnit: [UInt8], isDamaged: Bool = false, timestamp: MediaTime, captureTime: WallTime?
    ) throws(TranscodeReason) -> EncodedFrame? {
        guard let unit = AccessUnit(accessUnit), !isDamaged else { return drop() }
        remember(unit.sets)
        if let profile = sequenceProfile, profile != 1 { throw .videoProfile(H265ProfileTierLevel.name(of: profile)) }
        // Leading frames are presented before the frame that they follow.
        if unit.hasLeadingSlice { throw .hasReordering }
        guard unit.hasSlice else { return nil }
        let hasAllSets = HEVCUnit.parameterSets.allSatisfy { sets[$0] != nil }
        guard unit.isKeyFrame ? hasAllSets : !needsKeyFrame else { return drop() }
        if order.isReordered(timestamp.ticks) { throw .hasReordering }
        needsKeyFrame = false
        hasBegun = true
        let lacksSets = unit.isKeyFrame && !HEVCUnit.parameterSets.allSatisfy { unit.sets[$0] != nil }
        return EncodedFrame(
            codec: .h265, bytes: lacksSets || unit.hasOtherUnits ? rewritten(accessUnit, lacksSets) : accessUnit,
            isKeyFrame: unit.isKeyFrame, timestamp: timestamp, captureTime: captureTime)
    }

    /// Stores parameter sets that come outside of frames, in a container's header or within the stream.
    mutating func remember(_ parameterSets: [UInt8]) {
        if let unit = AccessUnit(parameterSets) { remember(unit.sets) }
    }

    private mutating func remember(_ new: [UInt8: [[UInt8]]]) {
        for (type, units) in new where units.reduce(0, { $0 + $1.count }) <= Self.maximumSize { sets[type] = units }
    }

    /// The profile of the first sequence parameter set; nil if it is unknown.
    private var sequenceProfile: UInt8? {
        // The profile is the low bits of the byte after the header, the IDs and the number of layers.
        guard let set = sets[HEVCUnit.sequenceParameterSet]?.first, set.count > 3, set[3] & 0x1F > 0 else { return nil }
        return set[3] & 0x1F
    }

    /// Drops a frame. The following frames refer to it, so they are dropped until the next key frame.
    private mutating func drop() -> EncodedFrame? {
        if hasBegun { droppedCount += 1 }
        needsKeyFrame = true
        return nil
    }

    /// Returns the access unit with the parameter sets after its delimiter and before everything else (ITU-T H.265, section
    /// 7.4.2.4.4), and without units of other layers and of unspecified types.
    private func rewritten(_ accessUnit: [UInt8], _ addsSets: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(accessUnit.count + 256)
        var missing = addsSets
        accessUnit.withByteView { accessUnit in
            var reader = AnnexBReader(accessUnit)
            while let unit = reader.nextUnit() {
                let type = HEVCUnit.type(unit[0])
                guard AccessUnit.isSent(unit) else { continue }
                if missing, type != HEVCUnit.accessUnitDelimiter {
                    missing = false
                    for set in HEVCUnit.parameterSets.flatMap({ sets[$0] ?? [] }) {
                        bytes += AnnexBReader.startCode + set
                    }
                }
                if addsSets, HEVCUnit.parameterSets.contains(type) { continue }
                bytes += AnnexBReader.startCode
                bytes += unit
            }
        }
        return bytes
    }
}

extension H265PassThrough {
    /// The units of a frame, as far as they concern pass-through.
    private struct AccessUnit {
        /// The parameter sets by their type.
        var sets: [UInt8: [[UInt8]]] = [:]
        var hasSlice = false
        var isKeyFrame = false
        var hasLeadingSlice = false
        /// Whether there are units that are not sent.
        var hasOtherUnits = false

        /// Parses NAL units in Annex B. Returns nil if one is damaged.
        init?(_ bytes: [UInt8]) {
            let isIntact = bytes.withByteView { bytes in
                var reader = AnnexBReader(bytes)
                while let unit = reader.nextUnit() {
                    // The forbidden bit marks a damaged unit.
                    guard unit.count > HEVCUnit.headerSize, unit[0] & 0x80 == 0 else { return false }
                    note(unit)
                }
                return true
            }
            guard isIntact else { return nil }
        }

        /// Returns whether a unit is sent: one of the base layer with a specified type.
        static func isSent(_ unit: ByteView) -> Bool {
            unit.count > HEVCUnit.headerSize && unit[0] & 1 == 0 && unit[1] & 0xF8 == 0
                && HEVCUnit.type(unit[0]) < HEVCUnit.firstUnspecified
        }

        private mutating func note(_ unit: ByteView) {
            guard Self.isSent(unit) else { return hasOtherUnits = true }
            let type = HEVCUnit.type(unit[0])
            if HEVCUnit.parameterSets.contains(type) {
                sets[type, default: []].append(Array(unit))
            } else if HEVCUnit.slices.contains(type) {
                hasSlice = true
                if HEVCUnit.randomAccessPoints.contains(type) { isKeyFrame = true }
                if HEVCUnit.leadingFrames.contains(type) { hasLeadingSlice = true }
            }
        }
    }
}
