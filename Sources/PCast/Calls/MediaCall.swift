import PCastCore
import PCastIO
import PCastRTP
import PCastWebRTC
import Synchronization

/// The media connection of one stream: a `PeerConnection` with its own event loop and UDP port.
final class MediaCall: Sendable {
    /// A change of the connection.
    enum Event: Hashable, Sendable {
        /// Media flows from now on.
        case connected
        /// A subscriber needs a key frame.
        case keyFrameRequested
        /// Nobody subscribes to this type of media any more.
        case paused(MediaType)
        /// Somebody subscribes to this type of media again. Video has to resume with a key frame.
        case resumed(MediaType)
        /// A subscriber needs a key frame of one of several layers of video.
        case layerNeedsKeyFrame(Int)
        /// Nobody subscribes to this layer any more.
        case layerPaused(Int)
        /// Somebody subscribes to this layer again.
        case layerResumed(Int)
        /// Nothing is received from the platform for the moment (`away`), or packets are received again (`back`).
        case away, back
        /// The platform closed the connection.
        case closed
        /// The connection failed. The reason is a text for people.
        case failed(String)
    }

    /// The first offer for the platform.
    let offer: String

    /// The changes of the connection, for one reader. The stream ends with the call.
    let events: AsyncStream<Event>

    let loop: EventLoop<PeerConnection>
    let purpose: PeerConnection.Purpose
    /// Joins the timestamps of successive connections to one timeline.
    let splice: SharedSplice
    private let happened: AsyncStream<PeerConnection.Event>.Continuation
    let restarting = ICERestarting()
    let turnFallback = TURNFallback()
    private let agreed = Mutex<Set<MediaType>>([])
    private let agreedLayers = Atomic(1)
    /// The statistics at the time at which the call was closed.
    private let lastStatistics = Mutex<PeerConnectionStatistics?>(nil)
    private let lastStats = Mutex(RTCStatsReport())

    /// Creates a call, which connects after its answer is accepted.
    ///
    /// - Parameters:
    ///   - purpose: The tracks to send and receive.
    ///   - platform: The address of the platform, which decides the local addresses.
    ///   - estimated: A function that receives each change of the available bandwidth. It runs on the loop's thread and
    ///     must not block it.
    ///   - received: A function that receives the media. It runs on the loop's thread and must not block it.
    /// - Throws: `PCastError` with the status `failed` if no certificate or socket can be made.
    init(
        _ purpose: PeerConnection.Purpose, at platform: PlatformAddress,
        estimated: @escaping @Sendable (BandwidthEstimate) -> Void = { _ in },
        received: @escaping @Sendable (PeerConnection.Media) -> Void
    ) throws(PCastError) {
        let certificate = try ProcessCertificate.get()
        let (raw, happened) = AsyncStream.makeStream(of: PeerConnection.Event.self)
        var offer = ""
        let splice = SharedSplice(TimelineSplice())
        self.splice = splice
        self.purpose = purpose
        do throws(IOError) {
            loop = try EventLoop(
                name: "call", listen: try LocalAddresses.toListen(for: platform), tcpListen: false,
                makeMachine: { bound in
                    let machine = Self.machine(for: purpose, certificate, bound)
                    offer = machine.offer.text
                    return machine
                },
                afterIteration: { machine, now in
                    while let media = machine.pollFrame(at: now) {
                        received(splice.withLock { $0.map(media, at: now) })
                    }
                    if let estimate = machine.pollEstimate() { estimated(estimate) }
                    while let event = machine.pollEvent() { happened.yield(event) }
                },
                onAddressChange: { machine, bound, now in
                    machine.setLocalAddresses(LocalAddresses.candidates(of: bound), at: now)
                })
        } catch {
            throw PCastError(.failed, .media, "the media connection could not be started: \(error)")
        }
        self.offer = offer
        self.happened = happened
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        self.events = events
        let (restarting, turnFallback) = (restarting, turnFallback)
        Task { [weak loop] in
            for await event in raw {
                await Self.follow(event, on: loop, continuation: continuation)
                restarting.follow(event, on: loop)
                turnFallback.follow(event)
            }
            restarting.stop()
            turnFallback.close()
            continuation.finish()
        }
    }

