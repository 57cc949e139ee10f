import PCastMedia
import PCastRTP

/// The answer to one section that we accept.
struct SectionAnswer {
    /// Without the transport's attributes.
    private(set) var media: MediaDescription
    private(set) var negotiated: NegotiatedMedia

    /// What flows in a section, seen from our side.
    static func direction(of offer: MediaDescription, _ intent: MediaIntent) -> MediaDirection {
        let wanted = intent.source == nil ? intent.direction.intersection(.receiveOnly) : intent.direction
        return offer.direction.reversed.intersection(wanted)
    }

    /// Nil when no format suits both.
    init?(
        to offer: MediaDescription, at index: Int, of type: MediaType, allowsMixedExtensions: Bool,
        capabilities: MediaCapabilities, intent: MediaIntent
    ) {
        let direction = Self.direction(of: offer, intent)
        let carried = direction.sends ? intent.format : nil
        guard let offered = capabilities.preferred(of: offer.payloadFormats, carrying: carried) else { return nil }

        var extensions = ExtensionNegotiation(
            offered: offer.extensions, wanted: capabilities.headerExtensions, mid: offer.mid, direction: direction,
            allowsMixed: allowsMixedExtensions)
        var feedback = offered.feedback.intersection(capabilities.feedback).withOneEstimator(
            hasTransportSequenceNumbers: extensions.map.id(of: .transportSequenceNumber) != nil)
        // Who repeats packets unasked need not be asked for them; ours asks for what was not repeated, by RTX (NACK10).
        if offered.redPayloadType != nil, offered.rtxPayloadType == nil { feedback.remove(.nack) }
        if feedback.contains(.transportCC) { extensions.removeAbsoluteSendTime() }

        var format = offered
        format.feedback = feedback
        format.answerParameters(capabilities: capabilities, carried: carried, direction: direction)

        media = MediaDescription(kind: offer.kind, transportProtocol: offer.transportProtocol)
        media.mid = offer.mid
        media.direction = direction
        media.extensions = extensions.answer
        format.append(to: &media, prefersRedundancy: direction.receives)
        if direction.sends { intent.source?.write(to: &media, hasRTX: format.rtxPayloadType != nil) }

        negotiated = NegotiatedMedia(
            index: index, mid: offer.mid, type: type, direction: direction, format: format,
            acceptablePayloads: [format], extensionMap: extensions.map, feedback: feedback,
            allowsReducedSizeRTCP: offer.allowsReducedSizeRTCP,
            localSSRC: media.sources.first?.ssrc, localRTXSSRC: media.sourceGroups.first?.ssrcs.last,
            remoteSources: direction.receives ? offer.incomingSources : [],
            remoteCNAME: direction.receives ? offer.sourceCNAME : nil,
            remoteMSID: direction.receives ? offer.sourceMSID : nil, rids: [],
            opusStereo: offered.codec == .opus && Self.isStereo(offered, capabilities, direction))
        if direction.receives { answerSimulcast(of: offer) }
    }

    /// `stereo=1` asks for what it is written at the receiving end of (RFC 7587, section 6.1).
    private static func isStereo(
        _ offered: PayloadFormat, _ capabilities: MediaCapabilities, _ direction: MediaDirection
    ) -> Bool {
        direction.sends ? offered.parameters["stereo"] == "1" : capabilities.opusStereo
    }

    private mutating func answerSimulcast(of offer: MediaDescription) {
        let simulcast = SimulcastNegotiation(offer: offer, payloadType: negotiated.payloadType)
        // Without the rid in the packets the layers could not be told apart (RFC 8853).
        guard simulcast.description != nil, negotiated.extensionMap.id(of: .rid) != nil else { return }
        media.rids = simulcast.rids
        media.simulcast = simulcast.description
        negotiated.rids = simulcast.rids.map(\.id)
    }
}

extension PayloadFormat {
    /// Turns the offered `fmtp` into the answer's.
    fileprivate mutating func answerParameters(
        capabilities: MediaCapabilities, carried: CarriedFormat?, direction: MediaDirection
    ) {
        switch codec {
        case .h264:
            h264 = h264?.answered(level: carried?.h264?.level ?? capabilities.h264Level)
            parameters = h264?.parameters ?? [:]
        case .vp8:
            parameters = [:]
        case .opus:
            parameters = .opus(stereo: capabilities.opusStereo)
        }
        if codec.mediaType == .video, direction.receives, let start = capabilities.startBitrate {
            parameters["x-google-start-bitrate"] = String(start.bitsPerSecond / 1_000)
        }
    }
}

extension FormatParameters {
    /// RFC 7587, section 6.1.
    static func opus(stereo: Bool) -> FormatParameters {
        var parameters: FormatParameters = ["minptime": "10", "useinbandfec": "1"]
        if stereo {
            parameters["stereo"] = "1"
            parameters["sprop-stereo"] = "1"
        }
        return parameters
    }
}
