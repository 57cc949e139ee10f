public import PCastMedia

/// What one RTP payload tells of key frames, without the payloads around it. See `KeyFrameFinder` for what those tell.
public enum KeyFrameDetector {
    public enum Finding: Sendable {
        /// The payload has nothing to do with a key frame.
        case none

        /// Parameter sets, without an IDR slice behind them. Only those tell of a key frame: encoders repeat parameter sets
        /// before other pictures as well.
        case parameterSets

        /// The first slice of an IDR picture. It is decodable with the parameter sets that were sent before.
        case idr

        /// A decoder that has nothing can begin with this payload.
        case keyFrame

        /// Whether a key frame has its first slice here.
        public var isKeyFrame: Bool {
            switch self {
            case .none, .parameterSets: false
            case .idr, .keyFrame: true
            }
        }
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
        case .h264:
            var reader = H264PayloadReader()
            while let unit = reader.next(in: payload) {
                guard unit.isWhole else { return nil }
                if let set = H264SequenceParameterSet(payload.extracting(unit.range)) { return set.dimensions }
            }
            return nil
        }
    }

    /// Whether a payload of H.264 has nothing but what stands before a picture (ITU-T H.264, section 7.4.1.2.3): delimiters,
    /// parameter sets, supplemental information.
    @inline(__always)
    public static func precedesPicture(_ payload: UnsafeRawBufferPointer) -> Bool {
        guard let first = payload.first else { return false }
        switch first & H264NALUnit.typeMask {
        case H264NALUnit.nonIDRSlice, H264NALUnit.idrSlice, H264NALUnit.fuA: return false
        default: return precedesPicture(units: Span<UInt8>(_unsafeBytes: payload))
        }
    }

    private static func precedesPicture(units payload: Span<UInt8>) -> Bool {
        var reader = H264PayloadReader()
        var count = 0
        while let unit = reader.next(in: payload) {
            guard unit.isWhole, H264NALUnit.precedesPicture(unit.type) else { return false }
            count += 1
        }
        return count > 0
    }

    private static func inspectH264(_ payload: Span<UInt8>) -> Finding {
        var reader = H264PayloadReader()
        var finding = Finding.none
        var sets = (sequence: false, picture: false)
        while let unit = reader.next(in: payload) {
            guard unit.isStart else { continue }
            switch unit.type {
            case H264NALUnit.sequenceParameterSet:
                sets.sequence = true
                finding = .parameterSets
            case H264NALUnit.pictureParameterSet:
                // One that stands before its sequence parameter set is read in vain.
                sets.picture = sets.sequence
                finding = .parameterSets
            case H264NALUnit.idrSlice where isFirstSlice(payload, at: unit.body):
                return sets.picture ? .keyFrame : .idr
            default: break
            }
        }
        return finding
    }

    /// The first bit of a slice is set when `first_mb_in_slice` is zero (ITU-T H.264, section 7.3.3): a later slice
    /// of an IDR picture is no place to begin.
    static func isFirstSlice(_ payload: Span<UInt8>, at body: Int) -> Bool {
        body < payload.count && payload[body] & 0x80 != 0
    }
}
