import Dispatch
import PCastCore
import Testing

@testable import PCastIO

/// These tests use real sockets, because the kernel distinguishes the datagrams.
@Suite("Datagrams that may wait", .timeLimit(.minutes(5)))
struct DeferredReceiveTests {
    /// Datagrams that begin with 0x81, 0xC9 may wait, whatever the lowest five bits of the first byte are.
    private static let deferred = DeferredReceive([DatagramPattern(mask: 0xE0FF, value: 0x80C9)])
    private static let report: [UInt8] = [0x81, 0xC9, 0, 1]
    private static let request: [UInt8] = [0x81, 0xCD, 0, 2]

    private static func loop(
        _ addresses: String..., loops: Int = 1, deferred: DeferredReceive = deferred
    ) throws -> EventLoop<EchoMachine> {
        try EventLoop(
            name: "deferred", listen: addresses.map { TransportAddress($0)! }, tcpListen: false, loops: loops,
            deferred: deferred, makeMachine: { _ in EchoMachine() }, afterIteration: { _, _ in })
    }

    @Test("urgent datagrams are processed before earlier deferrable ones", arguments: ["127.0.0.1:0", "[::1]:0"])
    func order(address: String) async throws {
        let loop = try Self.loop(address)
        #expect(loop.deferred == Self.deferred)
        let peer = TestSocket.udp(address)
        let target = loop.boundAddresses[0]
        nonisolated(unsafe) let sender = peer
        // While the loop is busy nothing is received, so all datagrams are present when it continues.
        try await loop.call { _, _ in
            for _ in 0..<4 { sender.send(Self.report, to: target) }
            sender.send(Self.request, to: target)
            // The datagram is too short to be recognized.
            sender.send([0x81], to: target)
        }
        for _ in 0..<6 {
            let answer = try #require(peer.receive())
            #expect(answer.from == target)
        }
        let handled = try await loop.call { machine, _ in machine.handled.map(\.bytes) }
        #expect(handled == [Self.request, [0x81]] + Array(repeating: Self.report, count: 4))
    }

