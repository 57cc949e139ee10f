import PCastCore
import PCastIO
import PCastWebRTC

/// Light publishers on a thread of their own.
final class LoadPublishers: Sendable {
    private let loop: LoadLoop<LoadGenerator<LightPublisher>>
    private let certificate: DTLSCertificate
    private let clock = MonotonicClock.reference()
    let streams: [StreamID]

    /// Publishes streams. Nothing is sent before `run`. `beginning` are the first numbers and times of all publishers.
    init(
        _ count: Int, of profile: TrafficProfile, at setup: FanOutSetup,
        beginning: LightPublisher.InitialState = LightPublisher.InitialState()
    ) async throws {
        loop = try LoadLoop(name: "publishers") { LoadGenerator<LightPublisher>() }
        certificate = try DTLSCertificate.generate(at: clock.wallTime)
        let token = try setup.publishingToken()
        var streams: [StreamID] = []
        let now = MonotonicClock.now()
        for number in 0..<count {
            var generator = SystemRandomNumberGenerator()
            let own = LightPublisherOffer(certificate: certificate, using: &generator)
            let answer = try await WebRTCHTTPRequest.post(
                own.offer.description, to: "/whip", at: setup.server, token: token)
            guard let stream = answer.streamID else { throw BenchFailure("the WHIP response does not name the stream") }
            streams.append(stream)
            let address = TransportAddress(
                ip: IPAddress(v4: FanOutSetup.publishersBegin + UInt32(number)), port: loop.port)
            // The publishers are spread over the frame interval, so that no two send at the same time.
            let begun = now + .nanoseconds(Int64(number) * 1_000_000_000 / profile.rate / Int64(count))
            let failure = await loop.call { [clock] load, now -> (any Error)? in
                do {
                    let publisher = try LightPublisher(
                        own, answer: answer.description, address: address, profile: profile, clock: clock, begun: begun,
                        beginning: beginning, at: now)
                    load.add(publisher, at: address)
                    return nil
                } catch {
                    return error
                }
            }
            if let failure { throw failure }
        }
        self.streams = streams
        try await waitUntilConnected(count)
    }

    private func waitUntilConnected(_ count: Int) async throws {
        let limit = MonotonicClock.now() + .seconds(60)
        while await loop.call({ load, _ in load.peers.count { $0.isConnected } }) < count {
            guard MonotonicClock.now() < limit else { throw BenchFailure("the publishers did not connect") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func run(_ isRunning: Bool = true) async {
        await loop.call { load, _ in load.forEach { $0.isRunning = isRunning } }
    }

    /// Sets the time between frames; see `LightPublisher`.
    func setInterval(_ interval: TimeSpan) async {
        await loop.call { load, _ in load.forEach { $0.setInterval(interval) } }
    }

    func begin() async { await loop.call { load, _ in load.forEach { $0.beginCounting() } } }

    struct Metrics: Sendable {
        var bytes = 0
        var frames = 0
        var keyFrames = 0
        var keyFrameBytes = 0
        var requested = 0
    }

    func metrics() async -> Metrics {
        await loop.call { load, _ in
            load.peers.reduce(into: Metrics()) { metrics, publisher in
                metrics.bytes += publisher.bytes
                metrics.frames += publisher.frames
                metrics.keyFrames += publisher.keyFrames
                metrics.keyFrameBytes += publisher.keyFrameBytes
                metrics.requested += publisher.requested
            }
        }
    }

    var processorTime: TimeSpan { loop.processorTime }
    var ownDrops: Int { loop.ownDrops }

    func leave() {
        loop.submit { load, now in load.close(at: now) }
        loop.stop()
    }
}

/// The offer of a light publisher and its keys: one video track, no audio.
struct LightPublisherOffer: Sendable {
    let offer: Offer
    let identity: LightIdentity

    /// Creates an offer. For the certificate, see `LightIdentity`.
    init(certificate: DTLSCertificate, using generator: inout some RandomNumberGenerator) {
        identity = LightIdentity(certificate: certificate, using: &generator)
        let source = OutgoingSource(
            ssrc: UInt32.random(in: 1...UInt32.max, using: &generator),
            rtxSSRC: UInt32.random(in: 1...UInt32.max, using: &generator), cname: "light",
            msid: MediaStreamIdentification(stream: "light", track: "video"))
        offer = identity.offer(
            [OfferSection(type: .video, direction: .sendOnly, codecs: [.h264], source: source)], using: &generator)
    }
}
