import PCastCore
import PCastRTP

/// The answer to an accepted section.
struct SectionAnswer {
    /// The section of the answer, without attributes of the transport.
    private(set) var media: MediaDescription
    /// The result of the negotiation.
    private(set) var negotiated: NegotiatedMedia

    /// Returns the direction of the media in a section, from the local view.
    static func direction(of offer: MediaDescription, _ intent: AnswerOptions) -> MediaDirection {
        let wanted = intent.source == nil ? intent.direction.intersection(.receiveOnly) : intent.direction
        return offer.direction.reversed.intersection(wanted)
    }

    /// Answers a section. Returns nil if there is no common format.
    init?(
        to offer: MediaDescription, at index: Int, of type: MediaType, allowsMixedExtensions: Bool,
        capabilities: MediaCapabilities, intent: AnswerOptions
    ) {
        let direction = Self.direction(of: offer, intent)
        let sourceFormat = direction.sends ? intent.format : nil
        guard let offered = capabilities.preferred(of: offer.payloadFormats, carrying: sourceFormat) else { return nil }
        let further = Self.furtherFormats(of: offer, besides: offered.codec, direction, capabilities, intent)

        var wanted = capabilities.headerExtensions
        // The structure that the descriptor of a key frame contains needs two-byte header extensions.
        let codecs = [offered.codec] + further.map(\.offered.codec)
        let mayHaveDescriptor = codecs.contains { codec in
            codec.hasDependencyDescriptor || codec == .h264 && direction.receives && !direction.sends
        }
        if !mayHaveDescriptor || !allowsMixedExtensions { wanted.remove(.dependencyDescriptor) }
        var extensions = ExtensionNegotiation(
            offered: offer.extensions, wanted: wanted, mid: offer.mid, direction: direction,
            allowsMixed: allowsMixedExtensions)
        var feedback = offered.feedback.intersection(capabilities.feedback).withOneEstimator(
            hasTransportSequenceNumbers: extensions.map.id(of: .transportSequenceNumber) != nil)
        // A sender of redundancy needs no NACK, unless it supports RTX as well, as the clients of this project do.
        if offered.redPayloadType != nil, offered.rtxPayloadType == nil { feedback.remove(.nack) }
        if feedback.contains(.transportCC) { extensions.removeAbsoluteSendTime() }

        let formats = [(offered: offered, source: sourceFormat)] + further
        let answered = formats.map { offered, source in
            var format = offered
            format.feedback = feedback.intersection(offered.feedback)
            format.answerParameters(capabilities: capabilities, sourceFormat: source, direction: direction)
            return format
        }
        let format = answered[0]

        media = MediaDescription(kind: offer.kind, transportProtocol: offer.transportProtocol)
        media.mid = offer.mid
        media.direction = direction
        media.extensions = extensions.answer
        for format in answered { format.append(to: &media, prefersRedundancy: direction.receives) }
        if direction.sends { intent.source?.write(to: &media, hasRTX: answered.contains { $0.rtxPayloadType != nil }) }

        negotiated = NegotiatedMedia(
            index: index, mid: offer.mid, type: type, direction: direction, format: format,
            acceptablePayloads: answered, extensionMap: extensions.map, feedback: feedback,
            allowsReducedSizeRTCP: offer.allowsReducedSizeRTCP,
            localSSRC: media.sources.first?.ssrc, localRTXSSRC: media.sourceGroups.first?.ssrcs.last,
            remoteSources: direction.receives ? offer.incomingSources : [],
            remoteCNAME: direction.receives ? offer.sourceCNAME : nil,
            remoteMSID: direction.receives ? offer.sourceMSID : nil, rids: [],
            opusStereo: offered.codec == .opus && Self.isStereo(offered, capabilities, direction))
        if direction.receives { answerSimulcast(of: offer) }
    }

