public import PCastMedia

/// Brings coded pictures of a camera or a file into the form in which they are sent: beginning with an IDR picture,
/// with parameter sets before each, with colours declared where they would be taken for others, and with nothing that refers
/// to what is missing.
public struct H264PassThrough: Sendable {
    private var parameterSets: H264ParameterSets
    private var needsKeyFrame = true
    private var order = PictureOrder()

    /// Pictures that were held back: damaged ones, and those that refer to them. What comes before the first key frame
    /// is not counted.
    public private(set) var droppedCount = 0
    private var hasBegun = false

    /// Of the pictures, as far as a parameter set has told.
    public var profile: H264Profile? { parameterSets.profile }

    /// - Parameters:
    ///   - parameterSets: what is known of them before the first picture, in Annex B; may be empty.
    ///   - color: what a container or a device declares, for frames that declare nothing themselves.
    public init(parameterSets: [UInt8] = [], color: VideoColor? = nil) {
        self.parameterSets = H264ParameterSets(declared: color)
        remember(parameterSets)
    }

    /// - Parameters:
    ///   - accessUnit: one picture in Annex B, or what belongs to the next.
    ///   - isDamaged: whether it is known to be.
    ///   - timestamp: of 90 kHz.
    /// - Returns: what is to be sent; nil for what is held back.
    /// - Throws: `PassThroughObstacle` when these pictures cannot be passed on; decode them, this one first.
    public mutating func pass(
        _ accessUnit: [UInt8], isDamaged: Bool = false, timestamp: MediaTime, captureTime: WallTime?
    ) throws(PassThroughObstacle) -> EncodedFrame? {
        let unit = H264AccessUnit(accessUnit)
        guard !unit.isDamaged, !isDamaged else { return drop() }
        if unit.hasSequenceParameterSet || unit.hasPictureParameterSet { remember(accessUnit) }
        if let profile, !profile.isWidelyDecodable { throw .profile(profile) }
        if let obstacle = parameterSets.obstacle { throw obstacle }
        if unit.isRotated { throw .rotated }
        guard unit.hasPicture else { return unit.hasUnspecifiedUnits ? drop() : nil }
        if unit.hasBidirectionalSlices { throw .hasReordering }
        guard unit.isKeyFrame ? parameterSets.isComplete : !needsKeyFrame else { return drop() }
        if order.isReordered(timestamp.ticks) { throw .hasReordering }
        needsKeyFrame = false
        hasBegun = true
        let lacksSets = unit.isKeyFrame && !(unit.hasSequenceParameterSet && unit.hasPictureParameterSet)
        let isRewritten =
            lacksSets || unit.hasUnspecifiedUnits || unit.hasSequenceParameterSet && parameterSets.addsColor
        return EncodedFrame(
            codec: .h264,
            bytes: isRewritten ? rewritten(accessUnit, with: lacksSets ? parameterSets.annexB : []) : accessUnit,
            isKeyFrame: unit.isKeyFrame, timestamp: timestamp, captureTime: captureTime)
    }

    /// Takes over parameter sets that stand apart: a file's header, or one that came on the way.
    mutating func remember(_ sets: [UInt8]) { sets.withUnsafeBytes { parameterSets.remember(from: $0) } }

    /// What follows refers to it.
    private mutating func drop() -> EncodedFrame? {
        if hasBegun { droppedCount += 1 }
        needsKeyFrame = true
        return nil
    }

    /// With parameter sets, which stand behind an access unit delimiter and before all else (section 7.4.1.2.3), without
    /// units of types that mean nothing, and with colours in the sequence parameter sets that lack them.
    private func rewritten(_ accessUnit: [UInt8], with sets: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(sets.count + accessUnit.count + 16)
        accessUnit.withUnsafeBytes { accessUnit in
            var reader = H264UnitReader(accessUnit)
            var hasSets = false
            while let unit = reader.next() {
                let type = unit[0] & H264UnitType.mask
                guard type != 0, type < H264UnitType.firstUnspecified else { continue }
                if !hasSets, type != H264UnitType.accessUnitDelimiter {
                    bytes += sets
                    hasSets = true
                }
                bytes += [0, 0, 0, 1]
                if type == H264UnitType.sequenceParameterSet, let described = parameterSets.described(unit) {
                    bytes += described
                } else {
                    bytes += unit
                }
            }
        }
        return bytes
    }
}
