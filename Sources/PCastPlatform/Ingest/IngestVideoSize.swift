import PCastCore
import PCastDatabase
import PCastRTMP
import PCastRTP

/// The size of the video that an event of a publisher states.
enum IngestVideoSize: Hashable, Sendable {
    /// The event states no size.
    case unstated
    /// The largest size that the event states.
    case stated(Dimensions)
    /// The event has a header that states the size, and that cannot be parsed.
    case unparsable

    /// Adds the size that a header states; nil if the header cannot be parsed.
    fileprivate mutating func add(_ size: Dimensions?) {
        switch (self, size) {
        case (.unparsable, _), (_, nil): self = .unparsable
        case (.unstated, let size?): self = .stated(size)
        case (.stated(let own), let size?):
            self = .stated(Dimensions(width: max(own.width, size.width), height: max(own.height, size.height)))
        }
    }

    /// Returns the error of a publisher whose stream key does not permit the size. A size that cannot be parsed counts as
    /// too large if the key limits the size.
    func error(beyond limits: StreamKeyLimits) -> APIError? {
        switch self {
        case .unstated: nil
        case .stated(let size): limits.admits(size) ? nil : .videoTooLarge(size, limits)
        case .unparsable: limits.limitsSize ? .videoSizeUnknown(limits) : nil
        }
    }
}

extension RTMPServerEvent {
    /// The size of the video that the event states. H.264 and H.265 state it with their parameter sets, and VP8, VP9 and AV1
    /// in each key frame.
    var videoSize: IngestVideoSize {
        var size = IngestVideoSize.unstated
        switch self {
        case .configuration(_, .h264(let configuration)): size.add(configuration.sequenceParameterSet?.dimensions)
        case .configuration(_, .hevc(let configuration)): Self.addSizesOfH265(configuration.parameterSets, to: &size)
        case .accessUnit(let unit) where unit.isKeyFrame:
            switch unit.codec {
            case .h264: Self.addSizesOfH264(unit.bytes, to: &size)
            case .hevc: Self.addSizesOfH265(unit.bytes, to: &size)
            case .av1: Self.addSizesOfAV1(unit.bytes, to: &size)
            case .vp9: size.add(VP9FrameHeader(keyFrame: unit.bytes.span)?.dimensions)
            case .vp8: size.add(Self.sizeOfVP8(unit.bytes))
            default: break
            }
        default: break
        }
        return size
    }

    /// Adds the sizes of the sequence parameter sets of an access unit of H.264.
    private static func addSizesOfH264(_ bytes: [UInt8], to size: inout IngestVideoSize) {
        bytes.withByteView { view in
            var reader = AnnexBReader(view)
            // Parameter sets precede the slices.
            while let unit = reader.nextUnit(), unit[0] & H264NALUnit.typeMask != H264NALUnit.idrSlice {
                guard unit[0] & H264NALUnit.typeMask == H264NALUnit.sequenceParameterSet else { continue }
                size.add(H264SequenceParameterSet(unit.span)?.dimensions)
            }
        }
    }

    /// Adds the sizes of the sequence parameter sets of an access unit of H.265.
    private static func addSizesOfH265(_ bytes: [UInt8], to size: inout IngestVideoSize) {
        bytes.withByteView { view in
            var reader = AnnexBReader(view)
            // Parameter sets precede the slices.
            while let unit = reader.nextUnit(), !HEVCUnit.slices.contains(HEVCUnit.type(unit[0])) {
                guard HEVCUnit.type(unit[0]) == HEVCUnit.sequenceParameterSet else { continue }
                size.add(H265SequenceParameterSet(unit.span)?.dimensions)
            }
        }
    }

    /// Adds the sizes of the sequence headers of a temporal unit of AV1, which each key frame has.
    private static func addSizesOfAV1(_ bytes: [UInt8], to size: inout IngestVideoSize) {
        bytes.withByteView { view in
            var reader = AV1UnitReader(view)
            var hasHeader = false
            while let unit = reader.next() {
                guard unit.type == AV1Unit.sequenceHeader else { continue }
                hasHeader = true
                size.add(AV1SequenceHeader(view.extracting(unit.contents).span)?.dimensions)
            }
            if !hasHeader { size.add(nil) }
        }
    }

    /// Returns the size of a key frame of VP8 (RFC 6386, section 9.1); nil if the frame is too short.
    private static func sizeOfVP8(_ bytes: [UInt8]) -> Dimensions? {
        guard bytes.count >= 10 else { return nil }
        return Dimensions(
            width: (Int(bytes[7]) << 8 | Int(bytes[6])) & 0x3FFF, height: (Int(bytes[9]) << 8 | Int(bytes[8])) & 0x3FFF)
    }
}
