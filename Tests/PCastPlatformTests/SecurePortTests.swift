import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
import PCastCore
import PCastIO
import PCastPlatform
import PCastWeb
import PCastWebRTC
import Synchronization
import Testing

/// The TLS port: pages, endpoints and the protocol, and TURN beside them.
@Suite struct SecurePortTests {
    /// The client's side of TURN, as in the SDK.
    private struct Machine: StreamClientMachine {
        var client: TURNClient
        var isReady = false
        var hasFailed = false

        mutating func connected(at now: Instant) { client.connected(at: now) }
        mutating func received(_ bytes: [UInt8], at now: Instant) { client.received(bytes, at: now) }
        mutating func received(datagram: [UInt8], at now: Instant) { client.send(datagram) }
        mutating func advance(to now: Instant) { client.advance(to: now) }
        var deadline: Instant? { client.deadline }

        mutating func pollOutput() -> StreamClientOutput? {
            switch client.poll() {
            case .send(let bytes): return .send(bytes, mayBeDropped: false)
            case .received(let bytes): return .sendDatagram(bytes)
            case nil: break
            }
            if case .failed(let code) = client.state, !hasFailed {
                hasFailed = true
                return .failed("\(code)")
            }
            guard client.state == .ready, !isReady else { return nil }
            isReady = true
            return .ready
        }
    }

    private struct Link {
        let host: String
        let port: UInt16
        let credentials: TURNCredentials

        init?(_ text: String) {
            guard let match = text.wholeMatch(of: Self.pattern), let port = UInt16(match.2) else { return nil }
            host = String(match.1)
            self.port = port
            credentials = TURNCredentials(username: String(match.3), password: String(match.4))
        }

