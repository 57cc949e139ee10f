package import PCastCore
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
    ///   - setup: The DTLS roles that this side accepts.
    package init(
        sections: [OfferSection], originSessionID: UInt64, transport: TransportDescription,
        capabilities: MediaCapabilities, setup: SetupRole = .actpass
    ) {
        precondition(sections.count <= SDPLimits.mediaSections, "a session description must have at most 32 sections")
        let media = sections.enumerated().map { index, section in
            Self.media(
                section, mid: section.mid ?? String(index), transport: transport, capabilities: capabilities,
                setup: setup)
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
        _ section: OfferSection, mid: String, transport: TransportDescription, capabilities: MediaCapabilities,
        setup: SetupRole
    ) -> MediaDescription {
        var media = MediaDescription(kind: section.type == .video ? .video : .audio)
        media.mid = mid
        media.direction = section.direction
        transport.write(to: &media, setup: setup)
        let sources = section.format.map { [$0] + section.furtherFormats }
        let codecs = sources?.map(\.codec).unique ?? section.codecs ?? capabilities.codecs
        for codec in codecs where codec.mediaType == section.type {
            let source = sources?.first { $0.codec == codec }
            var format = format(for: codec, carrying: source, capabilities: capabilities)
            if !section.offersRetransmission { format.rtxPayloadType = nil }
            if codec.mediaType == .video, section.direction.receives, let start = capabilities.startBitrate {
                format.parameters["x-google-start-bitrate"] = String(start.bitsPerSecond / 1_000)
            }
            format.append(to: &media, prefersRedundancy: section.prefersRedundancy)
            for narrower in narrowerFormats(than: source, capabilities) { narrower.append(to: &media) }
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
        return profiles.enumerated().map { index, profile in
            let format = H264Format(
                profile: profile, level: h264.level, packetizationMode: h264.packetizationMode)
            let type = UInt8(104 + 2 * index)
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
        case .vp9, .av1, .h265:
            let profile = stream?.profile ?? VideoProfile(mainOf: codec)
            let type: UInt8 = codec == .vp9 ? 98 : codec == .av1 ? 100 : 114
            return PayloadFormat(
                codec: codec, payloadType: type, rtxPayloadType: type + 1,
                parameters: profile?.parameters(of: codec) ?? [:], feedback: capabilities.feedback, profile: profile)
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
        (.dependencyDescriptor, 10),
    ]

    /// Returns the `extmap` lines of a section.
    private static func extensions(
        for section: OfferSection, capabilities: MediaCapabilities
    ) -> [ExtensionMapping] {
        var others: Set<RTPHeaderExtension> =
            section.type == .video ? [.audioLevel] : [.playoutDelay, .videoOrientation]
        if !section.hasLayers { others.formUnion([.rid, .repairedRid]) }
        // Without a format, the answer may choose a codec whose layers are not read from the descriptor.
        let sources = section.format.map { [$0] + section.furtherFormats } ?? []
        if !sources.contains(where: \.codec.hasDependencyDescriptor) { others.insert(.dependencyDescriptor) }
        return extensionIDs.filter { capabilities.headerExtensions.contains($0.0) && !others.contains($0.0) }
            .map { ExtensionMapping(id: $0.1, uri: $0.0.uri) }
    }
}

extension Offer {
    /// Applies an answer to this offer.
    ///
    /// - Parameter answer: The answer of the peer.
    /// - Returns: The result of the negotiation.
    /// - Throws: ``SDPError`` if the sections of the answer do not match the offer, or it lacks ICE credentials, a
    ///   supported fingerprint or a usable DTLS role.
    package func accept(_ answer: SessionDescription) throws(SDPError) -> NegotiatedSession {
        guard answer.media.count == description.media.count else { throw .answerDoesNotMatchOffer }
        var media: [NegotiatedMedia] = []
        var problems: [SectionProblem] = []
        for index in answer.media.indices {
            let (offered, answered) = (description.media[index], answer.media[index])
            guard offered.kind == answered.kind, answered.mid == nil || offered.mid == answered.mid else {
                throw .answerDoesNotMatchOffer
            }
            guard answered.port != 0, let type = offered.kind.mediaType else { continue }
            let allowsMixed = description.allowsMixedExtensions && answer.allowsMixedExtensions
            let negotiated = NegotiatedMedia(
                offered: offered, answered: answered, at: index, of: type, allowsMixedExtensions: allowsMixed)
            if let negotiated { media.append(negotiated) }
            if let reason = Self.problem(offered, answered, negotiated, answer) {
                problems.append(SectionProblem(answered, at: index, reason))
            }
        }
        let remote = try RemoteTransport(answer, sections: media.map(\.index), BundleGroup(answer))
        var session = NegotiatedSession(
            remoteTransport: remote, localSetup: try Self.localSetup(remote), media: media)
        session.problems = problems
        return session
    }

    /// Returns the reason why a section that the answer accepts cannot carry media; nil if it can.
    private static func problem(
        _ offered: MediaDescription, _ answered: MediaDescription, _ negotiated: NegotiatedMedia?,
        _ answer: SessionDescription
    ) -> SectionProblem.Reason? {
        guard offered.direction.intersection(answered.direction.reversed) != .inactive else { return nil }
        guard negotiated != nil else {
            return .codec(offered: answered.codecNames, usable: offered.payloadFormats.map(\.codec.rawValue).unique)
        }
        if answer.media.filter({ $0.port != 0 }).count > 1 {
            guard let bundle = answer.bundle, !bundle.isEmpty else { return .noBundle }
            guard let mid = answered.mid ?? offered.mid, bundle.contains(mid) else { return .notBundled }
        }
        return answered.multiplexesRTCP ? nil : .noRTCPMultiplexing
    }

    /// Returns the local DTLS role. An answer without `a=setup` means `active`, and `actpass` is not allowed in an
    /// answer (RFC 8842, section 5).
    private static func localSetup(_ remote: RemoteTransport) throws(SDPError) -> SetupRole {
        switch remote.setup {
        case nil, .active: .passive
        case .passive: .active
        case .actpass, .holdconn: throw .unusableSetup
        }
    }
}

extension NegotiatedMedia {
    /// Negotiates a section. Returns nil if the answer accepts none of the offered codecs.
    fileprivate init?(
        offered: MediaDescription, answered: MediaDescription, at index: Int, of type: MediaType,
        allowsMixedExtensions: Bool
    ) {
        let direction = offered.direction.intersection(answered.direction.reversed)
        let extensions = ExtensionNegotiation(
            offered: answered.extensions.filter { mapping in
                offered.extensions.contains { $0.id == mapping.id && $0.uri == mapping.uri }
            }, wanted: Set(RTPHeaderExtension.allCases), mid: offered.mid, direction: direction,
            allowsMixed: allowsMixedExtensions)
        let formats = Self.common(
            offered.payloadFormats, answered.payloadFormats,
            hasTransportSequenceNumbers: extensions.map.id(of: .transportSequenceNumber) != nil)
        guard let format = formats.first else { return nil }
        let ours = direction.sends ? offered.incomingSources.first : nil
        self.init(
            index: index, mid: offered.mid, type: type, direction: direction, format: format,
            acceptablePayloads: formats, extensionMap: extensions.map, feedback: format.feedback,
            allowsReducedSizeRTCP: answered.allowsReducedSizeRTCP, localSSRC: ours?.ssrc,
            localRTXSSRC: format.rtxPayloadType == nil ? nil : ours?.rtxSSRC,
            remoteSources: direction.receives ? answered.incomingSources : [],
            remoteCNAME: direction.receives ? answered.sourceCNAME : nil,
            remoteMSID: direction.receives ? answered.sourceMSID : nil,
            rids: direction.sends && extensions.map.id(of: .rid) != nil ? Self.layers(offered, answered) : [],
            opusStereo: format.codec == .opus && Self.isStereo(format, offered, direction))
    }

    /// Returns the RIDs of the offered layers that the answer accepts (RFC 8853, section 5.3.2).
    private static func layers(_ offered: MediaDescription, _ answered: MediaDescription) -> [String] {
        let acceptedLayers = answered.simulcast?.receive.flatMap { $0.map(\.rid) } ?? []
        return offered.rids.map(\.id).filter { id in
            acceptedLayers.contains(id) && answered.rids.contains { $0.id == id && $0.direction == .receive }
        }
    }

    /// Returns the formats of the answer that were offered, with its order and payload types (RFC 3264, section 7).
    private static func common(
        _ offered: [PayloadFormat], _ answered: [PayloadFormat], hasTransportSequenceNumbers: Bool
    ) -> [PayloadFormat] {
        answered.compactMap { answer in
            let match = offered.first {
                $0.codec == answer.codec && $0.h264?.profile == answer.h264?.profile
                    && $0.h264?.packetizationMode == answer.h264?.packetizationMode
                    && $0.profile?.profile == answer.profile?.profile
            }
            guard let match else { return nil }
            var format = answer
            format.feedback = answer.feedback.intersection(match.feedback)
                .withOneEstimator(hasTransportSequenceNumbers: hasTransportSequenceNumbers)
            if match.rtxPayloadType == nil { format.rtxPayloadType = nil }
            if match.redPayloadType == nil { format.redPayloadType = nil }
            return format
        }
    }

    /// Returns whether stereo is wanted by the receiver.
    private static func isStereo(
        _ answer: PayloadFormat, _ offered: MediaDescription, _ direction: MediaDirection
    ) -> Bool {
        guard !direction.sends else { return answer.parameters["stereo"] == "1" }
        return offered.payloadFormats.contains { $0.parameters["stereo"] == "1" }
    }
}

extension Array where Element: Equatable {
    /// The elements without repetitions, in their order.
    var unique: [Element] {
        var result: [Element] = []
        for each in self where !result.contains(each) { result.append(each) }
        return result
    }
}

/// A section of the local offer.
package struct OfferSection: Sendable {
    /// The media type.
    package var type: MediaType
    /// The direction, from the local view.
    package var direction: MediaDirection
    /// The codecs to offer; nil for all of the capabilities.
    package var codecs: [Codec]?
    /// The format to offer, for a forwarded stream; nil for those of ``codecs``.
    package var format: SourceFormat?
    /// The formats that may follow ``format``, for a stream whose publishers change.
    package var furtherFormats: [SourceFormat] = []
    /// The local source, which is needed to send; nil otherwise.
    package var source: OutgoingSource?
    /// The RIDs of simulcast layers (RFC 8853), at most `SDPLimits.simulcastLayers`. With fewer than two there is no
    /// simulcast. The SSRCs of layers are not announced, because packets carry the RID.
    package var layers: [String]
    /// Whether the format with redundancy (RFC 2198) comes first. Chromium sends redundancy only then.
    package var prefersRedundancy = false
    /// The identification tag, `a=mid` (RFC 5888, section 9.1); nil for the section's index.
    package var mid: String?
    /// Offers retransmissions (RTX, RFC 4588). Chromium rejects an audio section that announces their source in an
    /// `a=ssrc-group:FID`.
    package var offersRetransmission = true

    /// Creates a section.
    package init(
        type: MediaType, direction: MediaDirection, codecs: [Codec]? = nil, format: SourceFormat? = nil,
        source: OutgoingSource? = nil, layers: [String] = []
    ) {
        self.type = type
        self.direction = direction
        self.codecs = codecs
        self.format = format
        self.source = source
        self.layers = layers
    }

    /// Whether the section sends simulcast.
    var hasLayers: Bool { direction.sends && layers.count > 1 }
}
