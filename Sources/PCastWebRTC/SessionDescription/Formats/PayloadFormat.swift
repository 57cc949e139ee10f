public import PCastCore

/// A payload type of a section with all its attributes, for a supported codec.
public struct PayloadFormat: Hashable, Sendable {
    /// The codec.
    public var codec: Codec
    /// The payload type.
    public var payloadType: UInt8
    /// The payload type of retransmissions (`rtx` with `apt`, RFC 4588); nil if there is none.
    public var rtxPayloadType: UInt8?
    /// The payload type of packets with redundancy (`red` of this format only, RFC 2198); nil if there is none. Only
    /// Opus has one.
    public var redPayloadType: UInt8?
    /// The clock rate of RTP timestamps.
    public var clockRate: ClockRate
    /// The number of channels in SDP: 2 for Opus regardless of its content (RFC 7587, section 7), unless the peer
    /// specified 1 or none; 1 for video.
    public var channels: UInt8
    /// The parameters of the `fmtp` line.
    public var parameters: FormatParameters
    /// The feedback of the `rtcp-fb` lines, including wildcards.
    public var feedback: RTCPFeedback
    /// The H.264 parameters; nil for other codecs.
    public var h264: H264Format?
    /// The profile of VP9, AV1 and H.265; nil for other codecs.
    public var profile: VideoProfile?
    /// The H.264 parameter sets of the peer's stream, each a NAL unit (`sprop-parameter-sets`, RFC 6184, section 8.1).
    /// They apply from the start.
    public var parameterSets: [[UInt8]] = []

    /// Creates a format.
    public init(
        codec: Codec, payloadType: UInt8, rtxPayloadType: UInt8? = nil, redPayloadType: UInt8? = nil,
        parameters: FormatParameters = [:], feedback: RTCPFeedback = [], h264: H264Format? = nil,
        profile: VideoProfile? = nil
    ) {
        self.codec = codec
        self.payloadType = payloadType
        self.rtxPayloadType = rtxPayloadType
        self.redPayloadType = redPayloadType
        clockRate = codec.clockRate
        channels = codec == .opus ? 2 : 1
        self.parameters = parameters
        self.feedback = feedback
        self.h264 = h264
        self.profile = profile
    }

    /// Creates the format of an `rtpmap` line. Returns nil if the codec or a parameter is not supported.
    init?(_ map: RTPMap, in media: MediaDescription) {
        guard Self.isUsable(map.payloadType), let codec = Self.codec(map), codec.mediaType == media.kind.mediaType
        else {
            return nil
        }
        let parameters = media.formatParameters[map.payloadType] ?? [:]
        self.init(codec: codec, payloadType: map.payloadType, parameters: parameters)
        // An answer repeats the offered channels, because the peer would not recognize its format otherwise.
        channels = map.channels
        switch codec {
        case .h264:
            guard let format = H264Format(parameters: parameters) else { return nil }
            h264 = format
            parameterSets = Self.parameterSets(parameters)
        case .vp9, .av1, .h265:
            guard let format = VideoProfile(codec, parameters: parameters) else { return nil }
            profile = format
        case .vp8, .opus: break
        }
    }

    /// The maximum number of parameter sets and the maximum length of their attribute.
    private static let maximumParameterSets = (count: 32, textSize: 16_384)

    /// Returns the parameter sets. Those that are not Base64 are left out.
    private static func parameterSets(_ parameters: FormatParameters) -> [[UInt8]] {
        guard let text = parameters["sprop-parameter-sets"], text.utf8.count <= maximumParameterSets.textSize else {
            return []
        }
        return text.split(separator: ",").prefix(maximumParameterSets.count).compactMap { Base64.decode(String($0)) }
    }

    /// Returns whether a payload type can be used. With RTP and RTCP on one port, 64 to 95 would be confused with RTCP
    /// packet types (RFC 5761, section 4).
    static func isUsable(_ payloadType: UInt8) -> Bool { payloadType < 64 || (96...127).contains(payloadType) }

    /// Returns the codec of an `rtpmap` line; nil if it is not supported. Opus is accepted with any channels, because
    /// some peers write `opus/48000`, although RFC 7587 requires 2.
    private static func codec(_ map: RTPMap) -> Codec? {
        let name = map.encoding.asciiLowercased
        return Codec.allCases.first { codec in
            codec.rawValue.asciiLowercased == name && codec.clockRate.hertz == Int64(map.clockRate)
                && (map.channels == 1 || (codec == .opus && map.channels == 2))
        }
    }

