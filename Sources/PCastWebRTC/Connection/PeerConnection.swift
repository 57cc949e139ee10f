public import PCastCore
public import PCastRTP

/// A client's connection to a platform, which publishes or views one stream.
///
/// It is created with an offer, receives the answer, and is driven as a `DatagramMachine`. Encoded frames go in through
/// ``send(_:layer:at:)`` and come out of ``pollFrame(at:)``; events come out of ``pollEvent()``.
public struct PeerConnection: ~Copyable, DatagramMachine {
    /// The direction and the media of a connection.
    public enum Purpose: Sendable {
        /// Send a stream with a video codec (nil for no video) and audio. The video has 1 to 3 simulcast layers.
        case publish(video: Codec?, audio: Bool, layers: Int = 1)
        /// Receive a stream.
        case view(video: Bool, audio: Bool)
    }

    /// The parameters of a connection.
    public struct Configuration: Sendable {
        /// The certificate for DTLS.
        public var certificate: DTLSCertificate
        /// The addresses of the driver's sockets.
        public var addresses: [TransportAddress]
        /// The relation of monotonic time to UTC, for the NTP timestamps of sender reports.
        public var clock: WallClockReference
        /// The codecs, header extensions and feedback to offer. A viewer offers all other video codecs after these.
        public var capabilities: MediaCapabilities
        /// The canonical name in RTCP, which identifies this endpoint; random (RFC 7022).
        public var cname: String

        /// Creates a configuration.
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

    /// A change of the connection, or a request to the application or the driver.
    public enum Event: Hashable, Sendable {
        /// Keys are established and media can be sent.
        case connected(SRTPProfile)
        /// A subscriber needs a key frame, so the encoder must create one.
        case keyFrameRequested
        /// The platform has paused a track, because it has no subscriber. Its frames are not sent and need not be
        /// encoded (RFC 7728).
        case paused(MediaType)
        /// The platform has resumed a track. Video frames before the next key frame are not sent.
        case resumed(MediaType)
        /// A subscriber needs a key frame of a layer. With several layers, the layer events replace the three above for
        /// video.
        case layerNeedsKeyFrame(Int)
        /// The platform has paused a layer.
        case layerPaused(Int)
        /// The platform has resumed a layer.
        case layerResumed(Int)
        /// Nothing was received for 5 s, or something was received again.
        case away, back
        /// The platform has closed the connection.
        case closed
        /// The connection has failed.
        case failed(TransportFailure)
        /// The driver must open a TCP connection and call ``pathOpened(_:at:)`` or ``connectionFailed(to:)``.
        case openConnection(to: TransportAddress)
        /// The driver must close a TCP connection that is not used any more.
        case closeConnection(NetworkPath)
    }

    /// Received media.
    public enum Media: Sendable {
        /// A complete frame and the time at which its last packet arrived.
        case frame(EncodedFrame, arrival: Instant)
        /// A gap of lost audio that the decoder must conceal.
        case gap(JitterBuffer.Gap)
    }

    /// The parameters, whose addresses may change.
    var configuration: Configuration
    /// The last offer.
    var offerMade: Offer
    /// The local ICE credentials in use.
    var credentials: ICECredentials
    /// The local ICE credentials of a restart offer without an answer; nil if there is none.
    var restartCredentials: ICECredentials?
    /// The tie-breaker of the ICE role (RFC 8445, section 16.1).
    let tieBreaker: UInt64
    /// The seed for ICE transaction IDs.
    let seed: UInt64
    let isPublisher: Bool

