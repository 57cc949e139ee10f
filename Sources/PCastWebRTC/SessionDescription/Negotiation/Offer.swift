import PCastCore
import PCastRTP

/// The local offer.
package struct Offer: Sendable {
    /// The description to send to the peer.
    package private(set) var description: SessionDescription

    /// Creates an offer of at most 32 sections, whose MIDs are their indexes.
    ///
    /// - Parameters:
    ///   - sections: The sections.
    ///   - originSessionID: A random number below 2^63.
    ///   - transport: The local ICE and DTLS parameters.
    ///   - capabilities: The local capabilities.
    package init(
        sections: [OfferSection], originSessionID: UInt64, transport: TransportDescription,
        capabilities: MediaCapabilities
    ) {
        precondition(sections.count <= SDPLimits.mediaSections, "a session description must have at most 32 sections")
        let media = sections.enumerated().map { index, section in
            Self.media(
                section, mid: section.mid ?? String(index), transport: transport, capabilities: capabilities)
        }
        description = SessionDescription(
            origin: SessionOrigin(sessionID: originSessionID), bundle: media.compactMap(\.mid),
            allowsMixedExtensions: true, isICELite: transport.isLite, media: media)
    }

    /// Returns the offer with other ICE credentials, which restart ICE (RFC 8839, section 4.4.1.1.1).
    package func restarted(_ credentials: ICECredentials) -> Offer {
        var offer = self
        offer.description.origin.sessionVersion += 1
        for index in description.media.indices {
            offer.description.media[index].iceUfrag = credentials.ufrag
            offer.description.media[index].icePwd = credentials.password
        }
        return offer
    }

    /// Returns a section of the description.
    private static func media(
        _ section: OfferSection, mid: String, transport: TransportDescription, capabilities: MediaCapabilities
    ) -> MediaDescription {
        var media = MediaDescription(kind: section.type == .video ? .video : .audio)
        media.mid = mid
        media.direction = section.direction
        transport.write(to: &media, setup: .actpass)
        let codecs = section.format.map { [$0.codec] } ?? section.codecs ?? capabilities.codecs
        for codec in codecs where codec.mediaType == section.type {
            var format = format(for: codec, carrying: section.format, capabilities: capabilities)
            if !section.offersRetransmission { format.rtxPayloadType = nil }
            if codec.mediaType == .video, section.direction.receives, let start = capabilities.startBitrate {
                format.parameters["x-google-start-bitrate"] = String(start.bitsPerSecond / 1_000)
            }
            format.append(to: &media, prefersRedundancy: section.prefersRedundancy)
            for narrower in narrowerFormats(than: section.format, capabilities) { narrower.append(to: &media) }
        }
        media.extensions = extensions(for: section, capabilities: capabilities)
        if section.direction.sends {
            section.source?.write(to: &media, hasRTX: media.payloadFormats.contains { $0.rtxPayloadType != nil })
            if section.hasLayers { offer(section.layers, in: &media) }
        }
        return media
    }

    /// Adds simulcast layers to a section.
    private static func offer(_ layers: [String], in media: inout MediaDescription) {
        precondition(layers.count <= SDPLimits.simulcastLayers, "there are too many layers")
        media.rids = layers.map { RestrictionIdentifier(id: $0, direction: .send) }
        media.simulcast = SimulcastDescription(send: layers.map { [SimulcastDescription.Encoding(rid: $0)] })
        media.sources = []
        media.sourceGroups = []
    }

    /// Returns formats with narrower profiles for an H.264 stream, the widest first. Browsers offer only those, but
    /// decode the stream.
    private static func narrowerFormats(
        than stream: SourceFormat?, _ capabilities: MediaCapabilities
    ) -> [PayloadFormat] {
        guard let h264 = stream?.h264 else { return [] }
        let profiles = H264Profile.allCases.filter { $0 < h264.profile }.reversed()
        return profiles.enumerated().map { place, profile in
            let format = H264Format(
                profile: profile, level: h264.level, packetizationMode: h264.packetizationMode)
            let type = UInt8(104 + 2 * place)
            return PayloadFormat(
                codec: .h264, payloadType: type, rtxPayloadType: type + 1, parameters: format.parameters,
                feedback: capabilities.feedback, h264: format)
        }
    }

    /// Returns the offered format of a codec.
    private static func format(
        for codec: Codec, carrying stream: SourceFormat?, capabilities: MediaCapabilities
    ) -> PayloadFormat {
        switch codec {
        case .h264:
            let h264 = stream?.h264 ?? H264Format(profile: .constrainedBaseline, level: capabilities.h264Level)
            return PayloadFormat(
                codec: codec, payloadType: 102, rtxPayloadType: 103, parameters: h264.parameters,
                feedback: capabilities.feedback, h264: h264)
        case .vp8:
            return PayloadFormat(
                codec: codec, payloadType: 96, rtxPayloadType: 97, feedback: capabilities.feedback)
        case .opus:
            return PayloadFormat(
                codec: codec, payloadType: 111, rtxPayloadType: 112, redPayloadType: 63,
                parameters: .opus(stereo: capabilities.opusStereo),
                feedback: capabilities.feedback.intersection([.nack, .transportCC, .pause, .pauseWithoutWait]))
        }
    }

    /// The IDs of header extensions, which must be the same in all bundled sections (RFC 9143).
    private static let extensionIDs: [(RTPHeaderExtension, UInt16)] = [
        (.mid, 1), (.absoluteSendTime, 2), (.transportSequenceNumber, 3), (.playoutDelay, 4), (.audioLevel, 5),
        (.absoluteCaptureTime, 6), (.videoOrientation, 7), (.rid, 8), (.repairedRid, 9),
    ]

    /// Returns the `extmap` lines of a section.
    private static func extensions(
        for section: OfferSection, capabilities: MediaCapabilities
    ) -> [ExtensionMapping] {
        var others: Set<RTPHeaderExtension> =
            section.type == .video ? [.audioLevel] : [.playoutDelay, .videoOrientation]
        if !section.hasLayers { others.formUnion([.rid, .repairedRid]) }
        return extensionIDs.filter { capabilities.headerExtensions.contains($0.0) && !others.contains($0.0) }
            .map { ExtensionMapping(id: $0.1, uri: $0.0.uri) }
    }
}
