public import PCastCore
import PCastRTP
public import PCastWebRTC

/// Admission by an offer of the SFU, which the peer answers. Roles and packets are the same afterwards.
extension SFU {
    /// Creates an offer to receive a stream. The answer admits the peer (`accept`). Without an answer within the setup
    /// time of the options, or else of the configuration, the peer ends with `failed`.
    ///
    /// - Parameters:
    ///   - peer: The publisher's number, which is used once.
    ///   - stream: The stream's identifier.
    ///   - terms: The options of the publisher.
    ///   - now: The current time.
    /// - Returns: The offer.
    /// - Throws: `SFUError` if the SFU is full, the stream exists, or the options allow no media.
    public mutating func offerToPublisher(
        _ peer: PeerID, of stream: StreamID, terms: PeerOptions = PeerOptions(), at now: Instant
    ) throws(SFUError) -> SessionDescription {
        guard hasSpace else { throw .full }
        guard streamIndices[stream] == nil else { throw .streamExists(stream) }
        var capabilities = Self.publishing
        let video = Self.preferred(capabilities.codecs.filter { $0.mediaType == .video }, by: terms)
        let audio = capabilities.codecs.filter { $0.mediaType == .audio }
        capabilities.codecs = video + audio
        var sections: [OfferSection] = []
        if terms.media.contains(.audio) {
            var section = OfferSection(type: .audio, direction: .receiveOnly)
            section.prefersRedundancy = true
            sections.append(section)
        }
        if terms.media.contains(.video), !video.isEmpty {
            sections.append(OfferSection(type: .video, direction: .receiveOnly))
        }
        // Phenix's Web SDK limits its bandwidth by a `b=` line after "a=mid:video" of the offer.
        for index in sections.indices { sections[index].mid = sections[index].type.rawValue }
        guard !sections.isEmpty else { throw .noCommonCodec }
        return offer(sections, capabilities, to: peer, as: .publisher(of: stream), terms, at: now)
    }

    /// Creates an offer of a stream's tracks in their formats; see `offerToPublisher`.
    ///
    /// - Parameters:
    ///   - peer: The viewer's number, which is used once.
    ///   - stream: The stream's identifier.
    ///   - terms: The options of the viewer.
    ///   - now: The current time.
    /// - Returns: The offer.
    /// - Throws: `SFUError` if the SFU is full, the stream is unknown, or no track has an accepted codec.
    public mutating func offerToViewer(
        _ peer: PeerID, of stream: StreamID, terms: PeerOptions = PeerOptions(), at now: Instant
    ) throws(SFUError) -> SessionDescription {
        guard hasSpace else { throw .full }
        guard let streamIndex = streamIndices[stream], !forwarder.streams[streamIndex].isEnding else {
            throw .unknownStream(stream)
        }
        var sections: [OfferSection] = []
        for format in [
            forwarder.streams[streamIndex].audio.sourceFormat, forwarder.streams[streamIndex].layers[0].sourceFormat,
        ].compactMap(
            { $0 })
        {
            let type = format.codec.mediaType
            guard terms.media.contains(type) else { continue }
            guard terms.admits(format.codec) else { throw .noCommonCodec }
            let source = newSource(stream, type.rawValue, hasRTX: type == .video)
            var section = OfferSection(type: type, direction: .sendOnly, format: format, source: source)
            section.offersRetransmission = type == .video
            sections.append(section)
        }
        guard !sections.isEmpty else { throw .noCommonCodec }
        return offer(sections, Self.viewing, to: peer, as: .viewer(of: stream), terms, at: now)
    }

    private mutating func offer(
        _ sections: [OfferSection], _ capabilities: MediaCapabilities, to peer: PeerID,
        as role: OutstandingOffer.Role, _ terms: PeerOptions, at now: Instant
    ) -> SessionDescription {
        precondition(peers[peer] == nil && offers[peer] == nil, "a peer ID must be unique")
        let credentials = newCredentials()
        let offer = Offer(
            sections: sections, originSessionID: generator.next() >> 1,
            transport: transportDescription(credentials), capabilities: capabilities)
        let deadline = now + (terms.setupLimit ?? configuration.setupTimeout)
        offers[peer] = OutstandingOffer(
            role: role, offer: offer, credentials: credentials, terms: terms, began: now, deadline: deadline)
        offersDeadline = Instant.earlier(offersDeadline, deadline)
        return offer.description
    }

    /// Admits a peer that answers an offer. An unusable answer leaves the offer valid.
    ///
    /// - Parameters:
    ///   - answer: The peer's answer.
    ///   - peer: The peer to which the offer was sent.
    ///   - now: The current time.
    /// - Returns: The negotiated session.
    /// - Throws: `SFUError` if there is no such offer, or if the answer is unusable.
    public mutating func accept(
        _ answer: SessionDescription, from peer: PeerID, at now: Instant
    ) throws(SFUError) -> NegotiatedSession {
        guard let outstanding = offers[peer] else { throw peers[peer] == nil ? .unknownPeer : .noOffer }
        switch outstanding.role {
        case .publisher: try Self.require(answer, that: \.sends)
        case .viewer: try Self.require(answer, that: \.receives)
        }
        var session: NegotiatedSession
        do {
            session = try outstanding.offer.accept(answer)
        } catch {
            throw SFUError(error, in: answer)
        }
        guard session.problems.isEmpty else { throw .unacceptable(session.problems) }
        for index in session.media.indices {
            // The log of a track has one format, so the first one is the format that is sent.
            session.media[index].acceptablePayloads = [session.media[index].format]
        }
        switch outstanding.role {
        case .publisher(let stream):
            try enterPublisher(
                peer, stream, session, outstanding.credentials, outstanding.terms, outstanding.began, at: now)
        case .viewer(let stream):
            try enterViewer(
                peer, stream, session, outstanding.credentials, outstanding.terms, outstanding.began, at: now)
        }
        offers[peer] = nil
        return session
    }

    // MARK: Ending

    /// Removes the offers that were not answered in time.
    mutating func removeExpiredOffers(until now: Instant) {
        guard let deadline = offersDeadline, deadline <= now else { return }
        for (peer, offer) in offers where offer.deadline <= now { cancel(peer, .failed) }
        offersDeadline = offers.values.reduce(nil) { Instant.earlier($0, $1.deadline) }
    }

    /// Withdraws the offers of a stream that has ended.
    mutating func cancelOffers(of stream: StreamID, reason: StreamEndedReason) {
        for (peer, offer) in offers where offer.role == .viewer(of: stream) { cancel(peer, reason) }
    }

    /// Withdraws an offer, if there is one.
    mutating func cancel(_ peer: PeerID, _ reason: StreamEndedReason) {
        if offers.removeValue(forKey: peer) != nil { forwarder.events.append(.ended(peer, reason)) }
    }
}
