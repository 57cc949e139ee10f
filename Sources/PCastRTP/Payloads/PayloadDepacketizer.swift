public import PCastMedia

/// Puts frames together from RTP payloads, whatever the codec: `append` for each payload of a frame in the order of
/// sequence numbers, then `finish`.
public enum PayloadDepacketizer: Sendable {
    case h264(H264Depacketizer)
    case vp8(VP8Depacketizer)
    case opus(OpusDepacketizer)

    public init(codec: Codec) {
        switch codec {
        case .h264: self = .h264(H264Depacketizer())
        case .vp8: self = .vp8(VP8Depacketizer())
        case .opus: self = .opus(OpusDepacketizer())
        }
    }

    /// Appends what `payload` adds to the frame.
    public mutating func append(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        switch self {
        case .h264(var depacketizer):
            depacketizer.append(payload, to: &bytes)
            self = .h264(depacketizer)
        case .vp8(var depacketizer):
            depacketizer.append(payload, to: &bytes)
            self = .vp8(depacketizer)
        case .opus(var depacketizer):
            depacketizer.append(payload, to: &bytes)
            self = .opus(depacketizer)
        }
    }

    /// Ends the frame; nil when it can not be decoded, and `bytes` are worthless then.
    public mutating func finish(_ bytes: inout [UInt8]) -> DepacketizedFrame? {
        switch self {
        case .h264(var depacketizer):
            let frame = depacketizer.finish(&bytes)
            self = .h264(depacketizer)
            return frame
        case .vp8(var depacketizer):
            let frame = depacketizer.finish(&bytes)
            self = .vp8(depacketizer)
            return frame
        case .opus(var depacketizer):
            let frame = depacketizer.finish(&bytes)
            self = .opus(depacketizer)
            return frame
        }
    }

    /// Parts of frames dropped because they break the payload format.
    public var malformedUnits: Int {
        switch self {
        case .h264(let depacketizer): depacketizer.malformedUnits
        case .vp8(let depacketizer): depacketizer.malformedUnits
        case .opus(let depacketizer): depacketizer.malformedUnits
        }
    }

    /// Whether an IDR picture is decodable although its access unit has no parameter sets, because they were sent.
    public var hasParameterSets: Bool {
        if case .h264(let depacketizer) = self { return depacketizer.hasParameterSets }
        return false
    }

    /// Keeps the parameter sets of a payload that is not put into a frame.
    mutating func rememberParameterSets(of payload: Span<UInt8>) {
        guard case .h264(var depacketizer) = self else { return }
        depacketizer.rememberParameterSets(of: payload)
        self = .h264(depacketizer)
    }
}
