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

        var extensions = ExtensionNegotiation(
            offered: offer.extensions, wanted: capabilities.headerExtensions, mid: offer.mid, direction: direction,
            allowsMixed: allowsMixedExtensions)
        var feedback = offered.feedback.intersection(capabilities.feedback).withOneEstimator(
            hasTransportSequenceNumbers: extensions.map.id(of: .transportSequenceNumber) != nil)
        // A sender of redundancy needs no NACK, unless it supports RTX as well, as the clients of this project do.
        if offered.redPayloadType != nil, offered.rtxPayloadType == nil { feedback.remove(.nack) }
        if feedback.contains(.transportCC) { extensions.removeAbsoluteSendTime() }

        var format = offered
        format.feedback = feedback
        format.answerParameters(capabilities: capabilities, sourceFormat: sourceFormat, direction: direction)

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
