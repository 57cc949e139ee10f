package import PCastCore

/// Converts encoded frames of a camera or a file to the form in which they are sent. The result starts with an IDR
/// frame, and every key frame contains parameter sets. A color description is added where viewers would show wrong
/// colors. Frames that refer to missing frames are dropped.
package struct H264PassThrough: Sendable {
    private var parameterSets: H264ParameterSetCache
    private var needsKeyFrame = true
    private var order = FrameOrder()

    /// The number of frames that were dropped: damaged ones, and those that refer to them. Frames before the first key
    /// frame do not count.
    package private(set) var droppedCount = 0
    private var hasBegun = false

    /// The profile of the stream; nil before the first sequence parameter set.
    package var profile: H264ProfileIDC? { parameterSets.profile }

    /// Creates a filter.
    ///
    /// - Parameters:
    ///   - parameterSets: The parameter sets from a header, in Annex B; may be empty.
    ///   - color: The color description of the container or the device, for streams without one.
    package init(parameterSets: [UInt8] = [], color: VideoColor? = nil) {
        self.parameterSets = H264ParameterSetCache(declared: color)
        remember(parameterSets)
    }

    /// Filters an access unit.
    ///
    /// - Parameters:
    ///   - accessUnit: One frame in Annex B, or NAL units that belong to the next frame.
    ///   - isDamaged: Whether the container marks it as damaged.
    ///   - timestamp: The timestamp at 90 kHz.
    ///   - captureTime: The capture time; nil if it is unknown.
    /// - Returns: The frame to send; nil if it is dropped.
    /// - Throws: `TranscodeReason` if the stream cannot be sent like this. Decode it instead, starting with this
    ///   frame.
    package mutating func pass(
        _ accessUnit: [UInt8], isDamaged: Bool = false, timestamp: MediaTime, captureTime: WallTime?
    ) throws(TranscodeReason) -> EncodedFrame? {
        let unit = H264AccessUnit(accessUnit)
        guard !unit.isDamaged, !isDamaged else { return drop() }
        if unit.hasSequenceParameterSet || unit.hasPictureParameterSet { remember(accessUnit) }
        if let profile, !profile.isWidelyDecodable { throw .profile(profile) }
        if let transcodeReason = parameterSets.transcodeReason { throw transcodeReason }
        if unit.isRotated { throw .rotated }
        guard unit.hasSlice else { return unit.hasUnspecifiedUnits ? drop() : nil }
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

    /// Stores parameter sets that come outside of frames, in a container's header or within the stream.
    mutating func remember(_ sets: [UInt8]) { sets.withByteView { parameterSets.remember(from: $0) } }

    /// Drops a frame. The following frames refer to it, so they are dropped until the next key frame.
    private mutating func drop() -> EncodedFrame? {
        if hasBegun { droppedCount += 1 }
        needsKeyFrame = true
        return nil
    }

    /// Returns the access unit with the parameter sets after its access unit delimiter and before everything else
    /// (ITU-T H.264, section 7.4.1.2.3). NAL units of unspecified types are removed, and color descriptions are added.
    private func rewritten(_ accessUnit: [UInt8], with sets: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(sets.count + accessUnit.count + 16)
        accessUnit.withByteView { accessUnit in
            var reader = AnnexBReader(accessUnit)
            var hasSets = false
            while let unit = reader.nextUnit() {
                let type = unit[0] & H264NALUnit.typeMask
                guard type != 0, type < H264NALUnit.firstUnspecified else { continue }
                if !hasSets, type != H264NALUnit.accessUnitDelimiter {
                    bytes += sets
                    hasSets = true
                }
                bytes += [0, 0, 0, 1]
                if type == H264NALUnit.sequenceParameterSet,
                    let described = parameterSets.described(unit.span)
                {
                    bytes += described
                } else {
                    bytes += unit
                }
            }
        }
        return bytes
    }
}

/// Detects from timestamps alone whether frames come out of presentation order.
///
/// A single step back is not reordering: RTSP corrects the first timestamps after an RTCP sender report, and clocks are
/// set. Reordered frames step back repeatedly.
struct FrameOrder {
    /// The size of a step back, in ticks, that counts as a clock change.
    private static let longestStep = ClockRate.video.hertz
    /// The number of steps back that indicate reordering. Two of them must be at most 16 frames apart, the largest
    /// reorder depth (ITU-T H.264, section A.3.1).
    private static let limit = 3
    private static let distance = 16

    private var last: Int64?
    private var steps = 0
    private var framesSinceStep = 0

    /// Adds the next frame's timestamp at 90 kHz and returns whether frames are reordered.
    mutating func isReordered(_ ticks: Int64) -> Bool {
        defer { last = ticks }
        framesSinceStep += 1
        guard let last, ticks < last, last - ticks < Self.longestStep else { return false }
        steps = framesSinceStep <= Self.distance ? steps + 1 : 1
        framesSinceStep = 0
        return steps >= Self.limit
    }
}

/// The reason why encoded frames cannot be sent as they are and must be decoded and encoded again.
package enum TranscodeReason: Error, Hashable, Sendable, CustomStringConvertible {
    /// Another codec than that of the stream, with its name.
    case codec(String)
    /// Frames refer to later ones or come out of presentation order (B-frames). WebRTC receivers present frames in the
    /// order of arrival, so motion would stutter.
    case hasReordering
    /// A profile that WebRTC receivers do not decode.
    case profile(H264ProfileIDC)
    /// A profile of another codec that is not negotiated, with its name.
    case videoProfile(String)
    /// Each frame consists of two fields.
    case interlaced
    /// Frames must be presented rotated or mirrored. WebRTC receivers cannot read this from the bitstream alone.
    case rotated
    /// Pixels are not square. WebRTC receivers ignore the sample aspect ratio.
    case anamorphic

    /// The description for display.
    package var description: String {
        switch self {
        case .codec(let name): "the video is encoded as \(name), not in the codec of the stream"
        case .hasReordering: "the video has B-frames: disable them at the source to avoid encoding again"
        case .profile(let profile): "the video has the H.264 profile \(profile), which few viewers can decode"
        case .videoProfile(let name): "the video has the profile \(name), which is not forwarded"
        case .interlaced: "the video is interlaced"
        case .rotated: "the video is rotated"
        case .anamorphic: "the video's pixels are not square"
        }
    }
}
