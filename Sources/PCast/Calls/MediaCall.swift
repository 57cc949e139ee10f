import PCastCore
import PCastIO
import PCastRTP
import PCastWebRTC
import Synchronization

/// The media connection of one stream: a ``PeerConnection`` on an event loop and a UDP port of its own.
final class MediaCall: Sendable {
    /// What becomes of the connection.
    enum Event: Hashable, Sendable {
        /// Media flows from now on.
        case connected
        /// Some viewer cannot go on without a key frame.
        case keyFrameRequested
        /// Nobody takes what is sent of this type, and somebody does again; a picture has to be a key frame then.
        case paused(MediaType)
        case resumed(MediaType)
        /// The same of one of several layers of video.
        case layerNeedsKeyFrame(Int)
        case layerPaused(Int)
        case layerResumed(Int)
        /// Nothing is heard of the platform for the moment, and it is heard again.
        case away, back
        /// The platform said goodbye.
        case closed
        /// The reason is for people.
        case failed(String)
    }

    /// What is sent to the platform.
    let offer: String

    /// One reader; ends with the call.
    let events: AsyncStream<Event>

    let loop: EventLoop<PeerConnection>
    let purpose: PeerConnection.Purpose
    /// Makes one timeline of what comes, however often the connection is made anew.
    let splice: SharedSplice
    private let happened: AsyncStream<PeerConnection.Event>.Continuation
    let restarting = ICERestarting()
    let detour = TURNFallback()
    private let agreed = Mutex<Set<MediaType>>([])
    private let agreedLayers = Atomic(1)
    /// As they were when the call was closed.
    private let lastStatistics = Mutex<PeerConnectionStatistics?>(nil)
    private let lastStats = Mutex(RTCStatsReport())

