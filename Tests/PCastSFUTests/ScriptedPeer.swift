import PCastCore
import PCastRTP
import PCastSFU
import PCastWebRTC

/// A peer whose packets are made by the test. ICE, DTLS and SRTP are real.
final class ScriptedPeer: NetworkPeer {
    /// A packet as it arrived, after decryption.
    struct Packet {
        let header: RTPHeader
        let payload: [UInt8]
        let arrival: Instant
        /// The whole packet with its header.
        let bytes: [UInt8]
    }

    let id: PeerID
    let addresses: [TransportAddress]
    var link: VirtualNetwork.Link
    let session: NegotiatedSession
    private var transport: SecureTransport
    private(set) var events: [SecureTransport.Event] = []
    private(set) var packets: [Packet] = []
    /// The compound packets that arrived.
    private(set) var control: [(bytes: [UInt8], arrival: Instant)] = []
    private var queue: [[UInt8]] = []

    init(
        _ id: PeerID, _ transport: consuming SecureTransport, session: NegotiatedSession,
        addresses: [TransportAddress], link: VirtualNetwork.Link
    ) {
        self.id = id
        self.transport = transport
        self.session = session
        self.addresses = addresses
        self.link = link
    }

    var isConnected: Bool { transport.isConnected }
    var deadline: Instant? { transport.deadline }

    func media(_ type: MediaType) -> NegotiatedMedia {
        guard let media = session.media.first(where: { $0.type == type }) else {
            fatalError("the track does not exist")
        }
        return media
    }

    // MARK: Sending

    /// Queues a media packet for the next `deliverAll`.
    func say(
        _ type: MediaType, sequence: UInt16, timestamp: UInt32, payload: [UInt8], marker: Bool = true,
        ssrc: UInt32? = nil, payloadType: UInt8? = nil, paddingSize: Int = 0,
        transportSequenceNumber: UInt16? = nil, rid: String? = nil,
        extensions: RTPExtensionValues = RTPExtensionValues()
    ) {
        let media = media(type)
        let header = RTPHeader(
            marker: marker, payloadType: payloadType ?? media.payloadType, sequenceNumber: sequence,
            timestamp: timestamp, ssrc: ssrc ?? media.localSSRC ?? 1, paddingSize: paddingSize)
        var values = extensions
        if let transportSequenceNumber { values.transportSequenceNumber = transportSequenceNumber }
        if let rid { values.rid = RTPStreamIdentifier(rid) }
        protect { room in
            let layout = header.write(into: room, extensions: values, map: media.extensionMap)
            room.extracting(layout.size...).copyBytes(from: payload)
            header.writePadding(into: room, at: layout.size + payload.count)
            return transport.protectRTP(
                room, length: layout.size + payload.count + paddingSize, headerSize: layout.size)
        }
    }

    func report(_ body: (inout RTCPWriter) -> Void) {
        protect { room in
            var writer = RTCPWriter(room.extracting(..<1200))
            body(&writer)
            return transport.protectRTCP(room, length: writer.count)
        }
    }

    /// Queues a packet of arbitrary bytes, of which the first twelve form the header.
    func say(plain bytes: [UInt8]) {
        protect { room in
            room.copyBytes(from: bytes)
            return transport.protectRTP(room, length: bytes.count, headerSize: 12)
        }
    }

    func report(plain bytes: [UInt8]) {
        protect { room in
            room.copyBytes(from: bytes)
            return transport.protectRTCP(room, length: bytes.count)
        }
    }

    private func protect(_ body: (MutableByteView) -> Int) {
        var bytes = [UInt8](repeating: 0, count: 2048)
        let length = bytes.withMutableByteView { body($0) }
        if length > 0 { queue.append(Array(bytes[..<length])) }
    }

    /// Removes and returns the packets that are queued.
    func takeQueue() -> [[UInt8]] {
        defer { queue.removeAll() }
        return queue
    }

    /// Ends the connection with close_notify.
    func close(at now: Instant) { transport.close(at: now) }

    // MARK: Receiving

    func hears(_ isWanted: (RTCPPacket) -> Bool) -> Int {
        control.reduce(0) { total, compound in
            var count = 0
            var reader = RTCPReader()
            while let packet = reader.next(in: compound.bytes.span) { count += isWanted(packet) ? 1 : 0 }
            return total + count
        }
    }

    var pictureLossIndications: Int {
        hears { if case .pictureLossIndication = $0 { true } else { false } }
    }

    /// The pause and resume messages that arrived, in order.
    var pauseMessages: [(message: PauseResume.Message, arrival: Instant)] {
        control.flatMap { compound in
            var messages: [(PauseResume.Message, Instant)] = []
            var reader = RTCPReader()
            while let packet = reader.next(in: compound.bytes.span) {
                guard case .pauseResume(let pauses) = packet else { continue }
                var entries = PauseResume.Reader(pauses)
                while let message = entries.next(in: compound.bytes.span) {
                    messages.append((message, compound.arrival))
                }
            }
            return messages
        }
    }

    func packets(_ ssrc: UInt32?) -> [Packet] { packets.filter { $0.header.ssrc == ssrc } }

    // MARK: Machine

