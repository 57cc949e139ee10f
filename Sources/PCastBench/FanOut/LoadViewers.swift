import PCastCore
import PCastIO
import PCastWebRTC
import Synchronization

/// Light viewers that join by WHEP or by signaling. Thousands run on one thread, each with its own address.
final class LoadViewers: Sendable {
    private let loop: LoadLoop<LightViewerGroup>
    private let clock = MonotonicClock.reference()
    private let certificate: DTLSCertificate
    private let decryptsEach: Int
    private let sendNoFeedback: Bool
    private let firstAddress: UInt32
    private let joinProtocol: JoinProtocol
    private let sessions = Mutex<[Task<Void, any Error>]>([])

    /// The protocol by which they join.
    enum JoinProtocol: String, CaseIterable, Sendable {
        case whep, session
    }

    /// Creates an empty audience. For `decryptsEach`, see `LightViewer`. With `sendNoFeedback`, viewers send no feedback and
    /// need not read; see `rest`.
    init(
        by joinProtocol: JoinProtocol = .whep, decryptsEach: Int, sendNoFeedback: Bool = false,
        firstAddress: UInt32 = FanOutSetup.viewersBegin
    ) throws {
        self.joinProtocol = joinProtocol
        self.sendNoFeedback = sendNoFeedback
        certificate = try DTLSCertificate.generate(at: clock.wallTime)
        loop = try LoadLoop(name: "viewers") { LightViewerGroup() }
        self.decryptsEach = decryptsEach
        self.firstAddress = firstAddress
    }

    /// Adds viewers, distributed equally over the streams, with up to `atOnce` joins at a time.
    func join(_ numbers: Range<Int>, to streams: [StreamID], at setup: FanOutSetup, atOnce: Int = 8) async throws {
        let tokens = try streams.map { try setup.viewingToken($0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in numbers {
                if number - numbers.lowerBound >= atOnce { try await group.next() }
                let which = number % streams.count
                group.addTask { try await self.join(number, streams[which], tokens[which], at: setup) }
            }
            try await group.waitForAll()
        }
    }

    /// Adds a viewer. `requestedAt` is the time of its first request if this one is not the first.
    func join(
        _ number: Int, _ stream: StreamID, _ token: String, at setup: FanOutSetup,
        requestedAt: Instant = MonotonicClock.now()
    ) async throws {
        var generator = SystemRandomNumberGenerator()
        let own = LightViewerOffer(
            certificate: certificate, wantsAudio: false, sendsNoFeedback: sendNoFeedback, using: &generator)
        let answer: SessionDescription
        switch joinProtocol {
        case .whep:
            answer = try await WebRTCHTTPRequest.post(
                own.offer.description, to: "/whep/\(stream)", at: setup.server, token: token
            ).description
        case .session:
            let session = try await LightSession.view(
                own.offer.description, at: setup.uri, authenticationToken: try setup.authenticationToken(),
                token: token)
            sessions.withLock { $0.append(session.session) }
            answer = session.answer
        }
        try await add(own, answer, number: number, requestedAt: requestedAt)
    }

    /// Adds viewers of a WHEP path without a token, with up to `atOnce` joins at a time. Their order is not that of the numbers.
    func join(_ numbers: Range<Int>, to path: String, at server: TransportAddress, atOnce: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in numbers {
                if number - numbers.lowerBound >= atOnce { try await group.next() }
                group.addTask {
                    var generator = SystemRandomNumberGenerator()
                    let own = LightViewerOffer(
                        certificate: self.certificate, wantsAudio: false, sendsNoFeedback: self.sendNoFeedback,
                        using: &generator)
                    let answer = try await WebRTCHTTPRequest.post(
                        own.offer.description, to: path, at: server, token: nil
                    ).description
                    try await self.add(own, answer, number: number, requestedAt: MonotonicClock.now())
                }
            }
            try await group.waitForAll()
        }
    }

    private func add(
        _ own: LightViewerOffer, _ answer: SessionDescription, number: Int, requestedAt: Instant
    ) async throws {
        let address = TransportAddress(ip: IPAddress(v4: firstAddress + UInt32(number)), port: loop.port)
        try await add(own.identity, try own.offer.accept(answer), address: address, requestedAt: requestedAt)
    }

    /// Answers a server's offer and receives its media. `start` receives the answer before anything is sent.
    func answer(
        _ offer: SessionDescription, number: Int, _ start: (SessionDescription) async throws -> Void
    ) async throws {
        let requestedAt = MonotonicClock.now()
        var generator = SystemRandomNumberGenerator()
        let identity = LightIdentity(certificate: certificate, using: &generator)
        let address = TransportAddress(ip: IPAddress(v4: firstAddress + UInt32(number)), port: loop.port)
        let answer = try identity.answer(offer, from: address, using: &generator)
        try await start(answer.description)
        try await add(identity, answer.session, address: address, requestedAt: requestedAt)
    }

    private func add(
        _ identity: LightIdentity, _ session: NegotiatedSession, address: TransportAddress, requestedAt: Instant
    ) async throws {
        let refusal = await loop.call { [clock, decryptsEach] viewersLoad, now -> SDPError? in
            do throws(SDPError) {
                let viewer = try LightViewer(
                    identity, session: session, wantsAudio: false, address: address, clock: clock,
                    decryptsEach: decryptsEach, requestedAt: requestedAt, at: now)
                viewersLoad.add(viewer, at: address)
                return nil
            } catch {
                return error
            }
        }
        if let refusal { throw refusal }
    }

