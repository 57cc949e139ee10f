package import PCastCore

/// Assembles frames from RTP payloads: append each payload of a frame in the order of the sequence numbers, then finish
/// it.
package enum PayloadDepacketizer: Sendable {
    /// H.264 (RFC 6184).
    case h264(H264Depacketizer)
    /// VP8 (RFC 7741).
    case vp8(VP8Depacketizer)
    /// VP9 (RFC 9628).
    case vp9(VP9Depacketizer)
    /// AV1 (AV1 RTP payload format).
    case av1(AV1Depacketizer)
    /// H.265 (RFC 7798).
    case h265(H265Depacketizer)
    /// Opus (RFC 7587).
    case opus(OpusDepacketizer)

    /// Creates a depacketizer for a codec.
    package init(codec: Codec) {
        switch codec {
        case .h264: self = .h264(H264Depacketizer())
        case .vp8: self = .vp8(VP8Depacketizer())
        case .vp9: self = .vp9(VP9Depacketizer())
        case .av1: self = .av1(AV1Depacketizer())
        case .h265: self = .h265(H265Depacketizer())
        case .opus: self = .opus(OpusDepacketizer())
        }
    }

    /// Appends a payload to a frame.
    package mutating func append(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        switch self {
        case .h264(var depacketizer):
            depacketizer.append(payload, to: &bytes)
            self = .h264(depacketizer)
        case .vp8(var depacketizer):
            depacketizer.append(payload, to: &bytes)
            self = .vp8(depacketizer)
        case .vp9(var depacketizer):
            depacketizer.append(payload, to: &bytes)
            self = .vp9(depacketizer)
        case .av1(var depacketizer):
            depacketizer.append(payload, to: &bytes)
            self = .av1(depacketizer)
        case .h265(var depacketizer):
            depacketizer.append(payload, to: &bytes)
            self = .h265(depacketizer)
        case .opus(var depacketizer):
            depacketizer.append(payload, to: &bytes)
            self = .opus(depacketizer)
        }
    }

    /// Finishes a frame. Returns nil if it cannot be decoded; its bytes are then invalid.
    package mutating func finish(_ bytes: inout [UInt8]) -> DepacketizedFrame? {
        switch self {
        case .h264(var depacketizer):
            let frame = depacketizer.finish(&bytes)
            self = .h264(depacketizer)
            return frame
        case .vp8(var depacketizer):
            let frame = depacketizer.finish(&bytes)
            self = .vp8(depacketizer)
            return frame
        case .vp9(var depacketizer):
            let frame = depacketizer.finish(&bytes)
            self = .vp9(depacketizer)
            return frame
        case .av1(var depacketizer):
            let frame = depacketizer.finish(&bytes)
            self = .av1(depacketizer)
            return frame
        case .h265(var depacketizer):
            let frame = depacketizer.finish(&bytes)
            self = .h265(depacketizer)
            return frame
        case .opus(var depacketizer):
            let frame = depacketizer.finish(&bytes)
            self = .opus(depacketizer)
            return frame
        }
    }

    /// The number of units or payloads that were dropped because they violate the payload format.
    package var malformedUnits: Int {
        switch self {
        case .h264(let depacketizer): depacketizer.malformedUnits
        case .vp8(let depacketizer): depacketizer.malformedUnits
        case .vp9(let depacketizer): depacketizer.malformedUnits
        case .av1(let depacketizer): depacketizer.malformedUnits
        case .h265(let depacketizer): depacketizer.malformedUnits
        case .opus(let depacketizer): depacketizer.malformedUnits
        }
    }

    /// Whether the stream has sent parameter sets, so that an IDR picture without them can be decoded; false for codecs
    /// other than H.264 and H.265.
    package var hasParameterSets: Bool {
        switch self {
        case .h264(let depacketizer): depacketizer.hasParameterSets
        case .h265(let depacketizer): depacketizer.hasParameterSets
        case .vp8, .vp9, .av1, .opus: false
        }
    }

    /// Keeps the parameter sets of a payload that belongs to no assembled frame.
    mutating func rememberParameterSets(of payload: Span<UInt8>) {
        switch self {
        case .h264(var depacketizer):
            depacketizer.rememberParameterSets(of: payload)
            self = .h264(depacketizer)
        case .h265(var depacketizer):
            depacketizer.rememberParameterSets(of: payload)
            self = .h265(depacketizer)
        case .vp8, .vp9, .av1, .opus: return
        }
    }
}

/// The properties of a frame that a depacketizer assembled.
package struct DepacketizedFrame: Hashable, Sendable {
    /// Whether the frame can be decoded without preceding frames.
    package let isKeyFrame: Bool

    /// Whether the frame contains video or audio; false for an access unit without a slice, such as separate parameter
    /// sets.
    package let hasSlice: Bool

    /// Creates the properties of a frame.
    package init(isKeyFrame: Bool, hasSlice: Bool) {
        self.isKeyFrame = isKeyFrame
        self.hasSlice = hasSlice
    }
}