    var transport: UniqueBox<SecureTransport>?
    var sender: UniqueBox<MediaSender>?
    var receiver: MediaReceiver?
    /// The negotiated video layers, the lowest first.
    var localLayers: [UniqueBox<LocalTrack>] = []
    var localAudio: UniqueBox<LocalTrack>?
    /// Whether each layer drops frames until the next key frame, as after a pause.
    var awaitsKeyFrame = [false, false, false]
    /// The state while the link drains; nil if video is sent.
    var drain: VideoPause?
    /// The last target bit rate that ``pollEstimate()`` returned.
    var reportedTarget: Bitrate?
    var videoBuffer: UniqueBox<JitterBuffer>?
    var audioBuffer: UniqueBox<JitterBuffer>?
    var events: [Event] = []
    var traffic = TransportTraffic()
    var generator: TransactionIDGenerator

    /// Creates a connection and its offer.
    ///
    /// - Parameters:
    ///   - purpose: The direction and the media.
    ///   - configuration: The parameters.
    ///   - generator: A cryptographically secure generator, because it creates passwords.
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
        // A viewer does not pause what it watches; it disconnects instead.
        if !isPublisher {
            capabilities.feedback.subtract([.pause, .pauseWithoutWait])
            let others = [.vp9, .av1, .h265].filter { !configuration.capabilities.codecs.contains($0) }
            capabilities.codecs += others
        }
        let transport = TransportDescription(
            iceUfrag: credentials.ufrag, icePwd: credentials.password,
            fingerprint: configuration.certificate.fingerprint.attribute, candidates: [], hasAllCandidates: false)
        // As the DTLS client, the platform sends media together with its Finished message, a round trip earlier than as
        // the server (RFC 7918).
        offerMade = Offer(
            sections: Self.sections(purpose, cname: configuration.cname, using: &generator),
            originSessionID: generator.next() >> 1, transport: transport, capabilities: capabilities,
            setup: isPublisher ? .actpass : .passive)
    }

    /// Returns the media sections of the offer.
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

    /// Returns the RIDs of simulcast layers, the lowest first. One layer has none.
    static func layerNames(_ count: Int) -> [String] {
        precondition((1...3).contains(count), "a stream must have one to three layers")
        return [[], ["l", "h"], ["l", "m", "h"]][count - 1]
    }

    /// Returns a random SSRC other than zero.
    static func ssrc(using generator: inout some RandomNumberGenerator) -> UInt32 {
        UInt32.random(in: 1...UInt32.max, using: &generator)
    }

    /// The last offer, which is sent to the platform.
    public var offer: SessionDescription { offerMade.description }

    /// Applies the answer and begins to connect.
    ///
    /// - Precondition: The offer has not been answered before.
    ///
    /// - Parameters:
    ///   - answer: The answer of the platform.
    ///   - now: The current time.
    /// - Throws: `SDPError` if the answer does not match the offer.
    public mutating func accept(_ answer: SessionDescription, at now: Instant) throws(SDPError) {
        precondition(transport == nil, "an offer must be answered only once")
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
        transport = UniqueBox(SecureTransport(controlling: agent, handshake: handshake, seed: generator.next()))
        prepareMedia(session.media)
    }

    /// Creates the tracks that the answer accepts.
    mutating func prepareMedia(_ media: [NegotiatedMedia]) {
        if isPublisher {
            sender = UniqueBox(MediaSender(media, cname: configuration.cname, playoutDelay: nil, using: &generator))
            for layer in 0..<(sender?.value.layerCount ?? 0) {
                guard let track = sender?.value.layer(layer) else { continue }
                let local = UniqueBox(LocalTrack(codec: track.pointee.media.codec, using: &generator))
                sender?.value.layer(layer)?.pointee.stream.beginAtEnd(of: local.value.log)
                localLayers.append(local)
            }
            if let track = sender?.value.audio {
                localAudio = UniqueBox(LocalTrack(codec: track.pointee.media.codec, using: &generator))
                track.pointee.stream.beginAtEnd(of: localAudio!.value.log)
            }
        } else {
            receiver = MediaReceiver(
                media, reporterSSRC: Self.ssrc(using: &generator), cname: configuration.cname,
                measuresRoundTrip: true)
            if let track = receiver?.video { videoBuffer = UniqueBox(JitterBuffer(codec: track.media.codec)) }
            if receiver?.audio != nil { audioBuffer = UniqueBox(JitterBuffer(codec: .opus)) }
        }
    }