    /// - Parameters:
    ///   - estimated: is told what may be sent, each time that changes.
    ///   - received: both are called on the loop's thread, which they must not hold up.
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
                afterTurn: { machine, now in
                    while let media = machine.pollFrame(at: now) {
                        received(splice.withLock { $0.place(media, at: now) })
                    }
                    if let estimate = machine.pollEstimate() { estimated(estimate) }
                    while let event = machine.pollEvent() { happened.yield(event) }
                },
                onAddressChange: { machine, bound, now in
                    machine.setLocalAddresses(LocalAddresses.candidates(of: bound), at: now)
                })
        } catch {
            throw PCastError(.failed, .media, "no media connection could be begun: \(error)")
        }
        self.offer = offer
        self.happened = happened
        let (events, told) = AsyncStream.makeStream(of: Event.self)
        self.events = events
        let (restarting, detour) = (restarting, detour)
        Task { [weak loop] in
            for await event in raw {
                await Self.follow(event, on: loop, telling: told)
                restarting.follow(event, on: loop)
                detour.follow(event)
            }
            restarting.stop()
            detour.close()
            told.finish()
        }
    }

    /// How ICE is restarted, should the platform not be heard any more.
    ///
    /// - Parameter exchange: brings an offer to the platform, and answers its answer; nil where that did not work.
    func restartsICE(by exchange: @escaping ICERestarting.Exchange) { restarting.setExchange(exchange) }

    deinit { happened.finish() }

    /// Lets the connection begin.
    ///
    /// - Parameter relays: TURN servers, for where nothing else leads to the platform.
    /// - Throws: `failed` when the answer does not fit the offer.
    func accept(_ answer: String, relays: [TURNServerAddress] = []) async throws(PCastError) {
        do {
            let description = try SessionDescription(parsing: answer)
            let accepted: Result<Void, SDPError> = try await loop.call { [self] machine, now in
                do throws(SDPError) {
                    try machine.accept(description, at: now)
                    // On the loop's thread: whoever hears that the call is connected, which may be before this returns to
                    // whoever waits here, knows what it carries.
                    let sent = MediaType.allCases.filter { machine.sendingCodec($0) != nil }
                    agreed.withLock { $0 = Set(sent) }
                    agreedLayers.store(max(machine.sendingLayerCount, 1), ordering: .relaxed)
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
            try accepted.get()
            detour.prepare(relays, answer: description, on: loop)
        } catch {
            throw PCastError(.failed, .media, "the platform's answer cannot be used (\(error)): is it a PCast one?")
        }
    }

    /// The types that the platform agreed to take; none before its answer.
    var sentTypes: Set<MediaType> { agreed.withLock { $0 } }

    /// How many layers of video the platform takes.
    var sentLayers: Int { agreedLayers.load(ordering: .relaxed) }

    /// Sends a frame; lost before the call is connected and after it is closed.
    ///
    /// - Parameter layer: of video, as the platform numbers those that it takes.
    func send(_ frame: EncodedFrame, layer: Int = 0) {
        try? loop.submit { machine, now in machine.send(frame, layer: layer, at: now) }
    }

    /// Says what would be sent, all tracks together and on the wire, if the path carried it.
    func setWanted(_ bitrate: Bitrate) {
        try? loop.submit { machine, _ in machine.setWantedBitrate(bitrate) }
    }

    /// Counts since the call began, or of the whole of it after it was closed.
    func statistics() async -> PeerConnectionStatistics? {
        if let fresh = try? await loop.call({ machine, _ in machine.statistics }) { return fresh }
        return lastStatistics.withLock { $0 }
    }

    /// Asks the platform to send no more than that of the video; nil lifts the limit.
    func setReceivingLimit(_ bitrate: Bitrate?) {
        try? loop.submit { machine, now in machine.setReceivingLimit(bitrate, at: now) }
    }

    /// When something was heard of the platform last, and how much was sent; nil after the call was closed.
    func signsOfLife() async -> (lastHeard: Instant?, packetsSent: Int)? {
        try? await loop.call { machine, _ in (machine.lastHeard, machine.statistics.packetsSent) }
    }

    /// Tells the platform what is published, beside what the connection knows by itself.
    func setPublisherReport(_ report: PublisherReport) {
        try? loop.submit { machine, now in machine.setPublisherReport(report, at: now) }
    }

    /// Counts under WebRTC's own names; as they were when the call was closed, after it was.
    func stats() async -> RTCStatsReport {
        if let fresh = try? await loop.call({ machine, now in machine.stats(at: now) }) { return fresh }
        return lastStats.withLock { $0 }
    }

    /// Asks the publisher for a key frame.
    func requestKeyFrame() {
        try? loop.submit { machine, _ in machine.requestKeyFrame() }
    }

    /// The codecs of the tracks that the platform agreed to send, video first.
    func receivedCodecs() async -> [Codec] {
        let agreed = try? await loop.call { machine, _ in
            [machine.receivingCodec(.video), machine.receivingCodec(.audio)].compactMap { $0 }
        }
        return agreed ?? []
    }

    /// Says goodbye and ends the loop's thread; harmless when called again.
    func close() {
        try? loop.submit { [weak self] machine, now in
            self?.lastStatistics.withLock { $0 = machine.statistics }
            self?.lastStats.withLock { $0 = machine.stats(at: now) }
            machine.close(at: now)
        }
        loop.stop()
        happened.finish()
    }

    private static func follow(
        _ event: PeerConnection.Event, on loop: EventLoop<PeerConnection>?,
        telling told: AsyncStream<Event>.Continuation
    ) async {
        switch event {
        case .connected: told.yield(.connected)
        case .keyFrameRequested: told.yield(.keyFrameRequested)
        case .paused(let type): told.yield(.paused(type))
        case .resumed(let type): told.yield(.resumed(type))
        case .layerNeedsKeyFrame(let layer): told.yield(.layerNeedsKeyFrame(layer))
        case .layerPaused(let layer): told.yield(.layerPaused(layer))
        case .layerResumed(let layer): told.yield(.layerResumed(layer))
        case .away: told.yield(.away)
        case .back: told.yield(.back)
        case .closed: told.yield(.closed)
        case .failed(let failure): told.yield(.failed(failure.words))
        case .closeConnection(let path): loop?.close(path)
        case .openConnection(let address): open(address, on: loop)
        }
    }

    /// ICE over TCP, where UDP does not get through (RFC 6544).
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
    /// For people, with what to do.
    fileprivate var words: String {
        switch self {
        case .setupTimeout:
            "no media connection: the platform's media port cannot be reached over UDP or TCP, look at firewalls between"
        case .consentExpired: "nothing was heard of the platform for 30 s: look at the network, and start again"
        case .handshake(let reason): "the media connection could not be secured: \(reason)"
        }
    }
}
