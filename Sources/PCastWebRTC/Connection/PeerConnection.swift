public import PCastMedia
public import PCastRTP

/// The whole of a client's call with a platform: one stream published, or one viewed.
///
/// It is made with an offer, told the answer, and driven as a `DatagramMachine`. Encoded frames go in by `send`, come
/// out by `pollFrame`, and what there is to know comes out by `pollEvent`.
public struct PeerConnection: ~Copyable, DatagramMachine {
    /// What the call is for.
    public enum Purpose: Sendable {
        /// To send: a video codec, nil for none, and sound; the video in several layers side by side where there are more
        /// than one, three at most.
        case publish(video: Codec?, audio: Bool, layers: Int = 1)
        /// To receive.
        case view(video: Bool, audio: Bool)
    }

    public struct Configuration: Sendable {
        public var certificate: DTLSCertificate
        /// The addresses that the driver's sockets are bound to.
        public var addresses: [TransportAddress]
        /// By which sender reports tell UTC.
        public var clock: WallClockReference
        public var capabilities: MediaCapabilities
        /// Tells the streams of one end apart from others' in RTCP; random.
        public var cname: String

        public init(
            certificate: DTLSCertificate, addresses: [TransportAddress], clock: WallClockReference,
            capabilities: MediaCapabilities = MediaCapabilities(), cname: String
        ) {
            self.certificate = certificate
            self.addresses = addresses
            self.clock = clock
            self.capabilities = capabilities
            self.cname = cname
        }
    }

    public enum Event: Hashable, Sendable {
        case connected(SRTPProfile)
        /// Some viewer cannot go on without a key frame: the encoder shall make one.
        case keyFrameRequested
        /// Nobody takes what is sent of this type: its frames are not sent, and need not be made (RFC 7728).
        case paused(MediaType)
        /// Somebody does again. Video begins anew: its first picture has to be a key frame, others before it are not
        /// sent.
        case resumed(MediaType)
        /// The same of one of several layers of video, of which the three above are never told.
        case layerNeedsKeyFrame(Int)
        case layerPaused(Int)
        case layerResumed(Int)
        case away, back
        /// The platform said goodbye.
        case closed
        case failed(TransportFailure)
        case openConnection(to: TransportAddress)
        case closeConnection(NetworkPath)
    }

    /// What arrived.
    public enum Media: Sendable {
        case frame(EncodedFrame, arrival: Instant)
        /// Sound that was lost: to be concealed.
        case gap(JitterBuffer.Gap)
    }

    var configuration: Configuration
    var offerMade: Offer
    var credentials: ICECredentials
    /// Of the offer of a restart that is not answered yet.
    var restartCredentials: ICECredentials?
    let tieBreaker: UInt64
    let seed: UInt64
    let isPublisher: Bool

    var transport: Held<SecureTransport>?
    var sender: Held<MediaSender>?
    var receiver: MediaReceiver?
    /// The video's layers, as agreed on.
    var localLayers: [Held<LocalTrack>] = []
    var localAudio: Held<LocalTrack>?
    /// After a pause nothing but a key frame may follow.
    var awaitsKeyFrame = [false, false, false]
    /// While the path is emptied.
    var drain: VideoDrain?
    var targetTold: Bitrate?
    var videoBuffer: Held<JitterBuffer>?
    var audioBuffer: Held<JitterBuffer>?
    var events: [Event] = []
    var traffic = TransportTraffic()
    var generator: TransactionIDGenerator

    /// - Parameter generator: a secure one; it makes passwords.
    public init(
        _ purpose: Purpose, configuration: Configuration, using generator: inout some RandomNumberGenerator
    ) {
        self.configuration = configuration
        credentials = ICECredentials.random(using: &generator)
        tieBreaker = generator.next()
        seed = generator.next()
        self.generator = TransactionIDGenerator(seed: generator.next())
        var isPublisher = false
        if case .publish = purpose { isPublisher = true }
        self.isPublisher = isPublisher
        var capabilities = configuration.capabilities
        // What is watched is not paused; who does not want it any more leaves.
        if !isPublisher { capabilities.feedback.subtract([.pause, .pauseWithoutWait]) }
        let transport = TransportDescription(
            iceUfrag: credentials.ufrag, icePwd: credentials.password,
            fingerprint: configuration.certificate.fingerprint.attribute, candidates: [], hasAllCandidates: false)
        offerMade = Offer(
            sections: Self.sections(purpose, cname: configuration.cname, using: &generator),
            originSessionID: generator.next() >> 1, transport: transport, capabilities: capabilities)
    }

