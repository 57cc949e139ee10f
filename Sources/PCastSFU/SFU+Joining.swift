public import PCastCore
import PCastRTP
public import PCastWebRTC

extension SFU {
    /// Admits a publisher and creates its stream.
    ///
    /// - Parameters:
    ///   - peer: The publisher's number, which is used once.
    ///   - stream: The stream's identifier.
    ///   - offer: The publisher's offer.
    ///   - terms: The options of the publisher.
    ///   - now: The current time.
    /// - Returns: The answer.
    /// - Throws: `SFUError` if the SFU is full, the stream exists, or the offer is unusable.
    public mutating func publish(
        _ peer: PeerID, stream: StreamID, offer: SessionDescription, terms: PeerOptions = PeerOptions(), at now: Instant
    ) throws(SFUError) -> SessionDescription {
        guard hasSpace else { throw .full }
        guard streamIndices[stream] == nil else { throw .streamExists(stream) }
        try Self.require(offer, that: \.sends)
        var capabilities = Self.publishing
        // Codecs that are not offered follow the others, so that the problem of an unusable section names the usable
        // codecs.
        let offered = offer.media.flatMap { $0.payloadFormats.map(\.codec) }
        capabilities.codecs = Self.preferred(offered + Self.forwarded, by: terms)
        let credentials = newCredentials()
        let answer = try answer(offer, credentials: credentials, capabilities: capabilities) { type, ordinal in
            ordinal == 0 && terms.media.contains(type) ? .receive : nil
        }
        // A section that is neither audio nor video has no direction.
        try Self.accept(answer.problems.filter { $0.isOfOtherKind || offer.media[$0.index].direction.sends })
        try enterPublisher(peer, stream, answer.session, credentials, terms, now, at: now)
        return answer.description
    }

    /// Creates the stream of a publisher whose session is negotiated. The publisher was admitted, or sent an offer, at
    /// the time `began`. `local` is the address from which this SFU connects; nil if the publisher connects.
    mutating func enterPublisher(
        _ peer: PeerID, _ stream: StreamID, _ session: NegotiatedSession, _ credentials: ICECredentials,
        _ terms: PeerOptions, _ began: Instant, from local: TransportAddress? = nil, at now: Instant
    ) throws(SFUError) {
        guard streamIndices[stream] == nil else { throw .streamExists(stream) }
        guard session.media.contains(where: { $0.direction.receives }) else { throw .noCommonCodec }
        let transport = try transport(session, credentials: credentials, began: began, from: local)
        let index = forwarder.streams.insert(
            PublishedStream(
                id: stream, peer: peer, transport: transport, session: session, terms: terms, began: began,
                reporterSSRC: newSSRC(), renditionSSRCs: newRenditionSSRCs(terms), cname: cname))
        streamIndices[stream] = index
        forwarder.streams[index].receiver.setDemanded(.audio, false, at: now)
        for layer in forwarder.streams[index].layers.indices {
            forwarder.streams[index].receiver.setDemanded(.video, layer: layer, false, at: now)
        }
        peers.insert(peer, .publisher(index), ufrag: credentials.ufrag)
        if let local { peers.add(localPort: local.port, of: .publisher(index)) }
        forwarder.schedule(publisher: index)
    }

