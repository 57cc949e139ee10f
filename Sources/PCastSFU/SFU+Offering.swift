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
        guard let streamIndex = streamIndices[stream], !streams[streamIndex].isEnding else {
            throw .unknownStream(stream)
        }
        var sections: [OfferSection] = []
        for format in [streams[streamIndex].audio.sourceFormat, streams[streamIndex].layers[0].sourceFormat].compactMap(
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
        if offers.removeValue(forKey: peer) != nil { events.append(.ended(peer, reason)) }
    }
}

/// The time for which viewers are asked to hold frames.
extension SFU {
    /// Returns the values of WebRTC's playout-delay header extension.
    ///
    /// Minimum and maximum are equal if all viewers show the same frame; a browser then uses a buffer of that length.
    /// Both are zero on a low-jitter path.
    func playoutDelay(stream index: Int, least: TimeSpan, isLowJitter: Bool) -> PlayoutDelay {
        if let isJoint = streams[index].playout { return PlayoutDelay(minimum: isJoint, maximum: isJoint) }
        if isLowJitter, least == .zero { return PlayoutDelay(minimum: .zero, maximum: .zero) }
        return PlayoutDelay(minimum: least, maximum: max(least, .seconds(10)))
    }

    /// Asks a viewer to hold frames for as long as retransmissions take on its hop and on the publisher's hop.
    mutating func followLosses(viewer viewerIndex: Int, at now: Instant) {
        let viewer = viewers.address(viewerIndex)
        guard viewer.pointee.isWatching else { return }
        let stream = streams.address(viewer.pointee.stream)
        let estimate = viewer.pointee.sender.estimate
        if viewer.pointee.quality.isSettled(at: now) {
            // A full link loses packets because it is full, which retransmissions do not help.
            if !estimate.isCongested { viewer.pointee.quality.repair.observe(estimate.lossRate, at: now) }
            viewer.pointee.quality.lowJitter.observe(
                loss: estimate.lossRate, queue: estimate.queueDelay ?? .zero, jitter: .zero, at: now)
        }
        guard stream.pointee.playout == nil, viewer.pointee.sender.video != nil else { return }
        let own = viewer.pointee.quality.repair.delay(roundTrip: viewer.pointee.sender.roundTrip)
        let publishers = stream.pointee.quality.repair.delay(
            roundTrip: stream.pointee.receiver.roundTrip ?? .milliseconds(50))
        let least = max(viewer.pointee.playout ?? .zero, own + publishers)
        viewer.pointee.sender.video?.pointee.stream.playoutDelay = playoutDelay(
            stream: viewer.pointee.stream, least: least,
            isLowJitter: viewer.pointee.quality.lowJitter.isLowJitter(at: now)
                && stream.pointee.quality.lowJitter.isLowJitter(at: now))
    }
}

/// Prefetching of viewers' state. The state of a thousand viewers exceeds the processor's nearer caches, so it is
/// loaded while other viewers are served.
extension SFU {
    /// The number of viewers whose state stays in the caches.
    private static let prefetchedViewers = 16

    /// Prefetches the state of the next viewers, one step further for each of them.
    @inline(__always)
    mutating func prefetch(viewersOf stream: UnsafeMutablePointer<PublishedStream>, count: Int) {
        guard count > Self.prefetchedViewers else { return }
        var turn = stream.pointee.firstViewer + stream.pointee.nextViewer
        for step in Prefetch.allCases.reversed() {
            turn += 1
            viewers.address(stream.pointee.viewers[turn < count ? turn : turn % count]).pointee.prefetch(step)
        }
    }

    /// Prefetches the state of the viewers whose reports arrived in a batch. Their state is scattered and has not been
    /// used since the last frame, so the loads of several viewers overlap.
    public mutating func expect(from paths: Span<NetworkPath>) {
        guard viewers.count > Self.prefetchedViewers else { return }
        var expected = [Int]()
        swap(&expected, &expectedViewers)
        expected.removeAll(keepingCapacity: true)
        peers.expect(from: paths) { peerIndex in
            guard case .viewer(let index) = peerIndex, viewers.contains(index) else { return }
            Prefetch.fetch(viewers.address(index), MemoryLayout<Viewer>.size)
            expected.append(index)
        }
        swap(&expected, &expectedViewers)
        prefetchExpected(.objects)
        prefetchExpected(.tables)
        prefetchExpected(.keys)
    }

    private mutating func prefetchExpected(_ step: Prefetch) {
        for viewerIndex in expectedViewers {
            viewers.address(viewerIndex).pointee.transport.prefetchReceiving(step)
            viewers.address(viewerIndex).pointee.sender.prefetchReporting(step)
        }
    }
}