    static func sections(
        _ purpose: Purpose, cname: String, using generator: inout some RandomNumberGenerator
    ) -> [OfferSection] {
        switch purpose {
        case .view(let video, let audio):
            return (video ? [OfferSection(type: .video, direction: .receiveOnly)] : [])
                + (audio ? [OfferSection(type: .audio, direction: .receiveOnly)] : [])
        case .publish(let video, let audio, let layers):
            var sections: [OfferSection] = []
            if let video {
                let source = OutgoingSource(
                    ssrc: ssrc(using: &generator), rtxSSRC: ssrc(using: &generator), cname: cname,
                    msid: MediaStreamIdentification(stream: cname, track: "video"))
                sections.append(
                    OfferSection(
                        type: .video, direction: .sendOnly, codecs: [video], source: source,
                        layers: layerNames(layers)))
            }
            if audio {
                let source = OutgoingSource(
                    ssrc: ssrc(using: &generator), rtxSSRC: ssrc(using: &generator), cname: cname,
                    msid: MediaStreamIdentification(stream: cname, track: "audio"))
                sections.append(OfferSection(type: .audio, direction: .sendOnly, source: source))
            }
            return sections
        }
    }

    /// What layers are called, the lowest first.
    static func layerNames(_ count: Int) -> [String] {
        precondition((1...3).contains(count), "a stream has one to three layers")
        return [[], ["l", "h"], ["l", "m", "h"]][count - 1]
    }

    static func ssrc(using generator: inout some RandomNumberGenerator) -> UInt32 {
        UInt32.random(in: 1...UInt32.max, using: &generator)
    }

    /// What is sent to the platform.
    public var offer: SessionDescription { offerMade.description }

    /// Takes in the platform's answer, and begins to connect.
    ///
    /// - Throws: `SDPError` when the answer does not fit the offer.
    public mutating func accept(_ answer: SessionDescription, at now: Instant) throws(SDPError) {
        precondition(transport == nil, "an offer is answered once")
        let session = try offerMade.accept(answer)
        let remote = session.remoteTransport
        guard let remoteCredentials = ICECredentials(ufrag: remote.iceUfrag, password: remote.icePwd) else {
            throw .missingICECredentials
        }
        let handshake = OpenSSLHandshake(
            certificate: configuration.certificate, role: session.isDTLSClient ? .client : .server,
            expectedFingerprints: remote.fingerprints.compactMap { DTLSFingerprint($0) })
        var agent = ICEControllingAgent(
            local: credentials, remote: remoteCredentials, tieBreaker: tieBreaker,
            addresses: configuration.addresses, seed: seed)
        for candidate in remote.candidates.compactMap({ ICECandidate($0) }) {
            agent.addRemoteCandidate(candidate, at: now)
        }
        transport = Held(SecureTransport(controlling: agent, handshake: handshake, seed: generator.next()))
        prepareMedia(session.media)
    }

    mutating func prepareMedia(_ media: [NegotiatedMedia]) {
        if isPublisher {
            sender = Held(MediaSender(media, cname: configuration.cname, playoutDelay: nil, using: &generator))
            for layer in 0..<(sender?.value.layerCount ?? 0) {
                guard let track = sender?.value.layer(layer) else { continue }
                let local = Held(LocalTrack(codec: track.pointee.media.codec, using: &generator))
                sender?.value.layer(layer)?.pointee.stream.beginAtEnd(of: local.value.log)
                localLayers.append(local)
            }
            if let track = sender?.value.audio {
                localAudio = Held(LocalTrack(codec: track.pointee.media.codec, using: &generator))
                track.pointee.stream.beginAtEnd(of: localAudio!.value.log)
            }
        } else {
            receiver = MediaReceiver(
                media, reporterSSRC: Self.ssrc(using: &generator), cname: configuration.cname,
                measuresRoundTrip: true)
            if let track = receiver?.video { videoBuffer = Held(JitterBuffer(codec: track.media.codec)) }
            if receiver?.audio != nil { audioBuffer = Held(JitterBuffer(codec: .opus)) }
        }
    }

    // MARK: Sending