    /// Admits a viewer to a stream.
    ///
    /// - Parameters:
    ///   - peer: The viewer's number, which is used once.
    ///   - stream: The stream's identifier.
    ///   - offer: The viewer's offer.
    ///   - terms: The options of the viewer.
    ///   - now: The current time.
    /// - Returns: The answer.
    /// - Throws: `SFUError` if the SFU is full, the stream is unknown, or the offer is unusable.
    public mutating func view(
        _ peer: PeerID, stream: StreamID, offer: SessionDescription, terms: PeerOptions = PeerOptions(), at now: Instant
    ) throws(SFUError) -> SessionDescription {
        guard hasSpace else { throw .full }
        guard let streamIndex = streamIndices[stream], !forwarder.streams[streamIndex].isEnding else {
            throw .unknownStream(stream)
        }
        try Self.require(offer, that: \.receives)
        let credentials = newCredentials()
        let videoFormats = videoFormats(of: streamIndex, for: offer, terms, at: now)
        let audioFormat = forwarder.streams[streamIndex].audio.sourceFormat
        if terms.media.contains(.video), let video = videoFormats.first, !terms.admits(video.codec) {
            throw .noCommonCodec
        }
        let video = newSource(stream, "video", hasRTX: true)
        let audio = newSource(stream, "audio", hasRTX: true)
        let answer = try answer(offer, credentials: credentials, capabilities: Self.viewing) { type, ordinal in
            guard ordinal == 0, terms.media.contains(type) else { return nil }
            switch type {
            case .video: return videoFormats.first.map { .send($0, or: Array(videoFormats.dropFirst()), from: video) }
            case .audio: return audioFormat.map { .send($0, from: audio) }
            }
        }
        let served = answer.session.media.map(\.type.rawValue)
        try Self.accept(
            answer.problems.filter { problem in
                !problem.isOfOtherKind && !served.contains(problem.kind)
                    && offer.media[problem.index].direction.receives
            })
        try enterViewer(peer, stream, answer.session, credentials, terms, now, at: now)
        return answer.description
    }

    /// Returns the formats in which a viewer receives the video of a stream: that of the publisher, or that of renditions if
    /// the viewer cannot or must not receive the publisher's. The formats that later publishers may send follow.
    ///
    /// - Parameters:
    ///   - index: The stream.
    ///   - offer: The viewer's offer; nil if the SFU makes the offer, so that only the options count.
    ///   - terms: The options of the viewer.
    ///   - now: The current time.
    /// - Returns: The formats; empty without video.
    private mutating func videoFormats(
        of index: Int, for offer: SessionDescription?, _ terms: PeerOptions, at now: Instant
    ) -> [SourceFormat] {
        func isReceivable(_ format: SourceFormat) -> Bool {
            terms.admits(format.codec) && offer.map { Self.viewing.canSend(format, in: $0) } ?? true
        }
        let formats = forwarder.streams.address(index).pointee.formats
        guard let own = formats.first else { return [] }
        let receivable = formats.filter(isReceivable)
        if receivable.first == own { return receivable }
        if let other = forwarder.streams[index].availableOtherFormat(at: now), isReceivable(other) {
            return [other] + receivable.filter { $0.codec != other.codec }
        }
        // Video begins when a publisher sends a codec that the viewer receives.
        return receivable.isEmpty ? [own] : receivable
    }

    /// Creates a viewer whose session is negotiated. The viewer was admitted, or sent an offer, at the time `began`.
    mutating func enterViewer(
        _ peer: PeerID, _ stream: StreamID, _ session: NegotiatedSession, _ credentials: ICECredentials,
        _ terms: PeerOptions, _ began: Instant, at now: Instant
    ) throws(SFUError) {
        guard let streamIndex = streamIndices[stream], !forwarder.streams[streamIndex].isEnding else {
            throw .unknownStream(stream)
        }
        guard session.media.contains(where: { $0.direction.sends }) else { throw .noCommonCodec }
        let transport = try transport(session, credentials: credentials, began: began)
        let sender = MediaSender(
            session.media, cname: cname,
            playoutDelay: forwarder.playoutDelay(stream: streamIndex, least: terms.playout ?? .zero, isLowJitter: true),
            startBitrate: max(MediaSender.assumedBitrate, forwarder.streams[streamIndex].desiredBitrate),
            desiredBitrate: forwarder.streams[streamIndex].desiredBitrate, evensSizes: true, using: &generator)
        let index = forwarder.viewers.insert(
            Viewer(
                peer: peer, stream: streamIndex, transport: transport, sender: sender, terms: terms, began: began))
        forwarder.followCodec(viewer: index)
        forwarder.streams[streamIndex].viewers.append(index)
        if terms.isCounted { forwarder.streams[streamIndex].countedViewers += 1 }
        peers.insert(peer, .viewer(index), ufrag: credentials.ufrag)
        forwarder.schedule(viewer: index)
        forwarder.beginSubscription(viewer: index, at: now)
    }

