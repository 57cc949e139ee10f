public import PCastMedia

/// Our answer to a peer's offer, and what the two agree on.
public struct Answer: Sendable {
    /// What to send to the peer.
    public let description: SessionDescription
    /// What the two sides do from then on.
    public let session: NegotiatedSession
    /// The sections that are not accepted although our side wanted media of their type, and whatever is neither audio
    /// nor video. The caller decides whether the answer can be given in spite of them.
    public let problems: [SectionProblem]

    /// Answers section by section.
    ///
    /// A section that is not accepted and belongs to the BUNDLE group becomes inactive within it: the section that the
    /// group names first cannot be rejected alone (RFC 9143, section 7.3.3), and Chromium refuses an answer that does.
    /// Other sections that are not accepted are rejected in their place.
    ///
    /// - Parameters:
    ///   - originSessionID: a random number below 2^63.
    ///   - intent: what to do with the section of this type, whose ordinal counts the accepted ones of the type before
    ///     it; nil leaves it out.
    public init(
        to offer: SessionDescription, originSessionID: UInt64, transport: TransportDescription,
        capabilities: MediaCapabilities, intent: (_ type: MediaType, _ ordinal: Int) -> MediaIntent?
    ) throws(SDPError) {
        let bundle = BundleGroup(offer)
        var ordinals: [MediaType: Int] = [:]
        var accepted: [SectionAnswer] = []
        var problems: [SectionProblem] = []
        for (index, media) in offer.media.enumerated() where !media.isRejected {
            func refuse(_ reason: SectionProblem.Reason) { problems.append(SectionProblem(media, at: index, reason)) }
            guard let type = media.kind.mediaType else {
                refuse(.kind(media.kind.name))
                continue
            }
            let ordinal = ordinals[type, default: 0]
            guard let intent = intent(type, ordinal), accepted.count < Self.maximumSections else {
                if ordinal > 0 { refuse(.furtherSection) }
                continue
            }
            // What flows nowhere has no problem, and takes nobody's place.
            guard SectionAnswer.direction(of: media, intent) != .inactive else { continue }
            if let reason = Self.obstacle(to: media, at: index, of: offer, bundle, isFirst: accepted.isEmpty) {
                refuse(reason)
                continue
            }
            let section = SectionAnswer(
                to: media, at: index, of: type, allowsMixedExtensions: offer.allowsMixedExtensions,
                capabilities: capabilities, intent: intent)
            guard let section else {
                refuse(capabilities.reason(against: media, of: type, carrying: intent.format))
                continue
            }
            ordinals[type] = ordinal + 1
            accepted.append(section)
        }
        let remote = try RemoteTransport(offer, sections: accepted.map(\.negotiated.index), bundle)
        // RFC 4145 section 4.1: an offer without the attribute means `active`.
        guard let setup = (remote.setup ?? .active).answer else { throw .unusableSetup }
        self.problems = problems
        session = NegotiatedSession(remoteTransport: remote, localSetup: setup, media: accepted.map(\.negotiated))
        description = Self.description(
            of: accepted, to: offer, bundle, origin: SessionOrigin(sessionID: originSessionID), transport: transport,
            setup: setup)
    }

    /// The most sections that are accepted.
    static let maximumSections = 16

    /// What keeps a section from our one transport: that of the BUNDLE group, or of the first accepted section.
    private static func obstacle(
        to media: MediaDescription, at index: Int, of offer: SessionDescription, _ bundle: BundleGroup, isFirst: Bool
    ) -> SectionProblem.Reason? {
        guard media.hasKnownTransport else { return .transportProtocol(String(media.transportProtocol.prefix(32))) }
        if let mid = media.mid, offer.media.contains(where: { $0.mid == mid }, besides: index) { return .duplicateMID }
        if bundle.exists {
            guard bundle.contains(index) else { return .notBundled }
        } else if !isFirst {
            return .noBundle
        }
        guard media.multiplexesRTCP || (media.isBundleOnly && bundle.multiplexesRTCP) else {
            return .noRTCPMultiplexing
        }
        return nil
    }

    private static func description(
        of accepted: [SectionAnswer], to offer: SessionDescription, _ bundle: BundleGroup, origin: SessionOrigin,
        transport: TransportDescription, setup: SetupRole
    ) -> SessionDescription {
        var answer = SessionDescription(
            origin: origin, allowsMixedExtensions: offer.allowsMixedExtensions, isICELite: transport.isLite)
        answer.media = offer.media.map(\.refused)
        for section in accepted { answer.media[section.negotiated.index] = section.media }
        var kept = accepted.map(\.negotiated.index)
        if !accepted.isEmpty {
            for index in bundle.indices where !kept.contains(index) {
                guard offer.media[index].carriesRTP || index == bundle.tagged,
                    let inactive = offer.media[index].inactive
                else { continue }
                answer.media[index] = inactive
                kept.append(index)
            }
        }
        for index in kept {
            let isRTP = answer.media[index].carriesRTP
            transport.write(to: &answer.media[index], setup: setup)
            answer.media[index].allowsReducedSizeRTCP = isRTP && offer.media[index].allowsReducedSizeRTCP
        }
        if bundle.exists {
            answer.bundle = bundle.indices.filter { kept.contains($0) }.compactMap { offer.media[$0].mid }
        }
        return answer
    }
}

extension [MediaDescription] {
    fileprivate func contains(where isWanted: (MediaDescription) -> Bool, besides index: Int) -> Bool {
        enumerated().contains { $0.offset != index && !$0.element.isRejected && isWanted($0.element) }
    }
}

extension MediaDescription {
    /// The answer that rejects this section: port 0, everything else at its place (RFC 3264, section 6).
    fileprivate var refused: MediaDescription {
        var media = MediaDescription(kind: kind, port: 0, transportProtocol: transportProtocol)
        media.mid = mid
        media.direction = .inactive
        media.payloadTypes = Array(payloadTypes.prefix(1))
        media.otherFormats = otherFormats
        media.rtpMaps = Array(rtpMaps.filter { media.payloadTypes.contains($0.payloadType) }.prefix(1))
        return media
    }

    /// The answer that keeps this section within the BUNDLE group while nothing flows in it, in one of its formats; nil
    /// for a section without any.
    fileprivate var inactive: MediaDescription? {
        var media = MediaDescription(kind: kind, transportProtocol: transportProtocol)
        media.mid = mid
        media.direction = .inactive
        guard carriesRTP else {
            guard let format = otherFormats.first else { return nil }
            media.otherFormats = [format]
            media.sctpPort = sctpPort
            return media
        }
        guard let type = payloadFormats.first?.payloadType ?? payloadTypes.first else { return nil }
        media.payloadTypes = [type]
        media.rtpMaps = Array(rtpMaps.filter { $0.payloadType == type }.prefix(1))
        media.formatParameters[type] = formatParameters[type]
        return media
    }
}