    // MARK: Sending

    /// Sends a frame.
    ///
    /// A frame is dropped if its track was not negotiated or is paused, or if the connection is not established.
    ///
    /// - Parameters:
    ///   - frame: The frame.
    ///   - layer: The index of the video layer, the lowest first; ignored for audio.
    ///   - now: The current time.
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

    /// Returns the negotiated codec of a sent track; nil if the platform rejected it or has not answered.
    public func sendingCodec(_ type: MediaType) -> Codec? {
        (type == .video ? sender?.value.video : sender?.value.audio)?.pointee.media.codec
    }

    /// The number of negotiated video layers; 0 before the answer.
    public var sendingLayerCount: Int { sender?.value.layerCount ?? 0 }

    /// Returns the codec of a received track, which may change while the stream continues; nil if there is none.
    public func receivingCodec(_ type: MediaType) -> Codec? {
        (type == .video ? receiver?.video : receiver?.audio)?.codec
    }

    /// The bandwidth estimate of the sending path; nil if the connection does not send. Its target is at most the limit
    /// that the platform requested (REMB).
    public var estimate: BandwidthEstimate? {
        guard var estimate = sender?.value.estimate else { return nil }
        if let limit = sender?.value.receiverLimit { estimate.target = min(estimate.target, limit) }
        return estimate
    }

    /// Returns the bandwidth estimate if its target has changed by at least 1 % since the last call; nil otherwise.
    public mutating func pollEstimate() -> BandwidthEstimate? {
        guard let estimate, transport?.value.isConnected == true else { return nil }
        let target = estimate.target
        if let reported = reportedTarget {
            let step = abs(reported.bitsPerSecond - target.bitsPerSecond)
            guard step * 100 >= reported.bitsPerSecond else { return nil }
        }
        reportedTarget = target
        return estimate
    }

    /// Sets the bit rate that would be sent if bandwidth were unlimited, for all tracks together and including headers.
    public mutating func setDesiredBitrate(_ bitrate: Bitrate) { sender?.value.desiredBitrate = bitrate }

    /// Sets the values of the application that are reported to the platform in addition to those of the connection. See
    /// `PublisherReport`.
    public mutating func setPublisherReport(_ report: PublisherReport, at now: Instant) {
        sender?.value.setPublisherReport(report, at: now)
    }

    /// The time at which the last authenticated datagram arrived; nil if the connection is not established.
    public var lastReceivedAt: Instant? { transport?.value.isConnected == true ? transport!.value.lastReceivedAt : nil }

    // MARK: Time and output