    func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant) {
        switch transport.handle(datagram, from: path, at: now) {
        case .nothing: break
        case .rtcp(let length): control.append((Array(datagram[..<length]), now))
        case .rtp(let length):
            let bytes = Array(datagram[..<length])
            guard let header = RTPHeader.parse(bytes.span) else { return }
            let payload = Array(bytes[header.payloadRange(packetSize: bytes.count)])
            packets.append(Packet(header: header, payload: payload, arrival: now, bytes: bytes))
        }
    }

    func advance(to now: Instant) { transport.advance(to: now) }

    func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        if transport.poll(into: &batch, at: now) { return true }
        guard let path = transport.path else { return false }
        while !queue.isEmpty {
            guard batch.append(queue[0], to: path) else { return true }
            queue.removeFirst()
        }
        return false
    }

    func collect(at now: Instant) {
        while let event = transport.pollEvent() { events.append(event) }
    }

    func takeConnectionToOpen() -> TransportAddress? { nil }
    func pathOpened(_ path: NetworkPath, at now: Instant) { transport.pathOpened(path, at: now) }
    func pathClosed(_ path: NetworkPath, at now: Instant) { transport.pathClosed(path, at: now) }
}

extension VirtualNetwork {
    /// Adds a scripted publisher of video and, optionally, audio.
    ///
    /// The handshake presents `certificate`, while the offer has the fingerprint of the network's certificate.
    func scriptPublisher(
        _ codec: Codec = .vp8, audio: Bool = false, feedback: RTCPFeedback = .all, ssrc: UInt32 = 0x1111,
        layers: [String] = [], certificate: DTLSCertificate = VirtualNetwork.certificate,
        addresses: [TransportAddress]? = nil
    ) throws -> ScriptedPeer {
        let msid = MediaStreamIdentification(stream: "s", track: "t")
        let video = OutgoingSource(ssrc: ssrc, rtxSSRC: ssrc + 1, cname: "c", msid: msid)
        let audioFrame = OutgoingSource(ssrc: ssrc + 2, cname: "c", msid: msid)
        var sections = [
            OfferSection(type: .video, direction: .sendOnly, codecs: [codec], source: video, layers: layers)
        ]
        if audio { sections.append(OfferSection(type: .audio, direction: .sendOnly, source: audioFrame)) }
        return try script(sections, feedback, certificate, addresses) { id, offer in
            try sfu.publish(id, stream: Self.stream, offer: offer, at: now)
        }
    }

    func scriptViewer(
        feedback: RTCPFeedback = .all, addresses: [TransportAddress]? = nil, terms: PeerOptions = PeerOptions(),
        codecs: [Codec]? = nil
    ) throws -> ScriptedPeer {
        let sections = [
            OfferSection(type: .video, direction: .receiveOnly, codecs: codecs),
            OfferSection(type: .audio, direction: .receiveOnly),
        ]
        return try script(sections, feedback, Self.certificate, addresses) { id, offer in
            try sfu.view(id, stream: Self.stream, offer: offer, terms: terms, at: now)
        }
    }

    private func script(
        _ sections: [OfferSection], _ feedback: RTCPFeedback, _ certificate: DTLSCertificate,
        _ addresses: [TransportAddress]?, answer: (PeerID, SessionDescription) throws -> SessionDescription
    ) throws -> ScriptedPeer {
        let credentials = ICECredentials.random(using: &generator)
        let offer = Offer(
            sections: sections, originSessionID: generator.next() >> 1,
            transport: TransportDescription(
                iceUfrag: credentials.ufrag, icePwd: credentials.password,
                fingerprint: Self.certificate.fingerprint.attribute, candidates: []),
            capabilities: MediaCapabilities(feedback: feedback))
        let id = PeerID(generator.next())
        let session = try offer.accept(answer(id, offer.description))
        return try scripted(
            id, credentials: credentials, session: session, certificate: certificate, addresses: addresses)
    }

    /// Adds a peer for a negotiated session.
    func scripted(
        _ id: PeerID, credentials: ICECredentials, session: NegotiatedSession,
        certificate: DTLSCertificate = VirtualNetwork.certificate, addresses: [TransportAddress]? = nil
    ) throws -> ScriptedPeer {
        let remote = session.remoteTransport
        guard let theirs = ICECredentials(ufrag: remote.iceUfrag, password: remote.icePwd) else {
            throw SDPError.missingICECredentials
        }
        let addresses = addresses ?? [newAddress()]
        var agent = ICEControllingAgent(
            local: credentials, remote: theirs, tieBreaker: generator.next(), addresses: addresses,
            seed: generator.next())
        for candidate in remote.candidates.compactMap({ ICECandidate($0) }) {
            agent.addRemoteCandidate(candidate, at: now)
        }
        let handshake = OpenSSLHandshake(
            certificate: certificate, role: session.isDTLSClient ? .client : .server,
            expectedFingerprints: remote.fingerprints.compactMap { DTLSFingerprint($0) })
        let transport = SecureTransport(controlling: agent, handshake: handshake, seed: generator.next())
        let peer = ScriptedPeer(id, transport, session: session, addresses: addresses, link: link)
        add(peer)
        return peer
    }
}
