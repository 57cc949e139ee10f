package import PCastCore

/// The local answer to a peer's offer, and the result of the negotiation.
package struct Answer: Sendable {
    /// The description to send to the peer.
    package let description: SessionDescription
    /// The result of the negotiation.
    package let session: NegotiatedSession
    /// The sections that were rejected although media of their type was wanted, and sections other than audio and
    /// video. The caller decides whether to send the answer nevertheless.
    package let problems: [SectionProblem]

    /// Answers an offer section by section.
    ///
    /// A rejected section in the BUNDLE group stays in it as inactive. The first section of a group cannot be rejected
    /// alone (RFC 9143, section 7.3.3), and Chromium does not accept an answer that rejects it. Other rejected sections
    /// have port 0.
    ///
    /// - Parameters:
    ///   - offer: The offer.
    ///   - originSessionID: A random number below 2^63.
    ///   - transport: The local ICE and DTLS parameters.
    ///   - capabilities: The local capabilities.
    ///   - intent: Returns the use of a section. `ordinal` is the number of accepted sections of the type before it.
    ///     Nil rejects the section.
    /// - Throws: ``SDPError`` if the offer lacks ICE credentials, a supported fingerprint or a usable DTLS role.
    package init(
        to offer: SessionDescription, originSessionID: UInt64, transport: TransportDescription,
        capabilities: MediaCapabilities, intent: (_ type: MediaType, _ ordinal: Int) -> AnswerOptions?
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
            // A section that is inactive anyway is no problem, and does not count.
            guard SectionAnswer.direction(of: media, intent) != .inactive else { continue }
            if let reason = Self.problem(to: media, at: index, of: offer, bundle, isFirst: accepted.isEmpty) {
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
        // The default of an offer without the attribute is `active` (RFC 4145, section 4.1).
        guard let setup = (remote.setup ?? .active).answer else { throw .unusableSetup }
        self.problems = problems
        var transport = transport
        // A lite agent accepts what the client offers. The client uses it only if both sides name it.
        if transport.isLite { transport.iceOptions += remote.embeddingOptions }
        session = NegotiatedSession(remoteTransport: remote, localSetup: setup, media: accepted.map(\.negotiated))
        description = Self.description(
            of: accepted, to: offer, bundle, origin: SessionOrigin(sessionID: originSessionID), transport: transport,
            setup: setup)
    }

    /// The maximum number of accepted sections.
    static let maximumSections = 16

    /// Returns the reason why a section cannot use the single transport, which is that of the BUNDLE group or of the
    /// first accepted section; nil if it can.
    private static func problem(
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

    /// Returns the description of the answer.
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
    /// Returns whether another section that is not rejected meets a condition.
    fileprivate func contains(where isWanted: (MediaDescription) -> Bool, besides index: Int) -> Bool {
        enumerated().contains { $0.offset != index && !$0.element.isRejected && isWanted($0.element) }
    }
}

extension MediaDescription {
    /// The section of the answer that rejects this one: its port is 0 (RFC 3264, section 6).
    fileprivate var refused: MediaDescription {
        var media = MediaDescription(kind: kind, port: 0, transportProtocol: transportProtocol)
        media.mid = mid
        media.direction = .inactive
        media.payloadTypes = Array(payloadTypes.prefix(1))
        media.otherFormats = otherFormats
        media.rtpMaps = Array(rtpMaps.filter { media.payloadTypes.contains($0.payloadType) }.prefix(1))
        return media
    }

    /// The section of the answer that keeps this one in the BUNDLE group as inactive, with one of its formats; nil if
    /// it has none.
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

/// The BUNDLE group of an offer, whose sections share a transport (RFC 9143).
///
/// Each of several groups has a transport of its own, but there is only one transport here. The first group with a
/// section that sends or receives media is used, or the first group if there is none. Sections of other groups are
/// rejected.
struct BundleGroup {
    /// The indexes of the sections in the order of the group, without those that the offer rejects.
    let indices: [Int]
    /// Whether the offer has a group that is not empty.
    let exists: Bool
    /// Whether the first section of the group multiplexes RTP and RTCP. It applies to bundle-only sections as well (RFC
    /// 9143, section 7.1.3).
    let multiplexesRTCP: Bool

    /// Reads the group of an offer.
    init(_ offer: SessionDescription) {
        let groups = [offer.bundle ?? []] + offer.furtherBundles
        let members = groups.map { Self.indices(of: $0, in: offer) }
        exists = groups.contains { !$0.isEmpty }
        indices = members.first { $0.contains { offer.media[$0].hasFlow } } ?? members.first { !$0.isEmpty } ?? []
        multiplexesRTCP = indices.first.map { offer.media[$0].multiplexesRTCP } ?? false
    }

    private static func indices(of mids: [String], in offer: SessionDescription) -> [Int] {
        var indices: [Int] = []
        for mid in mids {
            let index = offer.media.firstIndex { $0.mid == mid && !$0.isRejected }
            if let index, !indices.contains(index) { indices.append(index) }
        }
        return indices
    }

    /// The index of the section whose transport the group uses (RFC 9143, section 7.2.1), which cannot be rejected
    /// alone (section 7.3.3); nil if the group is empty.
    var tagged: Int? { indices.first }

    /// Returns whether a section belongs to the group.
    func contains(_ index: Int) -> Bool { indices.contains(index) }
}

extension MediaDescription {
    /// Whether audio or video is offered in one direction at least.
    fileprivate var hasFlow: Bool { kind.mediaType != nil && !isRejected && direction != .inactive }
}

/// The use of a section that a peer offers.
package struct AnswerOptions: Sendable {
    /// The wanted direction, from the local view. The answer is limited by the offer.
    package var direction: MediaDirection
    /// The format to send, for a forwarded stream; nil for any codec.
    package var format: SourceFormat?
    /// The formats that may follow ``format``, for a stream whose publishers change.
    package var furtherFormats: [SourceFormat] = []
    /// Whether a section that is received may have all its codecs, because the peer forwards a stream whose publishers
    /// change. Otherwise one is accepted.
    package var acceptsAllCodecs = false
    /// The local source, which is needed to send; nil otherwise.
    package var source: OutgoingSource?

    /// Creates a use of a section.
    package init(direction: MediaDirection, format: SourceFormat? = nil, source: OutgoingSource? = nil) {
        self.direction = direction
        self.format = format
        self.source = source
    }

    /// Receiving only, as a server answers a publisher.
    package static let receive = AnswerOptions(direction: .receiveOnly)

    /// Returns the use of a section that only sends, as a server answers a viewer.
    package static func send(
        _ format: SourceFormat?, or furtherFormats: [SourceFormat] = [], from source: OutgoingSource
    ) -> AnswerOptions {
        var options = AnswerOptions(direction: .sendOnly, format: format, source: source)
        options.furtherFormats = furtherFormats
        return options
    }
}