        nonisolated(unsafe) private static let pattern =
            /<turns:([^:>]+):([0-9]+)\?transport=tcp>; rel="ice-server"; username="([^"]+)"; credential="([^"]+)"; credential-type="password"/
    }

    @Test("a viewer receives the TURN server, whose tunnel leads only to the media port")
    func tunnel() async throws {
        try await TestPlatform.run(tlsPort: 0) { platform in
            _ = try await platform.publish()
            let offer = try Offers.viewer()
            let answer = try await platform.post("/whep", offer)
            let link = try #require(answer.header("Link").flatMap { Link($0) })
            #expect(link.host == "127.0.0.1" && Int(link.port) == platform.listening.tlsPort)
            let section = try #require(try SessionDescription(parsing: answer.body).media.first)
            let peer = try #require(
                section.candidates.compactMap { ICECandidate($0) }.first { $0.transport == .udp }?.transportAddress)
            let events = AsyncStream<Tunnel.Event>.makeStream()
            let tunnel = Tunnel(
                Machine(client: TURNClient(credentials: link.credentials, peer: peer, seed: 7)), host: link.host,
                port: link.port, clock: { MonotonicClock.now() }, onEvent: { events.continuation.yield($0) })
            var near: TransportAddress?
            for await event in events.stream {
                if case .ready(let address) = event { near = address }
                break
            }
            let address = try #require(near)
            #expect(try await Self.check(through: address, offer: offer, section: section))
            tunnel.close()

            // Another address is rejected.
            let elsewhere = AsyncStream<Tunnel.Event>.makeStream()
            let other = TransportAddress("192.0.2.1:8189")!
            let refused = Tunnel(
                Machine(client: TURNClient(credentials: link.credentials, peer: other, seed: 7)), host: link.host,
                port: link.port, clock: { MonotonicClock.now() }, onEvent: { elsewhere.continuation.yield($0) })
            for await event in elsewhere.stream {
                #expect(event == .ended("403"))
                break
            }
            refused.close()
        }
    }

    /// Returns an ICE check, whose response proves the whole path in both directions.
    private static func check(
        through address: TransportAddress, offer: String, section: MediaDescription
    ) async throws -> Bool {
        let own = try #require(try SessionDescription(parsing: offer).media.first)
        let local = ICECredentials(ufrag: own.iceUfrag ?? "", password: own.icePwd ?? "")!
        let remote = ICECredentials(ufrag: section.iceUfrag ?? "", password: section.icePwd ?? "")!
        let (states, received) = AsyncStream<ICEControllingAgent.State>.makeStream()
        let loop = try EventLoop(
            name: "check", listen: [TransportAddress(ip: .loopbackV4, port: 0)], tcpListen: false,
            makeMachine: { bound in
                Checker(
                    agent: ICEControllingAgent(
                        local: local, remote: remote, tieBreaker: 1, addresses: bound, seed: 1))
            }, afterIteration: { machine, _ in received.yield(machine.agent.state) })
        defer { loop.stop() }
        try loop.submit { machine, now in machine.agent.addRemoteCandidate(.host(address), at: now) }
        for await state in states {
            if state == .connected { return true }
            if state == .failed { return false }
        }
        return false
    }

    private struct Checker: DatagramMachine {
        var agent: ICEControllingAgent
        private var replies: [([UInt8], NetworkPath)] = []

        init(agent: ICEControllingAgent) { self.agent = agent }

        mutating func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant) {
            let bytes = Array(datagram)
            guard let message = STUNMessage.parse(bytes.span) else { return }
            var outcome = ICEOutcome()
            let reply = [UInt8](unsafeUninitializedCapacity: STUNMessage.maximumSize) { buffer, count in
                outcome = agent.handle(
                    bytes.span, message: message, from: path, at: now, reply: MutableByteView(buffer))
                count = outcome.replyLength
            }
            if !reply.isEmpty { replies.append((reply, path)) }
        }

        mutating func advance(to now: Instant) { agent.advance(to: now) }

        mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
            for (bytes, path) in replies { _ = batch.append(bytes, to: path) }
            replies.removeAll()
            while let room = batch.reserve(), let (length, path) = agent.poll(into: room, at: now) {
                batch.commit(length: length, to: path)
            }
            return false
        }

        mutating func pathClosed(_ path: NetworkPath, at now: Instant) {}
        var deadline: Instant? { mutating get { agent.deadline } }
    }

    @Test("pages, endpoints and WebSockets are on the TLS port as well, and invalid data is not answered")
    func everything() async throws {
        try await TestPlatform.run(tlsPort: 0) { platform in
            var configuration = HTTPClient.Configuration()
            configuration.tlsConfiguration = .makeClientConfiguration()
            configuration.tlsConfiguration?.certificateVerification = .none
            let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
            let secure = "https://127.0.0.1:\(try #require(platform.listening.tlsPort))"
            for path in ["/healthz", "/", "/publish"] {
                let response = try await client.execute(HTTPClientRequest(url: secure + path), timeout: .seconds(60))
                #expect(response.status == .ok)
                _ = try await response.body.collect(upTo: 1 << 20)
            }
            var request = HTTPClientRequest(url: secure + "/whip")
            request.method = .POST
            request.headers.add(name: "Content-Type", value: "application/sdp")
            request.body = .bytes(ByteBuffer(string: try Offers.publisher()))
            let response = try await client.execute(request, timeout: .seconds(60))
            #expect(response.status == .created && response.headers.first(name: "Link")?.contains("turns:") == true)
            try await client.shutdown()
        }
    }

    @Test("the client selects HTTP/2 or HTTP/1.1 over TLS", arguments: [true, false])
    func protocols(usesHTTP2: Bool) async throws {
        try await TestPlatform.run(tlsPort: 0) { platform in
            var configuration = HTTPClient.Configuration()
            configuration.tlsConfiguration = .makeClientConfiguration()
            configuration.tlsConfiguration?.certificateVerification = .none
            configuration.httpVersion = usesHTTP2 ? .automatic : .http1Only
            let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
            let uri = "https://127.0.0.1:\(try #require(platform.listening.tlsPort))/healthz"
            let versions = try await withThrowingTaskGroup(
                of: HTTPVersion.self, returning: [HTTPVersion].self
            ) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let response = try await client.execute(HTTPClientRequest(url: uri), timeout: .seconds(60))
                        _ = try await response.body.collect(upTo: 1 << 16)
                        return response.version
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(versions == [HTTPVersion](repeating: usesHTTP2 ? .http2 : .http1_1, count: 20))
            try await client.shutdown()
        }
    }

    @Test("a self-signed certificate is reported as such, without paths of the build machine")
    func untrusted() async throws {
        try await TestPlatform.run(tlsPort: 0) { platform in
            let secure = "https://127.0.0.1:\(try #require(platform.listening.tlsPort))"
            let request = await #expect(throws: WebError.self) {
                _ = try await HTTPRequests.send("GET", secure + "/healthz")
            }
            let socket = await #expect(throws: WebError.self) {
                try await WebSocketClient().connect(to: secure + "/ws") { _ in }
            }
            for error in [request, socket] {
                let text = "\(try #require(error))"
                #expect(text.contains("is not trusted: its certificate") && text.contains("SSL_CERT_FILE"))
                #expect(!text.contains(".cc"))
            }
        }
    }
}