    /// Returns the formats of an offer that may follow the first one, each with the format that is sent in it.
    private static func furtherFormats(
        of offer: MediaDescription, besides codec: Codec, _ direction: MediaDirection,
        _ capabilities: MediaCapabilities, _ intent: AnswerOptions
    ) -> [(offered: PayloadFormat, source: SourceFormat?)] {
        if direction.sends {
            return intent.furtherFormats.filter { $0.codec != codec }.compactMap { source in
                capabilities.preferred(of: offer.payloadFormats, carrying: source).map { ($0, source) }
            }
        }
        guard intent.acceptsAllCodecs else { return [] }
        var codecs = [codec]
        return offer.payloadFormats.compactMap { format in
            guard !codecs.contains(format.codec), capabilities.codecs.contains(format.codec) else { return nil }
            codecs.append(format.codec)
            return (format, nil)
        }
    }

    /// Returns whether stereo is wanted. `stereo=1` is a request of the receiver (RFC 7587, section 6.1).
    private static func isStereo(
        _ offered: PayloadFormat, _ capabilities: MediaCapabilities, _ direction: MediaDirection
    ) -> Bool {
        direction.sends ? offered.parameters["stereo"] == "1" : capabilities.opusStereo
    }

    /// Accepts the layers of a simulcast offer.
    private mutating func answerSimulcast(of offer: MediaDescription) {
        let simulcast = SimulcastNegotiation(offer: offer, payloadType: negotiated.payloadType)
        // Layers cannot be distinguished without the RID in packets (RFC 8853).
        guard simulcast.description != nil, negotiated.extensionMap.id(of: .rid) != nil else { return }
        media.rids = simulcast.rids
        media.simulcast = simulcast.description
        negotiated.rids = simulcast.rids.map(\.id)
    }
}

extension Codec {
    /// Whether the dependency descriptor is sent: for codecs with spatial layers in one SSRC. That of H.264 is received only,
    /// for its temporal layers.
    var hasDependencyDescriptor: Bool { self == .av1 || self == .vp9 }
}

extension PayloadFormat {
    /// Replaces the parameters of the offer by those of the answer.
    fileprivate mutating func answerParameters(
        capabilities: MediaCapabilities, sourceFormat: SourceFormat?, direction: MediaDirection
    ) {
        switch codec {
        case .h264:
            h264 = h264?.answered(level: sourceFormat?.h264?.level ?? capabilities.h264Level)
            parameters = h264?.parameters ?? [:]
        case .vp8:
            parameters = [:]
        case .vp9, .av1, .h265:
            // The profile, the level and the tier of the offer are accepted as they are.
            parameters = profile?.parameters(of: codec) ?? [:]
        case .opus:
            parameters = .opus(stereo: capabilities.opusStereo)
        }
        if codec.mediaType == .video, direction.receives, let start = capabilities.startBitrate {
            parameters["x-google-start-bitrate"] = String(start.bitsPerSecond / 1_000)
        }
    }
}

extension FormatParameters {
    /// Returns the parameters of Opus (RFC 7587, section 6.1).
    static func opus(stereo: Bool) -> FormatParameters {
        var parameters: FormatParameters = ["minptime": "10", "useinbandfec": "1"]
        if stereo {
            parameters["stereo"] = "1"
            parameters["sprop-stereo"] = "1"
        }
        return parameters
    }
}

/// The layers of a publisher's simulcast that an answer accepts (RFC 8853, section 5.3).
struct SimulcastNegotiation {
    /// The accepted RIDs as `a=rid` lines of the answer.
    private(set) var rids: [RestrictionIdentifier] = []
    /// The `a=simulcast` line of the answer; nil if no layer is accepted.
    private(set) var description: SimulcastDescription?

