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

    /// Returns the size of the first sequence parameter set of an access unit of H.265.
    private static func sizeOfH265(_ bytes: [UInt8]) -> Dimensions? {
        bytes.withByteView { view in
            var reader = AnnexBReader(view)
            while let unit = reader.nextUnit() {
                if let set = H265SequenceParameterSet(unit.span) { return set.dimensions }
                // Parameter sets precede the slices.
                if HEVCUnit.slices.contains(HEVCUnit.type(unit[0])) { return nil }
            }
            return nil
        }
    }

    /// Returns the size of the first sequence header of a temporal unit of AV1.
    private static func sizeOfAV1(_ bytes: [UInt8]) -> Dimensions? {
        bytes.withByteView { view in
            var reader = AV1UnitReader(view)
            while let unit = reader.next(), unit.type != AV1Unit.frame {
                guard unit.type == AV1Unit.sequenceHeader else { continue }
                return AV1SequenceHeader(view.extracting(unit.contents).span)?.dimensions
            }
            return nil
        }
    }

    /// Returns the size of a key frame of VP8 (RFC 6386, section 9.1).
    private static func sizeOfVP8(_ bytes: [UInt8]) -> Dimensions? {
        guard bytes.count >= 10 else { return nil }
        return Dimensions(
            width: (Int(bytes[7]) << 8 | Int(bytes[6])) & 0x3FFF, height: (Int(bytes[9]) << 8 | Int(bytes[8])) & 0x3FFF)
    }
}