    /// Sends a frame; nothing happens to frames of a track that was not agreed on or that is paused, or before the
    /// connection is up.
    ///
    /// - Parameter layer: of video, its place among those agreed on.
    public mutating func send(_ frame: EncodedFrame, layer: Int = 0, at now: Instant) {
        let type = frame.codec.mediaType
        guard transport?.value.isConnected == true, sender?.value.isPaused(type, layer: layer) == false else { return }
        if type == .video, localLayers.indices.contains(layer), awaitsKeyFrame[layer] {
            guard frame.isKeyFrame, drain == nil else { return }
            awaitsKeyFrame[layer] = false
        }
        let wallTime = configuration.clock.wallTime(at: now)
        switch frame.codec.mediaType {
        case .video where localLayers.indices.contains(layer):
            localLayers[layer].value.append(frame, wallTime: wallTime, at: now)
        case .video: break
        case .audio: localAudio?.value.append(frame, wallTime: wallTime, at: now)
        }
    }

    /// The codec agreed on for a track that is sent; nil when the platform took none.
    public func sendingCodec(_ type: MediaType) -> Codec? {
        (type == .video ? sender?.value.video : sender?.value.audio)?.pointee.media.codec
    }

    /// How many layers of video the platform takes; none before its answer.
    public var sendingLayerCount: Int { sender?.value.layerCount ?? 0 }

    /// The codec agreed on for a track that is received.
    public func receivingCodec(_ type: MediaType) -> Codec? {
        (type == .video ? receiver?.video : receiver?.audio)?.media.codec
    }

    /// What is known of the path that media is sent along; nil for who sends none.
    /// Its target is no more than the platform asks for.
    public var estimate: BandwidthEstimate? {
        guard var estimate = sender?.value.estimate else { return nil }
        if let limit = sender?.value.receiverLimit { estimate.target = min(estimate.target, limit) }
        return estimate
    }

    /// The estimate, when what may be sent has changed since it was polled last: by a hundredth or more, or to or from
    /// what is wanted; nil else.
    public mutating func pollEstimate() -> BandwidthEstimate? {
        guard let estimate, transport?.value.isConnected == true else { return nil }
        let target = estimate.target
        if let told = targetTold {
            let step = abs(told.bitsPerSecond - target.bitsPerSecond)
            guard step * 100 >= told.bitsPerSecond else { return nil }
        }
        targetTold = target
        return estimate
    }

    /// What would be sent, all tracks together and on the wire, if the path carried it.
    public mutating func setWantedBitrate(_ bitrate: Bitrate) { sender?.value.wantedBitrate = bitrate }

    /// What the platform is told of what is sent, beside what the connection knows of itself; see `PublisherReport`.
    public mutating func setPublisherReport(_ report: PublisherReport, at now: Instant) {
        sender?.value.setPublisherReport(report, at: now)
    }

    /// When something authentic came from the platform last; nil before the connection was up.
    public var lastHeard: Instant? { transport?.value.isConnected == true ? transport!.value.lastHeard : nil }

    // MARK: Time and output

    mutating func follow(at now: Instant) {
        while let event = transport?.value.pollEvent() {
            switch event {
            case .connected(let profile):
                events.append(.connected(profile))
                // Until reports measure it.
                if let roundTrip = transport?.value.roundTrip {
                    receiver?.setRoundTrip(roundTrip)
                    setPatience(roundTrip: roundTrip)
                }
                while let early = transport?.value.takeEarlyPacket() {
                    handleEarly(early.bytes, from: early.path, at: now)
                }
            case .pathChanged: sender?.value.pathChanged(at: now)
            case .away: events.append(.away)
            case .back: events.append(.back)
            case .closed: events.append(.closed)
            case .failed(let failure): events.append(.failed(failure))
            case .openConnection(let address): events.append(.openConnection(to: address))
            case .closeConnection(let path): events.append(.closeConnection(path))
            }
        }
    }

