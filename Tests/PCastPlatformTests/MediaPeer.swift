import PCastCore
import PCastIO
import PCastWebRTC
import Synchronization

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
