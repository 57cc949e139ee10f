import PCastCore
import Testing

@testable import PCastIO

@Suite("Receiving datagrams", .timeLimit(.minutes(5)))
struct DatagramReceiverTests {
    private let source: UDPSocket
    private let now = Instant(nanoseconds: 0)

    init() throws {
        source = try UDPSocket(binding: TransportAddress("127.0.0.1:0")!, bufferSize: 1 << 20)
    }

    private static func content(_ index: Int, _ size: Int) -> [UInt8] {
        (0..<size).map { UInt8(truncatingIfNeeded: index &* 31 &+ $0) }
    }

    /// Sends datagrams consecutively in one batch, so that the kernel receives those of one size as one message.
    private func send(_ sizes: [Int], to target: UDPSocket) {
        let path = NetworkPath(local: source.address, remote: target.address)
        var batch = DatagramBatch()
        for (index, size) in sizes.enumerated() {
            let added = batch.append(Self.content(index, size), to: path)
            precondition(added)
        }
        var sender = DatagramSender()
        sender.send(batch, over: [source], at: now)
        precondition(sender.counts.sent == sizes.count)
    }

    /// Receives everything that has arrived at a loopback socket, in order.
    private func receiveAll(_ receiver: inout DatagramReceiver, from socket: UDPSocket) -> [[UInt8]] {
        var all: [[UInt8]] = []
        while true {
            let count = receiver.receive(from: socket)
            if count == 0 { return all }
            for index in 0..<count {
                guard let datagram = receiver.datagram(index) else { continue }
                #expect(datagram.remote == source.address)
                #expect(datagram.arrival != nil)
                all.append(Array(datagram.bytes))
            }
        }
    }

    @Test(
        "on a wildcard socket the kernel reports the destination of each datagram, otherwise it does not",
        arguments: [("0.0.0.0", "127.0.0.3"), ("127.0.0.3", "127.0.0.3"), ("::", "::1"), ("::1", "::1")])
    func destinations(bound: String, meant: String) throws {
        let (bound, meant) = (try #require(IPAddress(bound)), try #require(IPAddress(meant)))
        let target = try UDPSocket(binding: TransportAddress(ip: bound, port: 0), bufferSize: 1 << 20)
        let source = try UDPSocket(
            binding: TransportAddress(ip: meant.family == .v4 ? .loopbackV4 : meant, port: 0), bufferSize: 1 << 20)
        let remote = TransportAddress(ip: meant, port: target.address.port)
        var batch = DatagramBatch()
        let added = batch.append(Self.content(0, 9), to: NetworkPath(local: source.address, remote: remote))
        #expect(added)
        var sender = DatagramSender()
        sender.send(batch, over: [source], at: now)
        var receiver = DatagramReceiver()
        #expect(receiver.receive(from: target) == 1)
        let datagram = receiver.datagram(0)
        #expect(datagram?.remote == source.address)
        #expect(datagram?.local == (bound.isUnspecified ? meant : nil))
    }

    private static let sizes = [1200, 1200, 1200, 700, 1, 0, 900, 900] + Array(repeating: 1000, count: 40)

    @Test(
        "datagrams that were sent as one message are separated in order, whether the kernel coalesces them or not",
        arguments: [true, false])
    func segments(coalesces: Bool) throws {
        let target = try UDPSocket(
            binding: TransportAddress("127.0.0.1:0")!, bufferSize: 1 << 20, coalesces: coalesces)
        send(Self.sizes, to: target)
        var receiver = DatagramReceiver()
        let received = receiveAll(&receiver, from: target)
        #expect(received == Self.sizes.enumerated().map { Self.content($0, $1) })
        if !coalesces { #expect(receiver.coalescedMessages == 0) }
        if target.coalesces {
            // 1200 1200 1200 700 | 900 900 | 40 of 1000
            #expect(receiver.coalescedMessages == 3)
            #expect(receiver.coalesced == 4 + 2 + 40)
        }
    }

    @Test("writing to one datagram of a message does not affect the others")
    func inPlace() throws {
        let target = try UDPSocket(binding: TransportAddress("127.0.0.1:0")!, bufferSize: 1 << 20)
        send([333, 333, 333], to: target)
        var receiver = DatagramReceiver()
        let count = receiver.receive(from: target)
        #expect(count == 3)
        for index in 0..<count {
            let datagram = receiver.datagram(index)
            let bytes = try #require(datagram?.bytes)
            #expect(Array(bytes) == Self.content(index, 333))
            for offset in bytes.indices { bytes[offset] = 0xEE }
        }
    }

    @Test("a message of the largest size is received completely, and larger ones do not disturb it")
    func largestMessage() throws {
        let target = try UDPSocket(binding: TransportAddress("127.0.0.1:0")!, bufferSize: 1 << 20)
        send(Array(repeating: 2048, count: 31), to: target)
        let peer = TestSocket.udp()
        peer.send([UInt8](repeating: 1, count: 60_000), to: target.address)
        var receiver = DatagramReceiver()
        let count = receiver.receive(from: target)
        #expect(count == 32)
        for index in 0..<31 {
            let datagram = receiver.datagram(index)
            #expect(datagram.map { Array($0.bytes) } == Self.content(index, 2048))
            #expect(datagram?.isTruncated == false)
        }
        let oversize = receiver.datagram(31)
        #expect(oversize?.isTruncated == true)
    }

    @Test("a loop counts datagrams that arrived together")
    func counted() async throws {
        let loop = try EventLoop.echo("127.0.0.1:0")
        let path = NetworkPath(local: source.address, remote: loop.boundAddresses[0])
        var batch = DatagramBatch()
        for index in 0..<10 {
            let added = batch.append(Self.content(index, 500), to: path)
            #expect(added)
        }
        var sender = DatagramSender()
        sender.send(batch, over: [source], at: now)
        while try await loop.statistics().received < 10 { try await ContinuousClock().sleep(for: .milliseconds(1)) }
        let statistics = try await loop.statistics()
        #expect(statistics.received == 10)
        if source.coalesces {
            #expect(statistics.coalescedMessages == 1)
            #expect(statistics.coalesced == 10)
        }
    }
}
