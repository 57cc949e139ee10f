import PCastCore
import PCastIO
import PCastWebRTC
import Testing

@testable import PCastPlatform

/// The public address that STUN servers report, which may change while the platform runs.
@Suite struct PublicAddressTests {
    /// A STUN server that reports an address of the test's choice; nil to be silent.
    private struct Server: DatagramMachine {
        var reported: IPAddress?
        private var answers: [(NetworkPath, STUNTransactionID)] = []
        /// The port that the NAT has assigned.
        private static let port: UInt16 = 40_000

        init(reporting address: IPAddress?) { reported = address }

        mutating func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant) {
            guard let message = STUNMessage.parse(datagram.span), message.messageClass == .request else { return }
            answers.append((path, message.transactionID))
        }

        mutating func advance(to now: Instant) {}

        mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
            guard let reported else {
                answers.removeAll()
                return false
            }
            while let (path, transaction) = answers.last {
                guard let buffer = batch.reserve() else { return true }
                answers.removeLast()
                var writer = STUNMessageWriter(.success, transactionID: transaction, into: buffer)
                writer.addMappedAddress(TransportAddress(ip: reported, port: Self.port))
                batch.commit(length: writer.finish(key: nil), to: path)
            }
            return false
        }

        mutating func pathClosed(_ path: NetworkPath, at now: Instant) {}

        var deadline: Instant? { nil }
    }

    private let first = IPAddress("203.0.113.7")!
    private let second = IPAddress("203.0.113.8")!

    private func start(reporting address: IPAddress?) throws -> EventLoop<Server> {
        try EventLoop(
            name: "stun", listen: [TransportAddress(ip: .loopbackV4, port: 0)], tcpListen: false,
            makeMachine: { _ in Server(reporting: address) }, afterIteration: { (_: inout Server, _) in })
    }

    private func run(
        _ server: EventLoop<Server>, _ body: (TestPlatform) async throws -> Void
    ) async throws {
        let configure: (inout PlatformConfiguration) -> Void = {
            $0.host = "0.0.0.0"
            $0.stunServers = server.boundAddresses
            $0.stunInterval = .milliseconds(100)
        }
        try await TestPlatform.runConfigured(configure: configure, body)
    }

    /// Returns the ports of the candidates of an address in the answer to a new publisher.
    private func candidates(_ address: IPAddress, _ platform: TestPlatform) async throws -> Set<String> {
        let token = try Tokens.make(TestPlatform.application) { $0.forPublishingOnly() }
        let answer = try await platform.post("/whip", try Offers.publisher(), token: token)
        try #require(answer.status == 201)
        return Set(
            answer.body.split(whereSeparator: \.isNewline).compactMap { line in
                let words = line.split(separator: " ")
                return line.hasPrefix("a=candidate:") && words.count > 5 && words[4] == "\(address)"
                    ? String(words[5]) : nil
            })
    }

    @Test("new clients receive an address that has changed, with the port of the first one", .timeLimit(.minutes(5)))
    func changed() async throws {
        let server = try start(reporting: first)
        defer { server.stop() }
        try await run(server) { platform in
            // The response may be later than the start.
            #expect(try await eventually { try await !candidates(first, platform).isEmpty })
            let ports = try await candidates(first, platform)
            #expect(try await candidates(second, platform).isEmpty)
            let next = second
            try server.submit { machine, _ in machine.reported = next }
            #expect(try await eventually { try await candidates(second, platform) == ports })
            #expect(try await candidates(first, platform).isEmpty)
        }
    }

    @Test("a server that responds later than the start is used, and one that becomes silent changes nothing")
    func rules() {
        let port: UInt16 = 8_189
        let known = [TransportAddress(ip: first, port: 40_000)]
        #expect(AddressDiscovery.update([], answers: [], rtcPort: port).isEmpty)
        #expect(AddressDiscovery.update(known, answers: [], rtcPort: port) == known)
        #expect(AddressDiscovery.update(known, answers: [first, first], rtcPort: port) == known)
        #expect(
            AddressDiscovery.update([], answers: [first, first], rtcPort: port)
                == [TransportAddress(ip: first, port: port)])
        #expect(
            AddressDiscovery.update(known, answers: [second], rtcPort: port)
                == [TransportAddress(ip: second, port: 40_000)])
        #expect(
            AddressDiscovery.update(known, answers: [first, second], rtcPort: port)
                == [TransportAddress(ip: first, port: 40_000), TransportAddress(ip: second, port: 40_000)])
    }

    @Test("without responses the servers are queried again after 5 s, then less often, up to the interval")
    func schedule() {
        var schedule = PublicAddressSchedule(interval: .seconds(120))
        #expect(schedule.next(isKnown: true) == .seconds(120))
        #expect(schedule.next(isKnown: false) == .seconds(5))
        var waits: [TimeSpan] = []
        for _ in 0..<7 {
            schedule.queried(isAnswered: false)
            waits.append(schedule.next(isKnown: true))
        }
        #expect(waits == [5, 10, 20, 40, 80, 120, 120].map { TimeSpan.seconds($0) })
        schedule.queried(isAnswered: true)
        #expect(schedule.next(isKnown: true) == .seconds(120))
    }
}