    /// Restarts a peer's ICE with its new credentials (RFC 9725, section 4.3.2). Both pairs of credentials remain valid
    /// until a new candidate pair is nominated.
    ///
    /// - Parameters:
    ///   - peer: The peer.
    ///   - remote: The peer's new credentials.
    ///   - now: The current time.
    /// - Returns: The SFU's credentials and candidates.
    /// - Throws: `SFUError.unknownPeer` if the peer has left.
    public mutating func restart(
        _ peer: PeerID, remote: ICECredentials, at now: Instant
    ) throws(SFUError) -> TrickleFragment {
        guard let peerIndex = peers[peer] else { throw .unknownPeer }
        let credentials = newCredentials()
        switch peerIndex {
        case .publisher(let index):
            forwarder.streams[index].transport?.restart(local: credentials, remote: remote, at: now)
        case .viewer(let index): forwarder.viewers[index].transport.restart(local: credentials, remote: remote, at: now)
        }
        peers.add(ufrag: credentials.ufrag, of: peerIndex)
        return TrickleFragment(
            iceUfrag: credentials.ufrag, icePwd: credentials.password,
            isICELite: true, iceOptions: transportDescription(credentials).iceOptions,
            sections: [.init(mid: nil, candidates: configuration.candidates, hasEndOfCandidates: true)])
    }

    /// Returns the counters of a peer; nil if the peer has left.
    public func statistics(of peer: PeerID) -> PeerStatistics? {
        switch peers[peer] {
        case .publisher(let index):
            let receiver = forwarder.streams[index].receiver
            let tracks = receiver.layers[receiver.sentLayers] + [receiver.audio].compactMap { $0 }
            return PeerStatistics(
                packets: tracks.reduce(0) { $0 + $1.packetsReceived },
                bytes: tracks.reduce(0) { $0 + $1.bytesReceived },
                packetsLost: tracks.reduce(0) { $0 + Int(max($1.statistics?.lost ?? 0, 0)) },
                nackCount: tracks.reduce(0) { $0 + Int($1.missing.requested) },
                pliCount: tracks.reduce(0) { $0 + $1.keyFrame.sentCount },
                roundTrip: forwarder.streams[index].receiver.roundTrip, availableBitrate: nil,
                isAway: forwarder.streams[index].isAway,
                viewers: forwarder.streams[index].replicas.reduce(forwarder.streams[index].countedViewers) {
                    $0 + $1.links.counted
                })
        case .viewer(let index):
            let tracks = forwarder.viewers[index].sender.tracks
            return PeerStatistics(
                packets: tracks.reduce(0) { $0 + Int($1.pointee.stream.packetsSent) },
                bytes: tracks.reduce(0) { $0 + Int($1.pointee.stream.octetsSent) },
                packetsLost: tracks.reduce(0) { $0 + Int($1.pointee.receiverReport?.cumulativeLost ?? 0) },
                nackCount: tracks.reduce(0) { $0 + $1.pointee.nackCount },
                pliCount: tracks.reduce(0) { $0 + $1.pointee.pliCount },
                roundTrip: forwarder.viewers[index].sender.roundTripTime.smoothed,
                availableBitrate: forwarder.viewers.address(index).pointee.sender.estimate.target,
                isAway: forwarder.viewers[index].isAway, viewers: 0)
        case nil: return nil
        }
    }

    // MARK: Parts

    static func accept(_ problems: [SectionProblem]) throws(SFUError) {
        guard problems.isEmpty else { throw .unacceptable(problems) }
    }

    /// Rejects a description whose media all flow in the wrong direction or not at all, because its sender used the
    /// wrong endpoint. A description without media is not rejected here; it has no common codec.
    static func require(
        _ description: SessionDescription, that flows: (MediaDirection) -> Bool
    ) throws(SFUError) {
        let media = description.media.filter { $0.kind.mediaType != nil && !$0.isRejected }
        guard media.isEmpty || media.contains(where: { flows($0.direction) }) else { throw .wrongDirection }
    }

