import PCastCore
import PCastIO
import PCastPlatform
import PCastSignaling
import PCastWebRTC
import Synchronization
import Testing

/// A client that closes its media connection first, and then gives the reason of its stream's end.
@Suite("A reason after the media connection") struct ClosedConnectionTests {
    /// Joins with a stream or a viewing whose media connection is established.
    private static func join(
        _ client: ProtocolClient, _ peer: MediaPeer, origin: String? = nil
    ) async throws -> String {
        let request = Requests.setUp("", offer: peer.offer, origin: origin)
        guard case .setupStream(let response)? = try await client.response(request), response.status == "ok" else {
            throw Failure()
        }
        let created = response.createStreamResponse
        let answer = created.createAnswerDescriptionResponse.sessionDescription.sdp
        guard try await peer.connect(answer) else { throw Failure() }
        return created.streamID
    }

    private struct Failure: Error {}

    /// Runs `body` with a publisher and a viewer, each in its own session.
    private static func run(
        reasonTimeout: TimeSpan,
        _ body: @Sendable (_ publishing: Side, _ viewing: Side, TestPlatform) async throws -> Void
    ) async throws {
        try await TestPlatform.runConfigured(configure: { $0.reasonTimeout = reasonTimeout }) { platform in
            try await ProtocolClient.run(platform) { one async throws in
                _ = try await one.authenticate()
                let publisher = try MediaPeer.publisher()
                let stream = try await join(one, publisher)
                try await ProtocolClient.run(platform) { [one] other async throws in
                    _ = try await other.authenticate()
                    let viewer = try MediaPeer.viewer()
                    let view = try await join(other, viewer, origin: stream)
                    try await body(
                        Side(client: one, peer: publisher, stream: stream),
                        Side(client: other, peer: viewer, stream: view), platform)
                }
            }
        }
    }

    private struct Side: Sendable {
        let client: ProtocolClient
        let peer: MediaPeer
        let stream: String
    }

    /// This is longer than any test takes.
    private static let ample = TimeSpan.seconds(600)

    @Test("DestroyStream after the publisher's connection has closed gives the reason to publisher and viewers")
    func publisher() async throws {
        try await Self.run(reasonTimeout: Self.ample) { publishing, viewing, platform in
            try await publishing.peer.close()
            // From now on the platform knows that the media have ended.
            #expect(
                try await eventually {
                    try await viewing.client.ask(try Requests.view(origin: publishing.stream)) == .noStreamPlaying
                })
            #expect(await publishing.client.ended.isEmpty)
            #expect(await viewing.client.ended.isEmpty)
            let request = Requests.destroy(publishing.stream, reason: "done-with-it")
            #expect(try await publishing.client.ask(request) == .ok)
            #expect(try await publishing.client.reason(publishing.stream) == "done-with-it")
            #expect(try await viewing.client.reason(viewing.stream) == "done-with-it")
            #expect(try await publishing.client.ask(request) == .gone)
            #expect(try await platform.reaches("pcast_streams", 0))
            #expect(try await platform.reaches("pcast_viewers", 0))
        }
    }

    @Test("DestroyStream after a viewer's connection has closed gives the viewing's reason, and the stream continues")
    func viewer() async throws {
        try await Self.run(reasonTimeout: Self.ample) { publishing, viewing, platform in
            try await viewing.peer.close()
            #expect(try await viewing.client.ask(Requests.destroy(viewing.stream, reason: "seen-enough")) == .ok)
            #expect(try await viewing.client.reason(viewing.stream) == "seen-enough")
            #expect(try await platform.reaches("pcast_viewers", 0))
            #expect(try await platform.figure("pcast_streams") == 1)
            #expect(await publishing.client.ended.isEmpty)
        }
    }

    @Test("without DestroyStream both end normally after the timeout") func nothing() async throws {
        try await Self.run(reasonTimeout: .milliseconds(50)) { publishing, viewing, platform in
            try await publishing.peer.close()
            #expect(try await publishing.client.reason(publishing.stream) == "ended")
            #expect(try await viewing.client.reason(viewing.stream) == "ended")
            let request = Requests.destroy(publishing.stream, reason: "done-with-it")
            #expect(try await publishing.client.ask(request) == .gone)
            #expect(try await platform.reaches("pcast_streams", 0))
        }
    }

    @Test("a stream with a closed connection cannot be published again under its ID") func resumed() async throws {
        try await Self.run(reasonTimeout: Self.ample) { publishing, viewing, _ in
            try await publishing.peer.close()
            #expect(
                try await eventually {
                    try await viewing.client.ask(try Requests.view(origin: publishing.stream)) == .noStreamPlaying
                })
            guard case .setupStream(var message) = try Requests.publish() else {
                Issue.record("the request does not set up a stream")
                return
            }
            message.createStream.options = ["resume-stream=\(publishing.stream)"]
            #expect(try await publishing.client.ask(.setupStream(message)) == .gone)
            #expect(try await publishing.client.ask(Requests.bye("")) == .ok)
            #expect(try await viewing.client.reason(viewing.stream) == "ended")
        }
    }
}

/// A client's media connection to a platform on loopback, without media.
final class MediaPeer: Sendable {
    /// The offer for the platform.
    let offer: String
    private let loop: EventLoop<PeerConnection>
    private let connected = Mutex(false)
    private static let certificate = Result { try DTLSCertificate.generate(at: MonotonicClock.wallTime()) }

    init(_ purpose: PeerConnection.Purpose) throws {
        let certificate = try Self.certificate.get()
        var offer = ""
        let (events, happened) = AsyncStream.makeStream(of: PeerConnection.Event.self)
        loop = try EventLoop(
            name: "peer", listen: [TransportAddress(ip: .loopbackV4, port: 0)], tcpListen: false,
            makeMachine: { bound in
                var generator = SystemRandomNumberGenerator()
                let configuration = PeerConnection.Configuration(
                    certificate: certificate, addresses: bound, clock: MonotonicClock.reference(), cname: "peer")
                let connection = PeerConnection(purpose, configuration: configuration, using: &generator)
                offer = connection.offer.text
                return connection
            },
            afterIteration: { machine, _ in
                while let event = machine.pollEvent() { happened.yield(event) }
            })
        self.offer = offer
        Task { [weak self] in
            for await case .connected in events { self?.connected.withLock { $0 = true } }
        }
    }

    static func publisher() throws -> MediaPeer { try MediaPeer(.publish(video: .h264, audio: true, layers: 1)) }

    static func viewer() throws -> MediaPeer { try MediaPeer(.view(video: true, audio: true)) }

    /// Connects with the platform's answer. Returns false if that fails.
    func connect(_ answer: String) async throws -> Bool {
        let description = try SessionDescription(parsing: answer)
        try await loop.call { machine, now in try? machine.accept(description, at: now) }
        return try await eventually { connected.withLock { $0 } }
    }

    /// Closes the connection with DTLS's close_notify, as a browser's RTCPeerConnection does.
    func close() async throws {
        try await loop.call { machine, now in machine.close(at: now) }
    }

    deinit { loop.stop() }
}
