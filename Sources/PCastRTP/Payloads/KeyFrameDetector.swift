public import PCastMedia

/// Finds in RTP payloads where a decoder can begin, without putting frames together (RTP3).
public enum KeyFrameDetector {
    public enum Finding: Sendable {
        /// The payload does not begin a key frame.
        case none

        /// The first slice of an IDR picture, without a sequence parameter set in the same payload: decodable if the
        /// parameter sets were sent before.
        case idrWithoutParameterSets

        /// A decoder can begin here.
        case keyFrame
    }

    /// Whether a decoder that has nothing can begin with this payload.
    public static func startsKeyFrame(codec: Codec, payload: Span<UInt8>) -> Bool {
        inspect(codec: codec, payload: payload) == .keyFrame
    }

    public static func inspect(codec: Codec, payload: Span<UInt8>) -> Finding {
        guard !payload.isEmpty else { return .none }
        switch codec {
        case .opus: return .keyFrame
        case .vp8: return VP8PayloadDescriptor.parse(payload)?.startsKeyFrame == true ? .keyFrame : .none
        case .h264: return inspectH264(payload)
        }
    }

    /// The size of the pictures that begin with this payload; nil when it does not say.
    public static func dimensions(codec: Codec, payload: Span<UInt8>) -> Dimensions? {
        guard !payload.isEmpty else { return nil }
        switch codec {
        case .opus: return nil
        case .vp8:
            guard let descriptor = VP8PayloadDescriptor.parse(payload), descriptor.startsKeyFrame else { return nil }
            return VP8FrameHeader(keyFrame: payload.extracting(descriptor.size..<payload.count))?.dimensions
        case .h264: return dimensionsOfH264(payload)
        }
    }

    private static func inspectH264(_ payload: Span<UInt8>) -> Finding {
        switch payload[0] & H264NALUnit.typeMask {
        case H264NALUnit.stapA:
            var finding = Finding.none
            var offset = 1
            while let unit = nextUnit(of: payload, at: &offset) {
                let found = inspectUnit(type: payload[unit.lowerBound], payload, bodyAt: unit.lowerBound + 1)
                if found == .keyFrame { return found }
                if found != .none { finding = found }
            }
            return finding
        case H264NALUnit.fuA:
            guard payload.count > 2, payload[1] & H264NALUnit.fragmentStart != 0 else { return .none }
            return inspectUnit(type: payload[1], payload, bodyAt: 2)
        default:
            return inspectUnit(type: payload[0], payload, bodyAt: 1)
        }
    }

    /// The first bit of a slice is set when `first_mb_in_slice` is zero (ITU-T H.264, section 7.3.3): a later slice
    /// of an IDR picture is no place to begin.
    private static func inspectUnit(type: UInt8, _ payload: Span<UInt8>, bodyAt body: Int) -> Finding {
        switch type & H264NALUnit.typeMask {
        case H264NALUnit.sequenceParameterSet: .keyFrame
        case H264NALUnit.idrSlice where body < payload.count && payload[body] & 0x80 != 0: .idrWithoutParameterSets
        default: .none
        }
    }

    private static func dimensionsOfH264(_ payload: Span<UInt8>) -> Dimensions? {
        guard payload[0] & H264NALUnit.typeMask == H264NALUnit.stapA else {
            return H264SequenceParameterSet(payload)?.dimensions
        }
        var offset = 1
        while let unit = nextUnit(of: payload, at: &offset) {
            if let set = H264SequenceParameterSet(payload.extracting(unit)) { return set.dimensions }
        }
        return nil
    }

    /// The next whole entry of a STAP-A; nil at its end, and at the first entry that is empty or too long.
    private static func nextUnit(of payload: Span<UInt8>, at offset: inout Int) -> Range<Int>? {
        guard offset + 2 < payload.count else { return nil }
        let size = Int(payload[offset]) << 8 | Int(payload[offset + 1])
        let start = offset + 2
        guard size > 0, size <= payload.count - start else { return nil }
        offset = start + size
        return start..<offset
    }
}