    /// Sets the function that restarts ICE when nothing is received from the platform.
    ///
    /// - Parameter exchange: A function that sends an offer to the platform and returns the answer; nil if that failed.
    func restartsICE(by exchange: @escaping ICERestarting.Exchange) { restarting.setExchange(exchange) }

    deinit { happened.finish() }

    /// Accepts the platform's answer and begins to connect.
    ///
    /// - Parameters:
    ///   - answer: The session description in SDP.
    ///   - relays: The TURN servers for when the platform cannot be reached directly.
    /// - Throws: `PCastError` with the status `failed` if the answer does not fit the offer.
    func accept(_ answer: String, relays: [TURNServerAddress] = []) async throws(PCastError) {
        do {
            try await apply(try SessionDescription(parsing: answer), relays)
        } catch {
            throw PCastError(
                .failed, .media,
                "the platform's answer is invalid (\(error)): check that the address is that of a PCast platform")
        }
    }

    /// Accepts the answer of a server that is not trusted, and begins to connect. Only permitted candidates are used.
    ///
    /// - Parameters:
    ///   - answer: The session description in SDP.
    ///   - permits: A function that returns whether an address may be reached.
    /// - Throws: `PCastError` with the status `failed` if the answer does not fit the offer, or if no address in it is
    ///   permitted.
    func accept(_ answer: String, permits: (IPAddress) -> Bool) async throws(PCastError) {
        var refused = 0
        do {
            var description = try SessionDescription(parsing: answer)
            for index in description.media.indices {
                description.media[index].candidates.removeAll { text in
                    guard let address = ICECandidate(text)?.transportAddress, !permits(address.ip) else { return false }
                    refused += 1
                    return true
                }
            }
            let hasCandidates = description.media.contains { !$0.candidates.isEmpty }
            if refused == 0 || hasCandidates { return try await apply(description, []) }
        } catch {
            throw PCastError(.failed, .media, "the server's answer is invalid: \(error)")
        }
        throw PCastError(
            .failed, .media, "the server's media addresses are not public, and are not allowed by configuration")
    }