    @Test("later ones of many deferrable datagrams wait for the timer, their delay is reported, and none is lost")
    func many() async throws {
        let interval = TimeSpan.milliseconds(200)
        let deferred = DeferredReceive(Self.deferred.patterns, interval: interval, timeout: interval * 2)
        let loop = try Self.loop("127.0.0.1:0", deferred: deferred)
        let peer = TestSocket.udp()
        let target = loop.boundAddresses[0]
        nonisolated(unsafe) let sender = peer
        let count = 2 * ReceiveCoalescing.many
        // All datagrams that the loop's own thread sends are present when it reads.
        try await loop.call { _, _ in for _ in 0..<count { sender.send(Self.report, to: target) } }
        for _ in 0..<count { _ = try #require(peer.receive()) }
        let sent = try await loop.call { _, _ in
            for _ in 0..<3 {
                sender.send(Self.report, to: target)
                sender.send(Self.request, to: target)
            }
            return MonotonicClock.now()
        }
        for _ in 0..<6 { _ = try #require(peer.receive()) }
        let (handled, waits) = try await loop.call { machine, _ in (machine.handled, machine.waits) }
        #expect(handled.count == count + 6)
        // However late the thread is, it does not read before the interval is over.
        let first = handled[count - 1].at
        let later = zip(handled, waits).dropFirst(count).filter { $0.0.bytes == Self.report }
        #expect(later.count == 3)
        for (read, waited) in later {
            #expect(read.at - first >= interval && waited <= read.at - first)
            // The clocks of the kernel and of the machine are compared by reading both.
            #expect(waited >= read.at - sent - .milliseconds(1))
        }
    }

    @Test("a thread that is awake for another reason first answers that, and then reads deferred datagrams")
    func receivesAfterOtherWork() async throws {
        let deferred = DeferredReceive(Self.deferred.patterns, interval: .milliseconds(20), timeout: .seconds(600))
        let loop = try Self.loop("127.0.0.1:0", deferred: deferred)
        let (peer, other) = (TestSocket.udp(), TestSocket.udp())
        let target = loop.boundAddresses[0]
        nonisolated(unsafe) let sender = peer
        let count = 2 * ReceiveCoalescing.many
        try await loop.call { _, _ in for _ in 0..<count { sender.send(Self.report, to: target) } }
        for _ in 0..<count { _ = try #require(peer.receive()) }
        peer.send(Self.report, to: target)
        var handled = 0
        while handled == 0 {
            other.send(Self.request, to: target)
            _ = try #require(other.receive())
            handled = try await loop.call { machine, _ in
                machine.handled.dropFirst(count).count { $0.bytes == Self.report }
            }
        }
        let (read, polled) = try await loop.call { machine, _ in (machine.handled, machine.polled) }
        let position = try #require(read.lastIndex { $0.bytes == Self.report })
        #expect(read[position].at - read[count - 1].at >= deferred.interval)
        // Earlier datagrams were answered by then.
        #expect(polled.contains(position))
    }

    @Test("one of two loops receives all datagrams of a sender, urgent or not", arguments: ["127.0.0.1:0", "[::1]:0"])
    func twoLoops(address: String) async throws {
        let first = try Self.loop(address, loops: 2)
        let second = try EventLoop(
            name: "second", beside: first, makeMachine: { _ in EchoMachine() }, afterIteration: { _, _ in })
        let peers = (0..<64).map { _ in TestSocket.udp(address) }
        for peer in peers {
            for bytes in [Self.report, Self.request, Self.report] { peer.send(bytes, to: first.boundAddresses[0]) }
            for _ in 0..<3 { _ = try #require(peer.receive()) }
        }
        var senders: [Set<TransportAddress>] = []
        for loop in [first, second] {
            senders.append(try await loop.call { machine, _ in Set(machine.handled.map(\.path.remote)) })
        }
        #expect(senders[0].isDisjoint(with: senders[1]))
        // By chance alone all 64 senders use the same loop once in 9 x 10^18 times.
        #expect(!senders[0].isEmpty && !senders[1].isEmpty)
    }

    @Test("each of two loops processes urgent datagrams first", arguments: ["127.0.0.1:0", "[::1]:0"])
    func twoLoopsInOrder(address: String) async throws {
        let first = try Self.loop(address, loops: 2)
        let second = try EventLoop(
            name: "second", beside: first, makeMachine: { _ in EchoMachine() }, afterIteration: { _, _ in })
        let target = first.boundAddresses[0]
        // This is at most one batch.
        nonisolated(unsafe) let peers = (0..<DatagramReceiver.batchSize).map { _ in TestSocket.udp(address) }
        // While both loops are busy neither receives, so all datagrams are present when they continue.
        let (stands, continuesHere) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        try second.submit { _, _ in
            stands.signal()
            continuesHere.wait()
        }
        try await first.call { _, _ in
            stands.wait()
            for peer in peers {
                peer.send(Self.report, to: target)
                peer.send(Self.request, to: target)
            }
            continuesHere.signal()
        }
        for peer in peers { for _ in 0..<2 { _ = try #require(peer.receive()) } }
        for loop in [first, second] {
            let handled = try await loop.call { machine, _ in machine.handled.map(\.bytes) }
            let count = handled.count / 2
            #expect(
                handled == Array(repeating: Self.request, count: count) + Array(repeating: Self.report, count: count))
        }
    }

    @Test("if the kernel cannot distinguish the datagrams, all are read as they arrive")
    func refused() async throws {
        // The program is longer than the kernel accepts.
        let patterns = (0..<2_000).map { DatagramPattern(mask: 0xFFFF, value: 0xC000 | UInt16($0)) }
        let loop = try Self.loop("127.0.0.1:0", "[::1]:0", deferred: DeferredReceive(patterns))
        #expect(loop.deferred == nil)
        let peer = TestSocket.udp()
        for bytes in [Self.report, Self.request, [0xC0, 7]] {
            peer.send(bytes, to: loop.boundAddresses[0])
            #expect(peer.receive()?.bytes == bytes)
        }
        // The address cannot be shared by others, either.
        #expect(throws: IOError.addressInUse(loop.boundAddresses[0])) {
            try Self.loop(loop.boundAddresses[0].description)
        }
    }
}

@Suite("The timing of deferred reading")
struct ReadingPaceTests {
    private var pace = ReceiveCoalescing(interval: .milliseconds(10), timeout: .milliseconds(40))

    private func at(_ milliseconds: Double) -> Instant {
        Instant(nanoseconds: 1_000_000_000 + Int64(milliseconds * 1_000_000))
    }

    @Test("a few datagrams are read at once, and the kernel notifies again")
    mutating func little() {
        for time in [3.0, 17, 400] {
            #expect(pace.due == nil)
            pace.arrived(at: at(time))
            #expect(pace.isDue(at: at(time)))
            #expect(pace.read(1, at: at(time)) == true)
        }
    }

    @Test("datagrams are not read more often than the interval allows")
    mutating func soonAgain() {
        pace.arrived(at: at(3))
        _ = pace.read(2, at: at(3))
        pace.arrived(at: at(4))
        #expect(!pace.isDue(at: at(12.9)) && pace.due == at(13) && pace.isDue(at: at(13)))
        // The kernel notifies once, and a second notification has no effect.
        pace.arrived(at: at(8))
        #expect(pace.due == at(13))
        #expect(pace.read(3, at: at(13)) == true)
        #expect(pace.due == nil)
    }

    @Test("many datagrams are read by a thread that is awake after the interval, or by the timer")
    mutating func much() {
        pace.arrived(at: at(3))
        #expect(pace.read(ReceiveCoalescing.many, at: at(3)) == false)
        #expect(pace.due == at(43) && !pace.isDue(at: at(12.9)) && pace.isDue(at: at(13)))
        #expect(pace.read(40, at: at(20)) == false)
        #expect(pace.due == at(60) && !pace.isDue(at: at(29.9)) && pace.isDue(at: at(30)))
        // After a long suspension the omitted readings are not repeated.
        #expect(pace.read(400, at: at(155)) == false)
        #expect(pace.due == at(195))
    }

    @Test("after many datagrams the timer continues for a while, and then the kernel notifies again")
    mutating func between() {
        pace.arrived(at: at(3))
        _ = pace.read(ReceiveCoalescing.many, at: at(3))
        for time in [36.0, 69, 102, 135, 168, 201] {
            #expect(pace.read(ReceiveCoalescing.many - 1, at: at(time)) == false)
            #expect(pace.due == at(time + 40))
        }
        #expect(pace.read(0, at: at(203)) == true)
        #expect(pace.due == nil && !pace.isDue(at: at(1_000)))
    }

    @Test("datagrams that could not be read in time are read sooner")
    mutating func more() {
        pace.arrived(at: at(3))
        #expect(pace.read(4_000, hasMore: true, at: at(3)) == false)
        #expect(pace.due == at(13))
    }
}