    /// All codecs that are forwarded.
    private static let forwarded: [Codec] = [.h264, .vp8, .vp9, .av1, .h265, .opus]

    private static let capabilities = MediaCapabilities(
        h264Level: .level52,
        headerExtensions: [
            .mid, .transportSequenceNumber, .absoluteSendTime, .playoutDelay, .videoOrientation, .audioLevel,
            .absoluteCaptureTime,
        ], feedback: [.nack, .pli, .fir, .transportCC])

    /// The capabilities for media from publishers, including pause requests and the extensions that identify layers.
    static var publishing: MediaCapabilities {
        var capabilities = capabilities
        capabilities.feedback.formUnion(publishingFeedback)
        capabilities.headerExtensions.formUnion(publishingExtensions)
        capabilities.startBitrate = Bitrate.kilobits(1_500)
        return capabilities
    }

    /// The capabilities for media to viewers. Viewers that do not report arrivals may send their own estimate (REMB).
    static var viewing: MediaCapabilities {
        var capabilities = capabilities
        capabilities.codecs = forwarded
        capabilities.feedback.insert(.remb)
        capabilities.headerExtensions.insert(.dependencyDescriptor)
        return capabilities
    }

    /// The feedback that tells a publisher that nobody subscribes. Viewers have no such feedback; they can only leave.
    private static let publishingFeedback: RTCPFeedback = [.pause, .pauseWithoutWait]

    /// The extensions that describe the layers of a publisher. A viewer receives one layer at a time, whose packets are
    /// numbered without a gap.
    private static let publishingExtensions: Set<RTPHeaderExtension> = [.rid, .repairedRid, .dependencyDescriptor]

    /// Returns the offered codecs once each, the preferred ones first, without video codecs that the options reject.
    static func preferred(_ offered: [Codec], by terms: PeerOptions) -> [Codec] {
        var codecs: [Codec] = []
        for codec in terms.preferring.filter(offered.contains) + offered
        where !codecs.contains(codec) && terms.admits(codec) {
            codecs.append(codec)
        }
        return codecs
    }

    mutating func newCredentials() -> ICECredentials {
        // Twelve characters are unique among the peers, and a string of this length needs no heap allocation.
        while true {
            let credentials = ICECredentials.random(
                ufragLength: 12, mark: configuration.shard.mark, using: &generator)
            if peers.ufrags[credentials.ufrag] == nil { return credentials }
        }
    }

    mutating func newSSRC() -> UInt32 { UInt32.random(in: 1...UInt32.max, using: &generator) }

    mutating func newSource(_ stream: StreamID, _ track: String, hasRTX: Bool) -> OutgoingSource {
        OutgoingSource(
            ssrc: newSSRC(), rtxSSRC: hasRTX ? newSSRC() : nil, cname: cname,
            msid: MediaStreamIdentification(stream: "pcast", track: track))
    }

    mutating func answer(
        _ offer: SessionDescription, credentials: ICECredentials, capabilities: MediaCapabilities,
        isLite: Bool = true, intent: (MediaType, Int) -> AnswerOptions?
    ) throws(SFUError) -> Answer {
        do {
            return try Answer(
                to: offer, originSessionID: generator.next() >> 1,
                transport: transportDescription(credentials, isLite: isLite), capabilities: capabilities, intent: intent
            )
        } catch {
            throw SFUError(error, in: offer)
        }
    }

    /// Returns the transport parameters of this SFU. If it is not lite, it connects and needs no candidates.
    func transportDescription(_ credentials: ICECredentials, isLite: Bool = true) -> TransportDescription {
        TransportDescription(
            iceUfrag: credentials.ufrag, icePwd: credentials.password, isLite: isLite,
            fingerprint: configuration.certificate.fingerprint.attribute,
            candidates: isLite ? configuration.candidates : [])
    }

