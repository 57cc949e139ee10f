import PCastCore
import PCastRTMP
import PCastRTP

extension RTMPServerEvent {
    /// The size of the video that the event states; nil if it states none. H.264 and H.265 state it with their parameter
    /// sets, and VP8, VP9 and AV1 in each key frame.
    var videoSize: Dimensions? {
        switch self {
        case .configuration(_, .h264(let configuration)): configuration.sequenceParameterSet?.dimensions
        case .configuration(_, .hevc(let configuration)): Self.sizeOfH265(configuration.parameterSets)
        case .accessUnit(let unit) where unit.isKeyFrame:
            switch unit.codec {
            case .hevc: Self.sizeOfH265(unit.bytes)
            case .av1: Self.sizeOfAV1(unit.bytes)
            case .vp9: VP9FrameHeader(keyFrame: unit.bytes.span)?.dimensions
            case .vp8: Self.sizeOfVP8(unit.bytes)
            default: nil
            }
        default: nil
        }
    }

    /// Returns the largest size of the sequence parameter sets of an access unit of H.265.
    private static func sizeOfH265(_ bytes: [UInt8]) -> Dimensions? {
        bytes.withByteView { view in
            var size: Dimensions?
            var reader = AnnexBReader(view)
            // Parameter sets precede the slices.
            while let unit = reader.nextUnit(), !HEVCUnit.slices.contains(HEVCUnit.type(unit[0])) {
                if let set = H265SequenceParameterSet(unit.span) { size = larger(size, set.dimensions) }
            }
            return size
        }
    }

    /// Returns the largest size of the sequence headers of a temporal unit of AV1.
    private static func sizeOfAV1(_ bytes: [UInt8]) -> Dimensions? {
        bytes.withByteView { view in
            var size: Dimensions?
            var reader = AV1UnitReader(view)
            while let unit = reader.next() {
                guard unit.type == AV1Unit.sequenceHeader,
                    let header = AV1SequenceHeader(view.extracting(unit.contents).span)
                else { continue }
                size = larger(size, header.dimensions)
            }
            return size
        }
    }

    /// Returns the larger width and the larger height.
    private static func larger(_ size: Dimensions?, _ other: Dimensions) -> Dimensions {
        Dimensions(width: max(size?.width ?? 0, other.width), height: max(size?.height ?? 0, other.height))
    }

    /// Returns the size of a key frame of VP8 (RFC 6386, section 9.1).
    private static func sizeOfVP8(_ bytes: [UInt8]) -> Dimensions? {
        guard bytes.count >= 10 else { return nil }
        return Dimensions(
            width: (Int(bytes[7]) << 8 | Int(bytes[6])) & 0x3FFF, height: (Int(bytes[9]) << 8 | Int(bytes[8])) & 0x3FFF)
    }
}
