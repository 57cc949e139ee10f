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
        case .h264: return inspectH264(payload)
        }
    }

    /// Returns the size of the video from the payload that begins a key frame; nil if the payload does not contain it.
    package static func dimensions(codec: Codec, payload: Span<UInt8>) -> Dimensions? {
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

    /// Returns whether a payload of H.264 contains only units before a frame (ITU-T H.264, section 7.4.1.2.3):
    /// delimiters, parameter sets and supplemental enhancement information.
    @inline(__always)
    package static func precedesSlice(_ payload: ByteView) -> Bool {
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

    /// Returns whether a slice is the first of its frame: `first_mb_in_slice` is zero if its first bit is set (ITU-T
    /// H.264, section 7.3.3).
    static func isFirstSlice(_ payload: Span<UInt8>, at body: Int) -> Bool {
        body < payload.count && payload[body] & 0x80 != 0
    }
}
