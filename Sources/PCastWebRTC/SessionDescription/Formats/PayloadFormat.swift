public import PCastMedia

/// A payload type of a section with all that describes it, for a codec of this project.
public struct PayloadFormat: Hashable, Sendable {
    /// What the payload is.
    public var codec: Codec
    /// The number in the packets.
    public var payloadType: UInt8
    /// The payload type of its retransmissions (`rtx` with `apt`, RFC 4588).
    public var rtxPayloadType: UInt8?
    /// The payload type of packets that repeat those before them (`red` of this format alone, RFC 2198); for Opus only.
    public var redPayloadType: UInt8?
    /// Of the RTP timestamps.
    public var clockRate: ClockRate
    /// 2 for Opus, whatever it carries (RFC 7587, section 7), unless the peer wrote 1 or nothing; 1 for video.
    public var channels: UInt8
    /// The `fmtp` line.
    public var parameters: FormatParameters
    /// The `rtcp-fb` lines, wildcards included.
    public var feedback: RTCPFeedback
    /// For `Codec.h264`, never nil there.
    public var h264: H264Format?
    /// The H.264 parameter sets that the peer sends its pictures with, each a NAL unit (`sprop-parameter-sets`, RFC 6184,
    /// section 8.1). They are in force from the start.
    public var parameterSets: [[UInt8]] = []

    public init(
        codec: Codec, payloadType: UInt8, rtxPayloadType: UInt8? = nil, redPayloadType: UInt8? = nil,
        parameters: FormatParameters = [:], feedback: RTCPFeedback = [], h264: H264Format? = nil
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
    }

    /// Nil when the encoding is none of ours, or a parameter rules it out.
    init?(_ map: RTPMap, in media: MediaDescription) {
        guard Self.isUsable(map.payloadType), let codec = Self.codec(map), codec.mediaType == media.kind.mediaType
        else {
            return nil
        }
        let parameters = media.formatParameters[map.payloadType] ?? [:]
        self.init(codec: codec, payloadType: map.payloadType, parameters: parameters)
        // An answer repeats what the peer wrote, or the peer would not find its own format in it.
        channels = map.channels
        if codec == .h264 {
            guard let format = H264Format(parameters: parameters) else { return nil }
            h264 = format
            parameterSets = Self.parameterSets(parameters)
        }
    }

    /// More than this is no description of a stream.
    private static let maximumParameterSets = (count: 32, textSize: 16_384)

    /// What is no Base64 is left out.
    private static func parameterSets(_ parameters: FormatParameters) -> [[UInt8]] {
        guard let text = parameters["sprop-parameter-sets"], text.utf8.count <= maximumParameterSets.textSize else {
            return []
        }
        return text.split(separator: ",").prefix(maximumParameterSets.count).compactMap { Base64.decode(String($0)) }
    }

    /// With RTP and RTCP on one port, 64–95 would be taken for RTCP (RFC 5761, section 4).
    static func isUsable(_ payloadType: UInt8) -> Bool { payloadType < 64 || (96...127).contains(payloadType) }

    /// Opus is Opus whatever the peer says of its channels: RFC 7587 demands 2, and some write `opus/48000`.
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

    /// Writes the format, and those of its retransmissions and repetitions, at the end of a section.
    ///
    /// - Parameter prefersRedundancy: puts the repetitions first, without which Chromium sends none (its sending codec is
    ///   the first of the answer, and RED takes the second for what it wraps).
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

    private func appendRedundant(to media: inout MediaDescription) {
        guard let red = redPayloadType else { return }
        media.payloadTypes.append(red)
        media.rtpMaps.append(
            RTPMap(payloadType: red, encoding: "red", clockRate: UInt32(clockRate.hertz), channels: channels))
        media.formatParameters[red] = FormatParameters([.init(name: "\(payloadType)/\(payloadType)", value: nil)])
    }
}

extension MediaDescription {
    /// The payload types of codecs of this project, in the section's order of preference.
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
            // An answer writes both with the same channels.
            if format?.codec == .opus, let red = redundant[map.payloadType], maps[Int(red)]?.channels == map.channels {
                format?.redPayloadType = red
            }
            format?.feedback = feedback[Int(map.payloadType)]
            return format
        }
    }

    /// From the original's payload type to that of its `rtx`.
    private func retransmissionPayloadTypes(_ maps: [RTPMap]) -> [UInt8: UInt8] {
        var types: [UInt8: UInt8] = [:]
        for map in maps where map.encoding.asciiLowercased == "rtx" && PayloadFormat.isUsable(map.payloadType) {
            guard let original = formatParameters[map.payloadType]?["apt"].flatMap({ UInt8($0) }) else { continue }
            if types[original] == nil { types[original] = map.payloadType }
        }
        return types
    }

    /// From the data's payload type to that of its `red`, where that carries nothing else (RFC 2198, section 5). Chromium's
    /// for video is another thing under the same name and has no parameters.
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