    /// Records the arrivals of frames at all viewers that have joined.
    func record(_ gap: VideoGap) async {
        await loop.call { viewersLoad, _ in viewersLoad.forEach { $0.gap = gap } }
    }

    /// Waits until a number of viewers have received frames.
    func waitUntilWatching(_ count: Int, within timeout: TimeSpan) async throws {
        let limit = MonotonicClock.now() + timeout
        while true {
            let watching = await loop.call { viewersLoad, _ in viewersLoad.peers.count { $0.isWatching } }
            if watching >= count { return }
            guard MonotonicClock.now() < limit else {
                throw BenchFailure("only \(watching) of \(count) viewers receive media")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits until a number of viewers are connected.
    func waitUntilConnected(_ count: Int, within timeout: TimeSpan) async throws {
        let limit = MonotonicClock.now() + timeout
        while true {
            let connected = await loop.call { viewersLoad, _ in viewersLoad.peers.count { $0.profile != nil } }
            if connected >= count { return }
            guard MonotonicClock.now() < limit else {
                throw BenchFailure("only \(connected) of \(count) viewers connected")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Stops reading and sending.
    func rest() { loop.rest() }

    /// Returns the SRTP profiles of all viewers.
    func profiles() async -> Set<SRTPProfile> {
        await loop.call { viewersLoad, _ in Set(viewersLoad.peers.compactMap { $0.profile }) }
    }

    func begin() async { await loop.call { viewersLoad, _ in viewersLoad.forEach { $0.beginCounting() } } }

    func metrics() async -> LightViewingMetrics {
        var metrics = await loop.call { viewersLoad, _ in LightViewingMetrics(viewersLoad.peers) }
        metrics.ownDrops = loop.ownDrops
        return metrics
    }

    /// Returns the packets of one viewer over a number of frames.
    func profile(frames: Int) async throws -> (text: String, meanSize: Double) {
        await loop.call { viewersLoad, _ in viewersLoad.peers.first?.tap = PacketTap(frames: frames) }
        let limit = MonotonicClock.now() + .seconds(60)
        while MonotonicClock.now() < limit {
            let result = await loop.call { viewersLoad, _ -> (text: String, meanSize: Double)? in
                guard let tap = viewersLoad.peers.first?.tap, tap.isFull else { return nil }
                viewersLoad.peers.first?.tap = nil
                return (tap.text, tap.meanSize)
            }
            if let result { return result }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw BenchFailure("no frames arrived")
    }

    /// Returns for each viewer, in the order of joining, the time from the request to the first complete frame; nil
    /// without one.
    func waits() async -> [TimeSpan?] {
        await loop.call { viewersLoad, _ in
            viewersLoad.peers.map { viewer in viewer.firstFrame.map { $0 - viewer.requestedAt } }
        }
    }

    /// Lets all viewers record the next frame as their first one.
    func awaitFrames() async { await loop.call { viewersLoad, _ in viewersLoad.peers.forEach { $0.awaitFrame() } } }

    /// Returns the arrivals of the first frames, in the order of joining, since `awaitFrames()`.
    func firstFrames() async -> [Instant?] { await loop.call { viewersLoad, _ in viewersLoad.peers.map(\.firstFrame) } }

    /// Returns the sums of the packets of video that have arrived and that are missing, and the number of sessions that have
    /// ended.
    func packets() async -> (arrived: Int, missing: Int, ended: Int) {
        await loop.call { viewersLoad, _ in
            var sums = (arrived: 0, missing: 0, ended: 0)
            for viewer in viewersLoad.peers {
                sums.arrived += viewer.video.packets
                sums.missing += viewer.video.missing
                sums.ended += viewer.end == nil ? 0 : 1
            }
            return sums
        }
    }

    /// Waits until no packet of video arrives for a time. Throws `BenchFailure` if some still do.
    func waitUntilQuiet(for span: TimeSpan, within timeout: TimeSpan) async throws {
        let limit = MonotonicClock.now() + timeout
        var last = (arrived: await packets().arrived, at: MonotonicClock.now())
        while MonotonicClock.now() - last.at < span {
            guard MonotonicClock.now() < limit else { throw BenchFailure("media still arrive without a presenter") }
            try await Task.sleep(for: .milliseconds(100))
            let arrived = await packets().arrived
            if arrived != last.arrived { last = (arrived, MonotonicClock.now()) }
        }
    }

    /// Returns the statistics of the first viewer.
    func firstMetrics() async -> LightViewingMetrics {
        await loop.call { viewersLoad, _ in LightViewingMetrics(Array(viewersLoad.peers.prefix(1))) }
    }

    /// Removes the viewers that joined before a time, except for the first ones.
    func dismiss(joinedBefore instant: Instant, after first: Int) async {
        await loop.call { viewersLoad, now in
            var number = 0
            viewersLoad.forEach { viewer in
                number += 1
                if number > first, viewer.requestedAt < instant { viewer.close(at: now) }
            }
        }
    }

    /// The received datagrams and messages; see `LoadLoop`.
    var received: (datagrams: Int, messages: Int) { loop.received }
    var processorTime: TimeSpan { loop.processorTime }
    var ownDrops: Int { loop.ownDrops }

    func leave() {
        for session in sessions.withLock({ $0 }) { session.cancel() }
        loop.submit { viewersLoad, now in viewersLoad.close(at: now) }
        loop.stop()
    }
}
