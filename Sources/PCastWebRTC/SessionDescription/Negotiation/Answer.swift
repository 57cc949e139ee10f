public import PCastMedia

/// Our answer to a peer's offer, and what the two agree on.
public struct Answer: Sendable {
    /// What to send to the peer.
    public let description: SessionDescription
    /// What the two sides do from then on.
    public let session: NegotiatedSession

    /// Answers section by section.
    ///
    /// What we do not want, do not understand or cannot reach over the one bundled transport is refused, in its place.
    ///
    /// - Parameters:
    ///   - originSessionID: a random number below 2^63.
    ///   - intent: what to do with the section of this type, whose ordinal counts the accepted ones of the type before
    ///     it; nil refuses it.
    public init(
        to offer: SessionDescription, originSessionID: UInt64, transport: TransportDescription,
        capabilities: MediaCapabilities, intent: (_ type: MediaType, _ ordinal: Int) -> MediaIntent?
    ) throws(SDPError) {
        var ordinals: [MediaType: Int] = [:]
        var accepted: [SectionAnswer] = []
        for (index, media) in offer.media.enumerated() {
            guard let type = media.kind.mediaType, !media.isRejected, media.multiplexesRTCP,
                Self.sharesTransport(media, of: offer, with: accepted), accepted.count < Self.maximumSections,
                let intent = intent(type, ordinals[type, default: 0])
            else { continue }
            let section = SectionAnswer(
                to: media, at: index, of: type, allowsMixedExtensions: offer.allowsMixedExtensions,
                capabilities: capabilities, intent: intent)
            guard let section else { continue }
            ordinals[type, default: 0] += 1
            accepted.append(section)
        }
        let indices = accepted.map(\.negotiated.index)
        let remote = try RemoteTransport(offer, sections: indices.isEmpty ? Array(offer.media.indices) : indices)
        // RFC 4145 section 4.1: an offer without the attribute means `active`.
        guard let setup = (remote.setup ?? .active).answer else { throw .unusableSetup }
        session = NegotiatedSession(remoteTransport: remote, localSetup: setup, media: accepted.map(\.negotiated))
        description = Self.description(
            of: accepted, to: offer, origin: SessionOrigin(sessionID: originSessionID), transport: transport,
            setup: setup)
    }

    /// The most sections that are accepted.
    static let maximumSections = 16

    /// There is one transport: that of the BUNDLE group, or of the first accepted section.
    private static func sharesTransport(
        _ media: MediaDescription, of offer: SessionDescription, with accepted: [SectionAnswer]
    ) -> Bool {
        if let bundle = offer.bundle, !bundle.isEmpty { return media.mid.map { bundle.contains($0) } ?? false }
        return accepted.isEmpty
    }

    private static func description(
        of accepted: [SectionAnswer], to offer: SessionDescription, origin: SessionOrigin,
        transport: TransportDescription, setup: SetupRole
    ) -> SessionDescription {
        var answer = SessionDescription(
            origin: origin, allowsMixedExtensions: offer.allowsMixedExtensions, isICELite: transport.isLite)
        answer.media = offer.media.map(\.refused)
        for section in accepted {
            answer.media[section.negotiated.index] = section.media
            transport.write(to: &answer.media[section.negotiated.index], setup: setup)
            answer.media[section.negotiated.index].allowsReducedSizeRTCP = section.negotiated.allowsReducedSizeRTCP
        }
        if let bundle = offer.bundle {
            let mids = accepted.compactMap(\.negotiated.mid)
            answer.bundle = bundle.filter { mids.contains($0) }
        }
        return answer
    }
}

extension MediaDescription {
    /// The answer that refuses this section: port 0, everything else at its place (RFC 3264, section 6).
    fileprivate var refused: MediaDescription {
        var media = MediaDescription(kind: kind, port: 0, transportProtocol: transportProtocol)
        media.mid = mid
        media.direction = .inactive
        media.payloadTypes = Array(payloadTypes.prefix(1))
        media.otherFormats = otherFormats
        media.rtpMaps = Array(rtpMaps.filter { media.payloadTypes.contains($0.payloadType) }.prefix(1))
        return media
    }
}
