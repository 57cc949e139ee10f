import PCastCore
import PCastRTP

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

extension [String] {
    /// The strings without repetitions, in their order.
    var unique: [String] {
        var result: [String] = []
        for each in self where !result.contains(each) { result.append(each) }
        return result
    }
}
