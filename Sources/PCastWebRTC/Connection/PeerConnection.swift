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

    private var configuration: Configuration
    private var offerMade: Offer
    private var credentials: ICECredentials
    /// Of the offer of a restart that is not answered yet.
    private var restartCredentials: ICECredentials?
    private let tieBreaker: UInt64
    private let seed: UInt64
    private let isPublisher: Bool

    private var transport: Held<SecureTransport>?
    private var sender: MediaSender?
    private var receiver: MediaReceiver?
    /// The video's layers, as agreed on.
    private var localLayers: [Held<LocalTrack>] = []
    private var localAudio: Held<LocalTrack>?
    /// After a pause nothing but a key frame may follow.
    private var awaitsKeyFrame = [false, false, false]
    private var targetTold: Bitrate?
    private var videoBuffer: Held<JitterBuffer>?
    private var audioBuffer: Held<JitterBuffer>?
    private var events: [Event] = []
    private var traffic = TransportTraffic()
    private var generator: TransactionIDGenerator

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

    private static func sections(
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
    private static func layerNames(_ count: Int) -> [String] {
        precondition((1...3).contains(count), "a stream has one to three layers")
        return [[], ["l", "h"], ["l", "m", "h"]][count - 1]
    }

    private static func ssrc(using generator: inout some RandomNumberGenerator) -> UInt32 {
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

    private mutating func prepareMedia(_ media: [NegotiatedMedia]) {
        if isPublisher {
            sender = MediaSender(media, cname: configuration.cname, playoutDelay: nil, using: &generator)
            for layer in 0..<(sender?.layerCount ?? 0) {
                guard let track = sender?.layer(layer) else { continue }
                let local = Held(LocalTrack(codec: track.media.codec, using: &generator))
                sender?.changeStream(of: layer) { $0.beginAtEnd(of: local.value.log) }
                localLayers.append(local)
            }
            if let track = sender?.audio {
                localAudio = Held(LocalTrack(codec: track.media.codec, using: &generator))
                sender?.audio?.stream.beginAtEnd(of: localAudio!.value.log)
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
        guard transport?.value.isConnected == true, sender?.isPaused(type, layer: layer) == false else { return }
        if type == .video, localLayers.indices.contains(layer), awaitsKeyFrame[layer] {
            guard frame.isKeyFrame else { return }
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
        (type == .video ? sender?.video : sender?.audio)?.media.codec
    }

    /// How many layers of video the platform takes; none before its answer.
    public var sendingLayerCount: Int { sender?.layerCount ?? 0 }

    /// The codec agreed on for a track that is received.
    public func receivingCodec(_ type: MediaType) -> Codec? {
        (type == .video ? receiver?.video : receiver?.audio)?.media.codec
    }

    /// What is known of the path that media is sent along; nil for who sends none.
    /// Its target is no more than the platform asks for.
    public var estimate: BandwidthEstimate? {
        guard var estimate = sender?.estimate else { return nil }
        if let limit = sender?.receiverLimit { estimate.target = min(estimate.target, limit) }
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
    public mutating func setWantedBitrate(_ bitrate: Bitrate) { sender?.wantedBitrate = bitrate }

    /// What the platform is told of what is sent, beside what the connection knows of itself; see `PublisherReport`.
    public mutating func setPublisherReport(_ report: PublisherReport, at now: Instant) {
        sender?.setPublisherReport(report, at: now)
    }

    /// When something authentic came from the platform last; nil before the connection was up.
    public var lastHeard: Instant? { transport?.value.isConnected == true ? transport!.value.lastHeard : nil }

    // MARK: Receiving

    public mutating func handle(
        _ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant
    ) {
        guard transport != nil else { return }
        traffic.packetsReceived += 1
        traffic.bytesReceived += datagram.count
        switch transport!.value.handle(datagram, from: path, at: now) {
        case .nothing: break
        case .rtp(let length):
            receiveMedia(UnsafeRawBufferPointer(rebasing: datagram[..<length]), at: now)
        case .rtcp(let length):
            receiveControl(UnsafeRawBufferPointer(rebasing: datagram[..<length]), at: now)
        }
        follow(at: now)
    }

    private mutating func receiveMedia(_ packet: UnsafeRawBufferPointer, at now: Instant) {
        guard let media = receiver?.receive(packet, at: now) else { return }
        transport?.value.expectMedia()
        while let recovered = receiver?.takeRecovered() { insert(recovered, of: packet, at: now) }
        insert(media, of: packet, at: now)
    }

    private mutating func insert(
        _ media: MediaReceiver.Packet, of packet: UnsafeRawBufferPointer, at now: Instant
    ) {
        let payload = UnsafeRawBufferPointer(rebasing: packet[media.payload])
        if media.type == .video {
            _ = videoBuffer?.value.insert(
                payload: payload, sequenceNumber: media.sequenceNumber, timestamp: media.timestamp,
                marker: media.marker, at: now)
            if videoBuffer?.value.needsKeyFrame == true { receiver?.requestKeyFrame() }
        } else {
            _ = audioBuffer?.value.insert(
                payload: payload, sequenceNumber: media.sequenceNumber, timestamp: media.timestamp,
                marker: media.marker, at: now)
        }
    }

    private mutating func receiveControl(_ packet: UnsafeRawBufferPointer, at now: Instant) {
        let bytes = Span<UInt8>(_unsafeBytes: packet)
        let wallTime = configuration.clock.wallTime(at: now)
        var reader = RTCPReader()
        var budget = NegativeAcknowledgement.maximumCountPerDatagram
        while let control = reader.next(in: bytes) {
            receiver?.receive(control, in: bytes, wallTime: wallTime, at: now)
            if let roundTrip = receiver?.roundTrip {
                setPatience(roundTrip: roundTrip)
            }
            let requests = sender?.receive(control, in: bytes, budget: &budget, wallTime: wallTime, at: now)
            if isPublisher, case .transportFeedback = control { transport?.value.expectMedia() }
            followPauses()
            if let layers = requests?.layers, layers != 0 { noteKeyFrameRequests(layers) }
        }
        for layer in localLayers.indices {
            sender?.resolveRequests(.video, layer: layer, in: localLayers[layer].value.log, at: now)
        }
        if localAudio != nil { sender?.resolveRequests(.audio, in: localAudio!.value.log, at: now) }
    }

    private mutating func setPatience(roundTrip: TimeSpan) {
        videoBuffer?.value.patience = RetransmissionPatience.video(roundTripTime: roundTrip)
        guard let media = receiver?.audio?.media, media.feedback.contains(.nack), media.rtxPayloadType != nil else {
            return
        }
        audioBuffer?.value.patience = RetransmissionPatience.audio(roundTripTime: roundTrip)
    }

    /// Once for all who ask before it is told; a resumed video begins with a key frame anyway.
    private mutating func noteKeyFrameRequests(_ layers: UInt8) {
        if localLayers.count > 1 {
            for layer in localLayers.indices where layers & 1 << UInt8(layer) != 0 { noteKeyFrameRequest(of: layer) }
            return
        }
        let isTold = events.contains { $0 == .keyFrameRequested || $0 == .resumed(.video) }
        if !isTold { events.append(.keyFrameRequested) }
    }

    private mutating func noteKeyFrameRequest(of layer: Int) {
        let isTold = events.contains { $0 == .layerNeedsKeyFrame(layer) || $0 == .layerResumed(layer) }
        if !isTold { events.append(.layerNeedsKeyFrame(layer)) }
    }

    private mutating func followPauses() {
        while let event = sender?.pollPauseEvent() {
            switch event {
            case .paused(let type, let layer):
                // What is not sent is not answered.
                transport?.value.expectMedia(false)
                events.append(isOneOfSeveral(type) ? .layerPaused(layer) : .paused(type))
            case .resumed(let type, let layer):
                if type == .video { awaitsKeyFrame[layer] = true }
                events.append(isOneOfSeveral(type) ? .layerResumed(layer) : .resumed(type))
            }
        }
    }

    private func isOneOfSeveral(_ type: MediaType) -> Bool { type == .video && localLayers.count > 1 }

    /// The next frame that arrived whole, of either track; nil when none waits.
    public mutating func pollFrame(at now: Instant) -> Media? {
        if videoBuffer != nil, let output = videoBuffer!.value.poll(at: now) {
            return media(output, codec: videoBuffer!.value.codec, track: receiver?.video, at: now)
        }
        if videoBuffer?.value.needsKeyFrame == true { receiver?.requestKeyFrame() }
        if audioBuffer != nil, let output = audioBuffer!.value.poll(at: now) {
            return media(output, codec: .opus, track: receiver?.audio, at: now)
        }
        return nil
    }

    private mutating func media(
        _ output: JitterBuffer.Output, codec: Codec, track: InboundTrack?, at now: Instant
    ) -> Media {
        switch output {
        case .lost(let gap): return .gap(gap)
        case .frame(let frame):
            if frame.isKeyFrame, codec.mediaType == .video { noteKeyFrame(frame, at: now) }
            let timestamp = UInt32(truncatingIfNeeded: frame.timestamp.ticks)
            let encoded = EncodedFrame(
                codec: codec, bytes: frame.bytes, isKeyFrame: frame.isKeyFrame, timestamp: frame.timestamp,
                captureTime: track?.captureClock?.wallTime(of: timestamp))
            return .frame(encoded, arrival: frame.lastArrival)
        }
    }

    /// Asks the platform to send no more than that of the video; nil lifts the limit.
    public mutating func setReceivingLimit(_ bitrate: Bitrate?, at now: Instant) {
        receiver?.setBitrateLimit(bitrate, at: now)
    }

    /// Asks the publisher for a key frame, as a decoder that has lost its way must.
    public mutating func requestKeyFrame() { receiver?.requestKeyFrame() }

    private mutating func noteKeyFrame(_ frame: JitterBuffer.Frame, at now: Instant) {
        receiver?.keyFrameArrived(sequence: frame.sequenceNumbers.lowerBound, at: now)
    }

    // MARK: Time and output

    private mutating func follow(at now: Instant) {
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
            case .pathChanged: break
            case .away: events.append(.away)
            case .back: events.append(.back)
            case .closed: events.append(.closed)
            case .failed(let failure): events.append(.failed(failure))
            case .openConnection(let address): events.append(.openConnection(to: address))
            case .closeConnection(let path): events.append(.closeConnection(path))
            }
        }
    }

    private mutating func handleEarly(_ bytes: [UInt8], from path: NetworkPath, at now: Instant) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
        defer { copy.deallocate() }
        copy.copyBytes(from: bytes)
        handle(copy, from: path, at: now)
    }

    public mutating func advance(to now: Instant) {
        transport?.value.advance(to: now)
        sender?.advance(to: now)
        followPauses()
        follow(at: now)
    }

    public var deadline: Instant? {
        guard transport != nil else { return nil }
        var deadline = transport!.value.deadline
        if transport!.value.canSend {
            deadline = Instant.earlier(deadline, sender?.deadline)
            deadline = Instant.earlier(deadline, receiver?.deadline)
            deadline = Instant.earlier(deadline, videoBuffer?.value.deadline)
            deadline = Instant.earlier(deadline, audioBuffer?.value.deadline)
        }
        return deadline
    }

    public mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        let (packets, bytes) = (batch.count, batch.byteCount)
        defer {
            traffic.packetsSent += batch.count - packets
            traffic.bytesSent += batch.byteCount - bytes
        }
        return fill(&batch, at: now)
    }

    private mutating func fill(_ batch: inout DatagramBatch, at now: Instant) -> Bool {
        guard transport != nil else { return false }
        if transport!.value.poll(into: &batch, at: now) { return true }
        guard transport!.value.isConnected else { return false }
        let wallTime = configuration.clock.wallTime(at: now)
        catchUp(at: now)
        if localAudio != nil, send(.audio, from: localAudio!.value.log, localAudio!.value.captureClock, &batch, now) {
            return true
        }
        if sendVideo(&batch, now) { return true }
        if sender?.pollReports(through: transport!.value, into: &batch, wallTime: wallTime, at: now) == true {
            return true
        }
        return receiver?.poll(through: transport!.value, into: &batch, wallTime: wallTime, at: now) ?? false
    }

    /// How old a key frame may be to go on with.
    private static let keyFrameAge = TimeSpan.milliseconds(500)

    /// After a time without a way to the platform the logs may have gone on past what was sent: then sound goes on with
    /// what comes next, and video with the next key frame.
    private mutating func catchUp(at now: Instant) {
        guard transport!.value.canSend else { return }
        if let localAudio, sender?.audio?.stream.hasFallenBehind(localAudio.value.log) == true {
            sender?.audio?.stream.beginAtEnd(of: localAudio.value.log)
        }
        for layer in localLayers.indices { catchUp(layer: layer, at: now) }
    }

    private mutating func catchUp(layer: Int, at now: Instant) {
        let local = localLayers[layer]
        guard let stream = sender?.layer(layer)?.stream else { return }
        if stream.hasFallenBehind(local.value.log) {
            sender?.changeStream(of: layer) { $0.pause() }
            noteKeyFrameRequests(1 << UInt8(layer))
        }
        if stream.position == nil || stream.hasFallenBehind(local.value.log),
            let keyFrame = local.value.log.newestKeyFrame,
            now - local.value.log[keyFrame].arrival < Self.keyFrameAge
        {
            sender?.changeStream(of: layer) { $0.begin(at: keyFrame, in: local.value.log) }
        }
    }

    /// Sends what waits of the video, the lowest layer first; true when the batch is full.
    private mutating func sendVideo(_ batch: inout DatagramBatch, _ now: Instant) -> Bool {
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

    private mutating func sendLayer(
        _ layer: Int, _ batch: inout DatagramBatch, _ now: Instant
    ) -> MediaSender.Sending {
        let local = localLayers[layer]
        while true {
            let sending = sender!.send(
                layer: layer, from: local.value.log, through: transport!.value, into: &batch,
                capture: local.value.captureClock, at: now)
            guard case .sent = sending else { return sending }
        }
    }

    /// Sends all that waits of a track; true when the batch is full.
    private mutating func send(
        _ type: MediaType, from log: borrowing PacketLog, _ capture: CaptureClock?, _ batch: inout DatagramBatch,
        _ now: Instant
    ) -> Bool {
        while true {
            switch sender?.send(type, from: log, through: transport!.value, into: &batch, capture: capture, at: now) {
            case .sent: continue
            case .full: return true
            case .idle, .paced, nil: return false
            }
        }
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

    // MARK: Restart

    /// Another offer, with new ICE credentials and everything else as it was: what restarts ICE where the platform is
    /// not heard any more. Nil before the first answer.
    ///
    /// - Parameter generator: a secure one.
    public mutating func makeRestartOffer(using generator: inout some RandomNumberGenerator) -> SessionDescription? {
        guard transport != nil else { return nil }
        let credentials = ICECredentials.random(using: &generator)
        restartCredentials = credentials
        offerMade = offerMade.restarted(credentials)
        return offerMade.description
    }

    /// Takes in the platform's answer to the last offer of a restart: its credentials and candidates. Keys, tracks and
    /// packets' numbers go on, and until a check succeeds so does the present path (ICE12).
    ///
    /// - Throws: `SDPError` when the answer does not fit; nothing has changed then.
    public mutating func acceptRestart(_ answer: SessionDescription, at now: Instant) throws(SDPError) {
        guard let local = restartCredentials, transport != nil else { throw .answerDoesNotMatchOffer }
        let remote = try offerMade.accept(answer).remoteTransport
        guard let theirs = ICECredentials(ufrag: remote.iceUfrag, password: remote.icePwd) else {
            throw .missingICECredentials
        }
        restartCredentials = nil
        credentials = local
        transport?.value.restart(local: local, remote: theirs, at: now)
        for candidate in remote.candidates.compactMap({ ICECandidate($0) }) {
            transport?.value.addRemoteCandidate(candidate, at: now)
        }
        follow(at: now)
    }

    /// The driver's sockets have these addresses from now on: a network is gone, or there is a new one.
    public mutating func setLocalAddresses(_ addresses: [TransportAddress], at now: Instant) {
        configuration.addresses = addresses
        transport?.value.setLocalAddresses(addresses, at: now)
        follow(at: now)
    }

    /// A tunnel to the platform (TURN) begins at this loopback address: it is tried where nothing else works.
    public mutating func addRelay(_ address: TransportAddress, at now: Instant) {
        guard let port = configuration.addresses.first?.port else { return }
        let local = TransportAddress(ip: address.ip, port: port)
        transport?.value.addRelay(address, from: local, at: now)
    }

    /// The tunnel is gone.
    public mutating func removeRelay(_ address: TransportAddress, at now: Instant) {
        transport?.value.removeRelay(address, at: now)
        follow(at: now)
    }

    /// The driver could not open it.
    public mutating func connectionFailed(to address: TransportAddress) {
        transport?.value.connectionFailed(to: address)
    }

    public mutating func pollEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    /// Says goodbye; what `poll` gives afterwards is the last.
    public mutating func close(at now: Instant) { transport?.value.close(at: now) }

    /// Counts and measures since the beginning, under WebRTC's own names.
    public func stats(at now: Instant) -> RTCStatsReport {
        var report = ConnectionStats(clock: configuration.clock, now: now)
        report.add(sender)
        report.add(receiver, video: videoBuffer?.value.statistics, audio: audioBuffer?.value.statistics)
        report.addTransport(
            traffic, path: transport?.value.path, profile: transport?.value.profile, lastHeard: lastHeard,
            roundTrip: statistics.roundTrip, estimate: estimate?.target)
        return report.report
    }

    /// Counts and measures since the beginning.
    public var statistics: PeerConnectionStatistics {
        PeerConnectionStatistics(
            sender: sender, receiver: receiver, video: videoBuffer?.value.statistics,
            audio: audioBuffer?.value.statistics,
            checkRoundTrip: transport?.value.roundTrip)
    }
}

extension InboundTrack {
    /// The mapping of the last sender report.
    public var captureClock: CaptureClock? {
        senderReport.map { report in
            CaptureClock(
                timestamp: report.information.rtpTimestamp,
                wallTime: WallTime(ntpTimestamp: report.information.ntpTimestamp), rate: media.format.clockRate)
        }
    }
}