    /// Converts the events of the transport.
    mutating func follow(at now: Instant) {
        while let event = transport?.value.pollEvent() {
            switch event {
            case .connected(let profile):
                events.append(.connected(profile))
                // The round-trip time of the ICE check applies until reports measure it.
                if let roundTrip = transport?.value.roundTrip {
                    receiver?.setRoundTrip(roundTrip)
                    setRetransmissionTimeout(roundTrip: roundTrip)
                }
                while let early = transport?.value.takeEarlyPacket() {
                    handleEarly(early.bytes, from: early.path, at: now)
                }
            case .reachable: break
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

    /// Processes a packet that arrived before the keys.
    mutating func handleEarly(_ bytes: [UInt8], from path: NetworkPath, at now: Instant) {
        var bytes = bytes
        bytes.withMutableByteView { handle($0, from: path, at: now) }
    }

    /// Performs what is due: checks, retransmissions and timeouts.
    public mutating func advance(to now: Instant) {
        transport?.value.advance(to: now)
        sender?.value.advance(to: now)
        followPauses()
        follow(at: now)
    }

    /// The time at which ``advance(to:)`` and ``poll(into:at:)`` must be called; nil if nothing is scheduled.
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

    /// Appends datagrams to a batch. Returns true if the batch is full and more are due.
    public mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        let (packets, bytes) = (batch.count, batch.byteCount)
        defer {
            traffic.packetsSent += batch.count - packets
            traffic.bytesSent += batch.byteCount - bytes
        }
        return fill(&batch, at: now)
    }

    /// Appends datagrams by priority: ICE and DTLS, audio, video, RTCP. Returns true if the batch is full.
    mutating func fill(_ batch: inout DatagramBatch, at now: Instant) -> Bool {
        guard transport != nil else { return false }
        if transport!.value.poll(into: &batch, at: now) { return true }
        guard transport!.value.isConnected else { return false }
        let wallTime = configuration.clock.wallTime(at: now)
        catchUp(at: now)
        dropStaleVideo(at: now)
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

    /// The maximum age of a key frame at which a stream may resume.
    static let keyFrameAge = TimeSpan.milliseconds(500)

    /// Restarts streams whose unsent packets have left the log, e.g. after a time without a path. Audio resumes with
    /// the next packet, and video with the next key frame.
    mutating func catchUp(at now: Instant) {
        guard transport!.value.canSend else { return }
        if let localAudio, let track = sender?.value.audio, track.pointee.stream.isBehindLog(localAudio.value.log) {
            track.pointee.stream.beginAtEnd(of: localAudio.value.log)
        }
        for layer in localLayers.indices { catchUp(layer: layer, at: now) }
    }

    /// Restarts the stream of a layer at the newest key frame if that is recent, and otherwise requests one.
    mutating func catchUp(layer: Int, at now: Instant) {
        let local = localLayers[layer]
        guard let track = sender?.value.layer(layer) else { return }
        if track.pointee.stream.isBehindLog(local.value.log) {
            track.pointee.stream.pause()
            noteKeyFrameRequests(1 << UInt8(layer))
        }
        if track.pointee.stream.isPaused, let keyFrame = local.value.log.newestKeyFrame,
            now - local.value.log[keyFrame].arrival < Self.keyFrameAge
        {
            track.pointee.stream.begin(at: keyFrame, in: local.value.log)
        }
    }

    /// Sends the queued video packets, the lowest layer first. Returns true if the batch is full.
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

    /// Sends the queued packets of a layer until the log is empty, the pacer stops it, or the batch is full.
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

    /// Sends the queued packets of a track. Returns true if the batch is full.
    mutating func send(
        _ type: MediaType, from log: borrowing PacketLog, _ capture: CaptureClock?, _ batch: inout DatagramBatch,
        _ now: Instant
    ) -> Bool {
        let result = sender?.value.sendAll(
            type, from: log, through: &transport!.value, into: &batch, capture: capture, at: now)
        guard case .full = result?.end else { return false }
        return true
    }

    /// Reports that a TCP connection was closed by the peer or an error.
    public mutating func pathClosed(_ path: NetworkPath, at now: Instant) {
        transport?.value.pathClosed(path, at: now)
        follow(at: now)
    }

    /// Reports that the driver opened the connection of an ``Event/openConnection(to:)`` event.
    public mutating func pathOpened(_ path: NetworkPath, at now: Instant) {
        transport?.value.pathOpened(path, at: now)
        follow(at: now)
    }
}

extension InboundTrack {
    /// The mapping from RTP timestamps to wall-clock time in the last sender report; nil if there is none or it has no
    /// time.
    package var captureClock: CaptureClock? {
        senderReport.flatMap { report in
            guard report.information.ntpTimestamp != 0 else { return nil }
            return CaptureClock(
                timestamp: report.information.rtpTimestamp,
                wallTime: WallTime(ntpTimestamp: report.information.ntpTimestamp), rate: media.format.clockRate)
        }
    }
}