    private func apply(_ description: SessionDescription, _ relays: [TURNServerAddress]) async throws {
        let accepted: Result<Void, SDPError> = try await loop.call { [self] machine, now in
            do throws(SDPError) {
                try machine.accept(description, at: now)
                // This is set on the loop's thread, because the event "connected" may arrive before this function
                // returns.
                let sent = MediaType.allCases.filter { machine.sendingCodec($0) != nil }
                agreed.withLock { $0 = Set(sent) }
                agreedLayers.store(max(machine.sendingLayerCount, 1), ordering: .relaxed)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try accepted.get()
        turnFallback.prepare(relays, answer: description, on: loop)
    }

    /// The types of media that the platform agreed to receive; none before its answer.
    var sentTypes: Set<MediaType> { agreed.withLock { $0 } }

    /// The number of layers of video that the platform receives.
    var sentLayers: Int { agreedLayers.load(ordering: .relaxed) }

    /// Sends a frame. It is dropped before the call is connected and after it is closed.
    ///
    /// - Parameters:
    ///   - frame: The frame.
    ///   - layer: The index of the video layer among those that the platform receives.
    func send(_ frame: EncodedFrame, layer: Int = 0) {
        try? loop.submit { machine, now in machine.send(frame, layer: layer, at: now) }
    }

    /// Sets the bit rate that all tracks together would have on the wire if the path carried it.
    func setDemanded(_ bitrate: Bitrate) {
        try? loop.submit { machine, _ in machine.setDesiredBitrate(bitrate) }
    }

    /// Returns the counters since the call began. After the call was closed they are the last ones; nil if there are
    /// none.
    func statistics() async -> PeerConnectionStatistics? {
        if let fresh = try? await loop.call({ machine, _ in machine.statistics }) { return fresh }
        return lastStatistics.withLock { $0 }
    }

    /// Requests that the platform sends at most this bit rate of video; nil removes the limit.
    func setReceivingLimit(_ bitrate: Bitrate?) {
        try? loop.submit { machine, now in machine.setReceivingLimit(bitrate, at: now) }
    }

    /// Returns the time at which a packet was last received from the platform, and the number of packets sent; nil
    /// after the call was closed.
    func linkActivity() async -> (lastReceivedAt: Instant?, packetsSent: Int)? {
        try? await loop.call { machine, _ in (machine.lastReceivedAt, machine.statistics.packetsSent) }
    }

    /// Sends the publisher's report to the platform, in addition to the connection's own statistics.
    func setPublisherReport(_ report: PublisherReport) {
        try? loop.submit { machine, now in machine.setPublisherReport(report, at: now) }
    }

    /// Returns the statistics of the W3C (webrtc-stats). After the call was closed they are the last ones.
    func stats() async -> RTCStatsReport {
        if let fresh = try? await loop.call({ machine, now in machine.stats(at: now) }) { return fresh }
        return lastStats.withLock { $0 }
    }

    /// Requests a key frame from the publisher.
    func requestKeyFrame() {
        try? loop.submit { machine, _ in machine.requestKeyFrame() }
    }

    /// Returns the codecs of the tracks that the platform agreed to send, video first.
    func receivedCodecs() async -> [Codec] {
        let agreed = try? await loop.call { machine, _ in
            [machine.receivingCodec(.video), machine.receivingCodec(.audio)].compactMap { $0 }
        }
        return agreed ?? []
    }

    /// Closes the connection and ends the loop's thread. It has no effect when it is called again.
    func close() {
        try? loop.submit { [weak self] machine, now in
            self?.lastStatistics.withLock { $0 = machine.statistics }
            self?.lastStats.withLock { $0 = machine.stats(at: now) }
            machine.close(at: now)
        }
        loop.stop()
        happened.finish()
    }

    /// Forwards an event of the connection, or performs the action that the connection requests.
    private static func follow(
        _ event: PeerConnection.Event, on loop: EventLoop<PeerConnection>?,
        continuation: AsyncStream<Event>.Continuation
    ) async {
        switch event {
        case .connected: continuation.yield(.connected)
        case .keyFrameRequested: continuation.yield(.keyFrameRequested)
        case .paused(let type): continuation.yield(.paused(type))
        case .resumed(let type): continuation.yield(.resumed(type))
        case .layerNeedsKeyFrame(let layer): continuation.yield(.layerNeedsKeyFrame(layer))
        case .layerPaused(let layer): continuation.yield(.layerPaused(layer))
        case .layerResumed(let layer): continuation.yield(.layerResumed(layer))
        case .away: continuation.yield(.away)
        case .back: continuation.yield(.back)
        case .closed: continuation.yield(.closed)
        case .failed(let failure): continuation.yield(.failed(failure.words))
        case .closeConnection(let path): loop?.close(path)
        case .openConnection(let address): open(address, on: loop)
        }
    }

    /// Opens a TCP connection for ICE, which is used if UDP does not get through (RFC 6544).
    private static func open(_ address: TransportAddress, on loop: EventLoop<PeerConnection>?) {
        Task { [weak loop] in
            do {
                guard let path = try await loop?.connect(to: address) else { return }
                try loop?.submit { machine, now in machine.pathOpened(path, at: now) }
            } catch {
                try? loop?.submit { machine, _ in machine.connectionFailed(to: address) }
            }
        }
    }
}

extension TransportFailure {
    /// The reason as a text for people, with what to do.
    fileprivate var words: String {
        switch self {
        case .setupTimeout:
            "no media connection: the platform's media port cannot be reached over UDP or TCP, check the firewalls between"
        case .consentExpired: "no packet arrived from the platform for 30 s: check the network, and start again"
        case .handshake(let reason): "the DTLS handshake of the media connection failed: \(reason)"
        }
    }
}

extension MediaCall {
    /// Replaces the connection by a new one on the same sockets, because the platform has lost its end of the old one.
    /// The tracks resume with a key frame when the answer is accepted.
    ///
    /// - Returns: The offer for the platform.
    /// - Throws: `PCastError` with the status `failed` if the call is over.
    func renew() async throws(PCastError) -> String {
        restarting.stop()
        turnFallback.reset()
        let certificate = try ProcessCertificate.get()
        let (purpose, bound) = (purpose, loop.boundAddresses)
        do throws(IOError) {
            return try await loop.call { [splice] machine, _ in
                machine = Self.machine(for: purpose, certificate, bound)
                splice.withLock { $0.cut() }
                return machine.offer.text
            }
        } catch {
            throw PCastError(.failed, .media, "the stream's media connection has ended: \(error)")
        }
    }

    /// Returns a new connection with the certificate and the candidates of the bound addresses.
    static func machine(
        for purpose: PeerConnection.Purpose, _ certificate: DTLSCertificate, _ bound: [TransportAddress]
    ) -> PeerConnection {
        var generator = SystemRandomNumberGenerator()
        let configuration = PeerConnection.Configuration(
            certificate: certificate, addresses: LocalAddresses.candidates(of: bound),
            clock: MonotonicClock.reference(), cname: RandomText.identifier())
        return PeerConnection(purpose, configuration: configuration, using: &generator)
    }
}

/// The addresses of this machine that a call uses.
enum LocalAddresses {
    /// Returns the addresses to which sockets are bound: loopback only if the platform is on loopback, else every
    /// address. The port is 0, for an ephemeral one. Throws an error if the interfaces cannot be read.
    static func toListen(for platform: PlatformAddress) throws(IOError) -> [TransportAddress] {
        if platform.isLoopback {
            let ip = IPAddress(platform.host) ?? .loopbackV4
            let others: [IPAddress] = ip.family == .v6 ? [.loopbackV4] : []
            return ([ip] + others).map { TransportAddress(ip: $0, port: 0) }
        }
        let hasV6 = try LocalAddress.all().contains { $0.ip.family == .v6 && !$0.isLoopback }
        return ([.anyV4] + (hasV6 ? [IPAddress(v6: 0, 0)] : [])).map { TransportAddress(ip: $0, port: 0) }
    }

    /// Returns the candidate addresses of bound sockets. An unspecified address stands for the address of each running
    /// interface.
    static func candidates(of bound: [TransportAddress]) -> [TransportAddress] {
        let interfaces = ((try? LocalAddress.all()) ?? []).filter { !$0.isLoopback && $0.isRunning }
        return bound.flatMap { address -> [TransportAddress] in
            guard address.ip.isUnspecified else { return [address] }
            let named = interfaces.filter { $0.ip.family == address.ip.family }.map(\.ip)
            // A machine without a network still has the socket itself.
            return (named.isEmpty ? [address.ip] : named).map { TransportAddress(ip: $0, port: address.port) }
        }
    }
}

/// The DTLS certificate of all calls of this process. It is made once, because that takes longer than joining a stream
/// should.
enum ProcessCertificate {
    private static let made = Result<DTLSCertificate, DTLSError> { () throws(DTLSError) in
        try DTLSCertificate.generate(at: MonotonicClock.reference().wallTime)
    }

    /// Returns the certificate. The first call makes it, and concurrent calls wait. Throws an error if it cannot be
    /// made.
    static func get() throws(PCastError) -> DTLSCertificate {
        do throws(DTLSError) {
            return try made.get()
        } catch {
            throw PCastError(.failed, .media, "the certificate for the media connection could not be created: \(error)")
        }
    }
}
