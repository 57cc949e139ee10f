import PCastCore
import PCastTestSupport
import PCastWebRTC
import Testing

/// Writes a message to an array.
func stunMessage(
    _ messageClass: STUNMessage.MessageClass, _ number: UInt64 = 7, key: String? = nil,
    _ body: (inout STUNMessageWriter) -> Void = { _ in }
) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: STUNMessage.maximumSize) { buffer, count in
        let identifier = STUNTransactionID(high: 1, low: number)
        var writer = STUNMessageWriter(
            messageClass, transactionID: identifier, into: MutableByteView(buffer))
        body(&writer)
        count = writer.finish(key: key.map { Array($0.utf8) })
    }
}

// The expectation macros accept no spans, so the tests call this with arrays.

func parsedSTUN(_ bytes: [UInt8]) -> STUNMessage? { STUNMessage.parse(bytes.span) }

extension STUNMessage {
    func verify(_ bytes: [UInt8], key: [UInt8]) -> Bool { verifyIntegrity(bytes.span, key: key) }

    func recipient(_ bytes: [UInt8]) -> String? {
        recipientRange(in: bytes.span).map { String(decoding: bytes[$0], as: UTF8.self) }
    }
}

/// A client, a lite server, and the network: delay, loss, a NAT, and unreachable addresses.
struct ICENetwork {
    private struct Flight {
        let arrival: Instant
        let isToServer: Bool
        let path: NetworkPath
        let bytes: [UInt8]
    }

    static let serverAddress = TransportAddress("192.0.2.10:8189")!
    static let clientAddress = TransportAddress("10.0.0.2:5000")!
    static let serverCredentials = ICECredentials(
        ufrag: "AbCdEfGh01234567+/AbCdEfGh012345", password: "server-password-server+/")!
    static let clientCredentials = ICECredentials(ufrag: "cLnT", password: "client-password-client-client")!

    var client: ICEControllingAgent
    var server: ICELiteAgent
    var now = Instant(nanoseconds: 1_000_000_000_000)
    var oneWay = TimeSpan.milliseconds(20)
    var lossPercent: UInt64 = 0

    /// The NAT's mapping of the client's addresses; others remain unchanged.
    var mapping: [TransportAddress: TransportAddress] = [:]

    /// The server addresses that are unreachable in both directions.
    var unreachable: Set<TransportAddress> = []

    /// Whether the server's responses are lost.
    var isServerMute = false
    private(set) var checks: [(sent: Instant, path: NetworkPath)] = []
    private(set) var serverSelections: [NetworkPath] = []
    private(set) var clientSelections: [NetworkPath] = []
    private var flights: [Flight] = []
    private var generator: SeededGenerator

    init(seed: UInt64 = 1, addresses: [TransportAddress] = [Self.clientAddress]) {
        generator = SeededGenerator(seed: seed)
        client = ICEControllingAgent(
            local: Self.clientCredentials, remote: Self.serverCredentials, tieBreaker: 99, addresses: addresses,
            seed: seed)
        server = ICELiteAgent(local: Self.serverCredentials, remote: Self.clientCredentials)
    }

    mutating func addServerCandidate(_ address: TransportAddress = Self.serverAddress) {
        client.addRemoteCandidate(.host(address), at: now)
    }

    /// Advances the time with all its events.
    mutating func run(_ span: TimeSpan) {
        let end = now + span
        for _ in 0..<200_000 {
            drain()
            let next = Instant.earlier(client.deadline, flights.map(\.arrival).min())
            guard let next, next <= end else {
                now = end
                return
            }
            now = max(now, next)
            deliver()
            client.advance(to: now)
        }
        Issue.record("the agent's deadline does not advance")
    }

    private mutating func drain() {
        let memory = ByteStorage(byteCount: STUNMessage.maximumSize)
        let buffer = memory.bytes
        while let (length, path) = client.poll(into: buffer, at: now) {
            checks.append((now, path))
            sendToServer(Array(buffer[..<length]), path)
        }
    }

    private mutating func isLost() -> Bool { generator.next() % 100 < lossPercent }

    private mutating func sendToServer(_ bytes: [UInt8], _ path: NetworkPath) {
        if unreachable.contains(path.remote) || isLost() { return }
        let seen = NetworkPath(
            transport: path.transport, local: path.remote, remote: mapping[path.local] ?? path.local)
        flights.append(Flight(arrival: now + oneWay, isToServer: true, path: seen, bytes: bytes))
    }

    mutating func sendToClient(_ bytes: [UInt8], _ path: NetworkPath) {
        if unreachable.contains(path.local) || isServerMute || isLost() { return }
        let inside = mapping.first { $0.value == path.remote }?.key ?? path.remote
        if mapping[inside] ?? inside != path.remote { return }
        let seen = NetworkPath(transport: path.transport, local: inside, remote: path.local)
        flights.append(Flight(arrival: now + oneWay, isToServer: false, path: seen, bytes: bytes))
    }

    private mutating func deliver() {
        let arrived = flights.filter { $0.arrival <= now }
        flights.removeAll { $0.arrival <= now }
        for flight in arrived {
            guard let message = STUNMessage.parse(flight.bytes.span) else { continue }
            let (outcome, reply) =
                flight.isToServer
                ? handleAtServer(flight.bytes, message, flight.path)
                : handleAtClient(flight.bytes, message, flight.path)
            if let path = outcome.newlySelectedPath {
                if flight.isToServer { serverSelections.append(path) } else { clientSelections.append(path) }
            }
            guard !reply.isEmpty else { continue }
            if flight.isToServer { sendToClient(reply, flight.path) } else { sendToServer(reply, flight.path) }
        }
    }

    private mutating func handleAtServer(
        _ bytes: [UInt8], _ message: STUNMessage, _ path: NetworkPath
    ) -> (ICEOutcome, [UInt8]) {
        server.handleMessage(bytes, message, from: path, at: now)
    }

    private mutating func handleAtClient(
        _ bytes: [UInt8], _ message: STUNMessage, _ path: NetworkPath
    ) -> (ICEOutcome, [UInt8]) {
        client.handleMessage(bytes, message, from: path, at: now)
    }
}

/// An ICE agent, whose messages tests pass as arrays.
protocol ICEAgent {
    mutating func handle(
        _ bytes: Span<UInt8>, message: STUNMessage, from path: NetworkPath, at now: Instant,
        reply: MutableByteView
    ) -> ICEOutcome
}

extension ICELiteAgent: ICEAgent {}
extension ICEControllingAgent: ICEAgent {}

extension ICEAgent {
    mutating func handleMessage(
        _ bytes: [UInt8], _ message: STUNMessage? = nil, from path: NetworkPath, at now: Instant
    ) -> (outcome: ICEOutcome, reply: [UInt8]) {
        var outcome = ICEOutcome()
        let reply = [UInt8](unsafeUninitializedCapacity: STUNMessage.maximumSize) { buffer, count in
            guard let message = message ?? STUNMessage.parse(bytes.span) else { return }
            outcome = handle(
                bytes.span, message: message, from: path, at: now, reply: MutableByteView(buffer))
            count = outcome.replyLength
        }
        return (outcome, reply)
    }
}

extension ICEControllingAgent {
    mutating func pollMessage(at now: Instant) -> (bytes: [UInt8], path: NetworkPath)? {
        var path: NetworkPath?
        let bytes = [UInt8](unsafeUninitializedCapacity: STUNMessage.maximumSize) { buffer, count in
            guard let polled = poll(into: MutableByteView(buffer), at: now) else { return }
            count = polled.length
            path = polled.path
        }
        return path.map { (bytes, $0) }
    }
}