    /// Negotiates the layers of an offer.
    ///
    /// - Parameters:
    ///   - offer: The offered section.
    ///   - payloadType: The only format of the answer. A RID that is restricted to others is rejected.
    init(offer: MediaDescription, payloadType: UInt8) {
        guard let streams = offer.simulcast?.send else { return }
        var accepted: [SimulcastDescription.Stream] = []
        var seen: Set<String> = []
        for stream in streams where accepted.count < SDPLimits.simulcastLayers {
            // Among alternative encodings, the first usable one is accepted. Initially paused layers are accepted as
            // well.
            for encoding in stream where !seen.contains(encoding.rid) {
                guard let rid = Self.answer(to: encoding.rid, in: offer, payloadType: payloadType) else { continue }
                seen.insert(encoding.rid)
                rids.append(rid)
                accepted.append([SimulcastDescription.Encoding(rid: encoding.rid, isPaused: encoding.isPaused)])
                break
            }
        }
        guard !accepted.isEmpty else { return }
        description = SimulcastDescription(receive: accepted)
    }

    /// Returns the RID of an answer; nil if the offered one is not usable.
    private static func answer(
        to id: String, in offer: MediaDescription, payloadType: UInt8
    ) -> RestrictionIdentifier? {
        // A RID that is too long for the header extension cannot identify packets.
        guard RTPStreamIdentifier(id) != nil,
            var rid = offer.rids.first(where: { $0.id == id && $0.direction == .send })
        else { return nil }
        rid.direction = .receive
        if let types = rid.restrictions["pt"] {
            guard types.split(separator: ",").contains(where: { UInt8($0) == payloadType }) else { return nil }
            rid.restrictions["pt"] = String(payloadType)
        }
        return rid
    }
}

/// The negotiation of header extensions and their IDs in a section.
struct ExtensionNegotiation {
    /// The lines of the answer.
    private(set) var answer: [ExtensionMapping] = []
    /// The extensions by ID.
    private(set) var map = RTPHeaderExtensionMap()

    /// Negotiates the offered extensions.
    ///
    /// - Parameters:
    ///   - offered: The lines of the offer.
    ///   - wanted: The supported extensions.
    ///   - mid: The MID of the section. Its extension is omitted if there is none, or it is longer than the 16 bytes of
    ///     a one-byte header extension (RFC 8285, section 4.2).
    ///   - direction: The direction of the media, from the local view.
    ///   - allowsMixed: Whether two-byte header extensions are allowed.
    init(
        offered: [ExtensionMapping], wanted: Set<RTPHeaderExtension>, mid: String?, direction: MediaDirection,
        allowsMixed: Bool
    ) {
        var wanted = wanted
        if mid.flatMap({ RTPStreamIdentifier($0) }) == nil { wanted.remove(.mid) }
        map.allowsTwoByte = allowsMixed
        for mapping in offered {
            guard let id = Self.usable(mapping.id, allowsMixed: allowsMixed),
                let known = RTPHeaderExtension(uri: mapping.uri), wanted.contains(known),
                map.id(of: known) == nil, map[id] == nil, Self.flows(mapping, with: direction)
            else { continue }
            map[id] = known
            answer.append(ExtensionMapping(id: mapping.id, uri: mapping.uri, direction: mapping.direction?.reversed))
        }
    }

    /// Returns the ID if it can be used. IDs from 15 on need two-byte header extensions (RFC 8285, section 4.2).
    private static func usable(_ id: UInt16, allowsMixed: Bool) -> UInt8? {
        (1...(allowsMixed ? 255 : 14)).contains(id) ? UInt8(id) : nil
    }

    /// Returns whether an extension with a direction is usable, which it is if the media flows in no other direction.
    private static func flows(_ mapping: ExtensionMapping, with ours: MediaDirection) -> Bool {
        guard let offered = mapping.direction else { return true }
        return (!ours.sends || offered.receives) && (!ours.receives || offered.sends)
    }

    /// Removes absolute send times, which only REMB needs, if transport-wide feedback is used.
    mutating func removeAbsoluteSendTime() {
        guard let id = map.id(of: .absoluteSendTime) else { return }
        map[id] = nil
        answer.removeAll { $0.id == UInt16(id) }
    }
}