    var rtpMap: RTPMap {
        RTPMap(
            payloadType: payloadType, encoding: codec.rawValue, clockRate: UInt32(clockRate.hertz), channels: channels)
    }

    /// Appends the format, with those of its retransmissions and redundancy, to a section.
    ///
    /// - Parameters:
    ///   - media: The section.
    ///   - prefersRedundancy: Whether `red` comes first. Chromium sends redundancy only then: it sends the first codec
    ///     of an answer, and `red` encapsulates the second.
    func append(to media: inout MediaDescription, prefersRedundancy: Bool = false) {
        if prefersRedundancy { appendRedundant(to: &media) }
        media.payloadTypes.append(payloadType)
        media.rtpMaps.append(rtpMap)
        media.feedback += feedback.attributes(for: payloadType)
        if !parameters.isEmpty { media.formatParameters[payloadType] = parameters }
        if !prefersRedundancy { appendRedundant(to: &media) }
        guard let rtx = rtxPayloadType else { return }
        media.payloadTypes.append(rtx)
        media.rtpMaps.append(RTPMap(payloadType: rtx, encoding: "rtx", clockRate: UInt32(clockRate.hertz)))
        media.formatParameters[rtx] = ["apt": String(payloadType)]
    }

    /// Appends the format with redundancy, if there is one.
    private func appendRedundant(to media: inout MediaDescription) {
        guard let red = redPayloadType else { return }
        media.payloadTypes.append(red)
        media.rtpMaps.append(
            RTPMap(payloadType: red, encoding: "red", clockRate: UInt32(clockRate.hertz), channels: channels))
        media.formatParameters[red] = FormatParameters([.init(name: "\(payloadType)/\(payloadType)", value: nil)])
    }
}

extension MediaDescription {
    /// The payload types of supported codecs, in the section's order of preference.
    public var payloadFormats: [PayloadFormat] {
        var maps = [RTPMap?](repeating: nil, count: 128)
        for map in rtpMaps where maps[Int(map.payloadType)] == nil { maps[Int(map.payloadType)] = map }
        let listed = payloadTypes.compactMap { maps[Int($0)] }
        let retransmissions = retransmissionPayloadTypes(listed)
        let redundant = redundantPayloadTypes(listed)
        let feedback = feedbackByPayloadType
        return listed.compactMap { map in
            var format = PayloadFormat(map, in: self)
            format?.rtxPayloadType = retransmissions[map.payloadType]
            // An answer writes both formats with the same channels.
            if format?.codec == .opus, let red = redundant[map.payloadType], maps[Int(red)]?.channels == map.channels {
                format?.redPayloadType = red
            }
            format?.feedback = feedback[Int(map.payloadType)]
            return format
        }
    }

    /// Returns the payload type of the `rtx` format for each original one.
    private func retransmissionPayloadTypes(_ maps: [RTPMap]) -> [UInt8: UInt8] {
        var types: [UInt8: UInt8] = [:]
        for map in maps where map.encoding.asciiLowercased == "rtx" && PayloadFormat.isUsable(map.payloadType) {
            guard let original = formatParameters[map.payloadType]?["apt"].flatMap({ UInt8($0) }) else { continue }
            if types[original] == nil { types[original] = map.payloadType }
        }
        return types
    }

    /// Returns the payload type of the `red` format for each one that it encapsulates alone (RFC 2198, section 5).
    /// Chromium's `red` for video has another meaning and no parameters.
    private func redundantPayloadTypes(_ maps: [RTPMap]) -> [UInt8: UInt8] {
        var types: [UInt8: UInt8] = [:]
        for map in maps where map.encoding.asciiLowercased == "red" && PayloadFormat.isUsable(map.payloadType) {
            let names = formatParameters[map.payloadType]?.parameters.first?.name.split(separator: "/") ?? []
            guard let first = names.first.flatMap({ UInt8($0) }), names.count > 1,
                names.allSatisfy({ UInt8($0) == first }), map.clockRate == ClockRate.opus.hertz
            else { continue }
            if types[first] == nil { types[first] = map.payloadType }
        }
        return types
    }

    /// The feedback of each payload type, including wildcards.
    private var feedbackByPayloadType: [RTCPFeedback] {
        var table = [RTCPFeedback](repeating: [], count: 128)
        var wildcard: RTCPFeedback = []
        for line in feedback {
            let kind = RTCPFeedback(value: line.value)
            if let type = line.payloadType { table[Int(type)].formUnion(kind) } else { wildcard.formUnion(kind) }
        }
        return table.map { $0.union(wildcard) }
    }
}