    private mutating func transport(
        _ session: NegotiatedSession, credentials: ICECredentials, began: Instant, from local: TransportAddress? = nil
    ) throws(SFUError) -> SecureTransport {
        let remote = session.remoteTransport
        guard local != nil || !remote.isLite else { throw .description(.unusableSetup) }
        guard let remoteCredentials = ICECredentials(ufrag: remote.iceUfrag, password: remote.icePwd) else {
            throw .description(.missingICECredentials)
        }
        let handshake = OpenSSLHandshake(
            certificate: configuration.certificate, role: session.isDTLSClient ? .client : .server,
            expectedFingerprints: remote.fingerprints.compactMap { DTLSFingerprint($0) })
        if let local {
            var agent = ICEControllingAgent(
                local: credentials, remote: remoteCredentials, tieBreaker: generator.next(), addresses: [local],
                seed: generator.next())
            for candidate in remote.candidates.compactMap({ ICECandidate($0) }) where candidate.transport == .udp {
                agent.addRemoteCandidate(candidate, at: began)
            }
            return SecureTransport(controlling: agent, handshake: handshake, seed: generator.next())
        }
        let agent = ICELiteAgent(
            local: credentials, remote: remoteCredentials, setupDeadline: began + configuration.setupTimeout)
        return SecureTransport(lite: agent, handshake: handshake, seed: generator.next())
    }
}

extension SFUError {
    /// Describes the problem of a peer's session description.
    init(_ error: SDPError, in description: SessionDescription) {
        guard case .unusableFingerprint(let index) = error else {
            self = .description(error)
            return
        }
        let media = description.media[index]
        let names = media.fingerprints.map { "\($0.algorithm) of \($0.bytes.count) bytes" }
        self = .unacceptable([SectionProblem(media, at: index, .fingerprint(offered: names))])
    }
}

extension SectionProblem {
    /// Whether the section is neither audio nor video.
    fileprivate var isOfOtherKind: Bool {
        if case .kind = reason { true } else { false }
    }
}

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
        // Other codecs than the usual ones are only offered if the options name them.
        let codecs = capabilities.codecs + terms.preferring
        let video = Self.preferred(codecs.filter { $0.mediaType == .video }, by: terms)
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
        if terms.isNode { return try offerToNode(peer, of: stream, streamIndex, terms, at: now) }
        var sections: [OfferSection] = []
        let audio = forwarder.streams[streamIndex].audio.sourceFormat
        let video = videoFormats(of: streamIndex, for: nil, terms, at: now)
        for formats in [audio.map { [$0] } ?? [], video] {
            guard let format = formats.first else { continue }
            let type = format.codec.mediaType
            guard terms.media.contains(type) else { continue }
            guard terms.admits(format.codec) else { throw .noCommonCodec }
            let source = newSource(stream, type.rawValue, hasRTX: type == .video)
            var section = OfferSection(type: type, direction: .sendOnly, format: format, source: source)
            section.furtherFormats = Array(formats.dropFirst())
            section.offersRetransmission = type == .video
            sections.append(section)
        }
        guard !sections.isEmpty else { throw .noCommonCodec }
        return offer(sections, Self.viewing, to: peer, as: .viewer(of: stream), terms, at: now)
    }

    mutating func offer(
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
            session.media[index].acceptablePayloads = Self.usedFormats(of: session.media[index], by: outstanding.role)
        }
        if outstanding.terms.isNode { try requireAllLayers(session, of: outstanding.role) }
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

    /// Returns the formats of an answered section that are used. A publisher sends one, since the log of a track has one
    /// format. A viewer receives one of each codec.
    private static func usedFormats(
        of section: NegotiatedMedia, by role: OutstandingOffer.Role
    ) -> [PayloadFormat] {
        guard case .viewer = role else { return [section.format] }
        var formats = [section.format]
        for format in section.acceptablePayloads where !formats.contains(where: { $0.codec == format.codec }) {
            formats.append(format)
        }
        return formats
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