    mutating func handleEarly(_ bytes: [UInt8], from path: NetworkPath, at now: Instant) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
        defer { copy.deallocate() }
        copy.copyBytes(from: bytes)
        handle(copy, from: path, at: now)
    }

    public mutating func advance(to now: Instant) {
        transport?.value.advance(to: now)
        sender?.value.advance(to: now)
        followPauses()
        follow(at: now)
    }

    public var deadline: Instant? {
        mutating get {
            guard let transport else { return nil }
            var deadline = transport.value.deadline
            if transport.value.canSend {
                deadline = Instant.earlier(deadline, sender?.value.deadline)
                deadline = Instant.earlier(deadline, drain?.link.end)
                deadline = Instant.earlier(deadline, receiver?.deadline)
                deadline = Instant.earlier(deadline, videoBuffer?.value.deadline)
                deadline = Instant.earlier(deadline, audioBuffer?.value.deadline)
            }
            return deadline
        }
    }

    public mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        let (packets, bytes) = (batch.count, batch.byteCount)
        defer {
            traffic.packetsSent += batch.count - packets
            traffic.bytesSent += batch.byteCount - bytes
        }
        return fill(&batch, at: now)
    }

    mutating func fill(_ batch: inout DatagramBatch, at now: Instant) -> Bool {
        guard transport != nil else { return false }
        if transport!.value.poll(into: &batch, at: now) { return true }
        guard transport!.value.isConnected else { return false }
        let wallTime = configuration.clock.wallTime(at: now)
        catchUp(at: now)
        leaveOutStale(at: now)
        followDrain(at: now)
        if localAudio != nil, send(.audio, from: localAudio!.value.log, localAudio!.value.captureClock, &batch, now) {
            return true
        }
        if sendVideo(&batch, now) { return true }
        if sender?.value.pollReports(through: &transport!.value, into: &batch, wallTime: wallTime, at: now) == true {
            return true
        }
        return receiver?.poll(through: &transport!.value, into: &batch, wallTime: wallTime, at: now) ?? false
    }

    /// How old a key frame may be to go on with.
    static let keyFrameAge = TimeSpan.milliseconds(500)

    /// After a time without a way to the platform the logs may have gone on past what was sent: then sound goes on with
    /// what comes next, and video with the next key frame.
    mutating func catchUp(at now: Instant) {
        guard transport!.value.canSend else { return }
        if let localAudio, let track = sender?.value.audio, track.pointee.stream.hasFallenBehind(localAudio.value.log) {
            track.pointee.stream.beginAtEnd(of: localAudio.value.log)
        }
        for layer in localLayers.indices { catchUp(layer: layer, at: now) }
    }

    mutating func catchUp(layer: Int, at now: Instant) {
        let local = localLayers[layer]
        guard let stream = sender?.value.layer(layer)?.pointee.stream else { return }
        if stream.hasFallenBehind(local.value.log) {
            sender?.value.layer(layer)?.pointee.stream.pause()
            noteKeyFrameRequests(1 << UInt8(layer))
        }
        if stream.position == nil || stream.hasFallenBehind(local.value.log),
            let keyFrame = local.value.log.newestKeyFrame,
            now - local.value.log[keyFrame].arrival < Self.keyFrameAge
        {
            sender?.value.layer(layer)?.pointee.stream.begin(at: keyFrame, in: local.value.log)
        }
    }

    /// Sends what waits of the video, the lowest layer first; true when the batch is full.
    mutating func sendVideo(_ batch: inout DatagramBatch, _ now: Instant) -> Bool {
        guard let first = localLayers.first else { return false }
        if localLayers.count > 1 {
            for layer in localLayers.indices {
                switch sendLayer(layer, &batch, now) {
                case .full: return true
                case .paced: return false
                case .sent, .idle: continue
                }
            }
        }
        return send(.video, from: first.value.log, first.value.captureClock, &batch, now)
    }

    mutating func sendLayer(
        _ layer: Int, _ batch: inout DatagramBatch, _ now: Instant
    ) -> MediaSender.Sending {
        let local = localLayers[layer]
        while true {
            let sending = sender!.value.send(
                layer: layer, from: local.value.log, through: &transport!.value, into: &batch,
                capture: local.value.captureClock, at: now)
            guard case .sent = sending else { return sending }
        }
    }

    /// Sends all that waits of a track; true when the batch is full.
    mutating func send(
        _ type: MediaType, from log: borrowing PacketLog, _ capture: CaptureClock?, _ batch: inout DatagramBatch,
        _ now: Instant
    ) -> Bool {
        let turn = sender?.value.sendAll(
            type, from: log, through: &transport!.value, into: &batch, capture: capture, at: now)
        guard case .full = turn?.end else { return false }
        return true
    }

    public mutating func pathClosed(_ path: NetworkPath, at now: Instant) {
        transport?.value.pathClosed(path, at: now)
        follow(at: now)
    }

    /// The driver opened the connection that an event asked for.
    public mutating func pathOpened(_ path: NetworkPath, at now: Instant) {
        transport?.value.pathOpened(path, at: now)
        follow(at: now)
    }
}

extension InboundTrack {
    /// The mapping of the last sender report; nil where that tells no time.
    public var captureClock: CaptureClock? {
        senderReport.flatMap { report in
            guard report.information.ntpTimestamp != 0 else { return nil }
            return CaptureClock(
                timestamp: report.information.rtpTimestamp,
                wallTime: WallTime(ntpTimestamp: report.information.ntpTimestamp), rate: media.format.clockRate)
        }
    }
}
