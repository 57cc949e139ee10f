package import PCastCore

/// Finds key frames in single RTP payloads; ``KeyFrameFinder`` combines several payloads.
package enum KeyFrameDetector {
    /// The kind of payload.
    package enum PayloadKind: Sendable {
        /// The payload belongs to no key frame.
        case none

        /// Parameter sets without an IDR slice. They do not announce a key frame, because encoders repeat them before
        /// other frames as well.
        case parameterSets

        /// The first slice of an IDR picture, which can be decoded with the parameter sets that were sent before.
        case idr

        /// The payload begins a key frame that can be decoded without preceding payloads.
        case keyFrame

        /// Whether the payload contains the first slice of a key frame.
        package var isKeyFrame: Bool {
            switch self {
            case .none, .parameterSets: false
            case .idr, .keyFrame: true
            }
        }
    }

    /// Returns whether a decoder without preceding payloads can begin with this one.
    package static func startsKeyFrame(codec: Codec, payload: Span<UInt8>) -> Bool {
        inspect(codec: codec, payload: payload) == .keyFrame
    }

    /// Returns the kind of payload; ``PayloadKind/keyFrame`` for each payload of Opus.
    package static func inspect(codec: Codec, payload: Span<UInt8>) -> PayloadKind {
        guard !payload.isEmpty else { return .none }
        switch codec {
        case .opus: return .keyFrame
        case .vp8: return VP8PayloadDescriptor.parse(payload)?.startsKeyFrame == true ? .keyFrame : .none
        case .vp9: return VP9PayloadDescriptor.parse(payload)?.keyFrame(in: payload) == nil ? .none : .keyFrame
        case .av1: return AV1PayloadReader.inspect(payload).isKeyFrame ? .keyFrame : .none
        case .h264: return inspectH264(payload)
        case .h265: return inspectH265(payload)
        }
    }

    /// Returns the format of the video from the payload that begins a key frame; nil if the payload does not contain it.
    package static func video(codec: Codec, payload: Span<UInt8>) -> CodecParameters? {
        guard !payload.isEmpty else { return nil }
        switch codec {
        case .opus: return nil
        case .vp8:
            guard let descriptor = VP8PayloadDescriptor.parse(payload), descriptor.startsKeyFrame else { return nil }
            return VP8FrameHeader(keyFrame: payload.extracting(descriptor.size..<payload.count))?.video
        case .vp9:
            guard let descriptor = VP9PayloadDescriptor.parse(payload), let frame = descriptor.keyFrame(in: payload)
            else { return nil }
            // A stream with several spatial layers has the size of the highest one.
            return frame.video(size: descriptor.structure?.dimensions)
        case .av1:
            let finding = AV1PayloadReader.inspect(payload)
            return finding.isKeyFrame ? finding.header?.video : nil
        case .h265:
            var reader = H265PayloadReader()
            while let unit = reader.next(in: payload) {
                guard unit.isWhole else { return nil }
                if let set = H265SequenceParameterSet(payload.extracting(unit.range)) { return set.video }
            }
            return nil
        case .h264:
            var reader = H264PayloadReader()
            while let unit = reader.next(in: payload) {
                guard unit.isWhole else { return nil }
                if let set = H264SequenceParameterSet(payload.extracting(unit.range)) {
                    return CodecParameters(set)
                }
            }
            return nil
        }
    }

    /// Returns whether a payload of H.265 belongs to a skipped leading frame, which refers to frames before the random
    /// access point that it follows, so that a decoder that begins there cannot decode it.
    @inline(__always)
    package static func isSkippedLeading(_ payload: ByteView) -> Bool { H265PayloadReader.isSkippedLeading(payload) }

    /// Returns whether a payload contains only units before a frame (ITU-T H.264, section 7.4.1.2.3; ITU-T H.265,
    /// section 7.4.2.4.4): delimiters, parameter sets and supplemental enhancement information. Returns false for
    /// codecs without such units.
    @inline(__always)
    package static func precedesSlice(_ codec: Codec, _ payload: ByteView) -> Bool {
        switch codec {
        case .h264: precedesH264Slice(payload)
        case .h265: precedesH265Slice(payload)
        case .vp8, .vp9, .av1, .opus: false
        }
    }

    /// Returns whether all units of an H.265 payload precede a frame; false for fragments and a payload without units.
    private static func precedesH265Slice(_ payload: ByteView) -> Bool {
        guard let first = payload.first, !H265NALUnit.isSlice(H265NALUnit.type(first)) else { return false }
        let bytes = payload.span
        var reader = H265PayloadReader()
        var count = 0
        while let unit = reader.next(in: bytes) {
            guard unit.isWhole, H265NALUnit.precedesSlice(unit.type) else { return false }
            count += 1
        }
        return count > 0
    }

    /// Returns whether a payload of H.264 contains only units before a frame.
    @inline(__always)
    private static func precedesH264Slice(_ payload: ByteView) -> Bool {
        guard let first = payload.first else { return false }
        switch first & H264NALUnit.typeMask {
        case H264NALUnit.nonIDRSlice, H264NALUnit.idrSlice, H264NALUnit.fuA: return false
        default: return precedesSlice(units: payload.span)
        }
    }

    /// Returns whether all units of a payload precede a frame; false for a payload without units.
    private static func precedesSlice(units payload: Span<UInt8>) -> Bool {
        var reader = H264PayloadReader()
        var count = 0
        while let unit = reader.next(in: payload) {
            guard unit.isWhole, H264NALUnit.precedesSlice(unit.type) else { return false }
            count += 1
        }
        return count > 0
    }

    /// Returns the kind of an H.264 payload.
    private static func inspectH264(_ payload: Span<UInt8>) -> PayloadKind {
        var reader = H264PayloadReader()
        var finding = PayloadKind.none
        var sets = (sequence: false, picture: false)
        while let unit = reader.next(in: payload) {
            guard unit.isStart else { continue }
            switch unit.type {
            case H264NALUnit.sequenceParameterSet:
                sets.sequence = true
                finding = .parameterSets
            case H264NALUnit.pictureParameterSet:
                // A picture parameter set before its sequence parameter set cannot be used.
                sets.picture = sets.sequence
                finding = .parameterSets
            case H264NALUnit.idrSlice where isFirstSlice(payload, at: unit.body):
                return sets.picture ? .keyFrame : .idr
            default: break
            }
        }
        return finding
    }

    /// Returns the kind of an H.265 payload.
    private static func inspectH265(_ payload: Span<UInt8>) -> PayloadKind {
        var reader = H265PayloadReader()
        var finding = PayloadKind.none
        // The number of kinds of parameter sets in their order.
        var kinds: UInt8 = 0
        while let unit = reader.next(in: payload) {
            guard unit.isStart, unit.isBaseLayer else { continue }
            if H265NALUnit.isParameterSet(unit.type) {
                finding = .parameterSets
                if unit.type == H265NALUnit.videoParameterSet + kinds { kinds += 1 }
            } else if H265NALUnit.randomAccess.contains(unit.type), isFirstSlice(payload, at: unit.body) {
                return kinds == 3 ? .keyFrame : .idr
            }
        }
        return finding
    }

    /// Returns whether a slice is the first of its frame: of H.264, `first_mb_in_slice` is zero if its first bit is set
    /// (ITU-T H.264, section 7.3.3), and of H.265 this bit is `first_slice_segment_in_pic_flag` (ITU-T H.265, section
    /// 7.3.6.1).
    static func isFirstSlice(_ payload: Span<UInt8>, at body: Int) -> Bool {
        body < payload.count && payload[body] & 0x80 != 0
    }
}
