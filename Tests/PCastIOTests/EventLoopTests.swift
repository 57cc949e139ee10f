import PCastCore
import Synchronization
import Testing

@testable import PCastIO

@Suite("Event loop", .timeLimit(.minutes(5)))
struct EventLoopTests {
    @Test("a datagram is returned over IPv4 and over IPv6", arguments: ["127.0.0.1:0", "[::1]:0"])
    func echo(address: String) throws {
        let loop = try EventLoop.echo(address)
        let peer = TestSocket.udp(address)
        peer.send([1, 2, 3], to: loop.boundAddresses[0])
        let answer = try #require(peer.receive())
        #expect(answer.bytes == [1, 2, 3])
        #expect(answer.from == loop.boundAddresses[0])
        loop.stop()
    }

    @Test("on a wildcard socket the answer is sent from the address to which the request was sent")
    func answersFromDestinationAddress() async throws {
        let loop = try EventLoop.echo("0.0.0.0:0")
        let peer = TestSocket.udp("127.0.0.3:0")
        let addressed = TransportAddress(ip: IPAddress("127.0.0.2")!, port: loop.port)
        peer.send([7], to: addressed)
        let answer = try #require(peer.receive())
        #expect(answer.from == addressed)
        let paths = try await loop.call { machine, _ in machine.handled.map(\.path) }
        #expect(paths == [NetworkPath(local: addressed, remote: peer.address)])
    }

    @Test("one loop on both wildcards receives IPv4 and IPv6 on one port, each in its own family")
    func bothWildcardsOnOnePort() async throws {
        let loop = try EventLoop.echo("0.0.0.0:0", "[::]:0")
        #expect(loop.boundAddresses[1].port == loop.port)
        let four = TestSocket.udp("127.0.0.1:0")
        let six = TestSocket.udp("[::1]:0")
        four.send([4], to: TransportAddress(ip: .loopbackV4, port: loop.port))
        six.send([6], to: TransportAddress(ip: IPAddress("::1")!, port: loop.port))
        #expect(four.receive()?.bytes == [4])
        #expect(six.receive()?.from == TransportAddress(ip: IPAddress("::1")!, port: loop.port))
        let families = try await loop.call { machine, _ in machine.handled.map(\.path.local.ip.family) }
        #expect(Set(families) == [.v4, .v6])
    }

    @Test("a port that another socket uses is rejected, also for TCP alone")
    func addressInUse() throws {
        let holder = TestSocket.udp()
        #expect(throws: IOError.addressInUse(holder.address)) {
            try EventLoop.echo(holder.address.description)
        }
        let listener = try TCPListener(binding: TransportAddress("127.0.0.1:0")!)
        #expect(throws: IOError.addressInUse(listener.address)) {
            try EventLoop.echo(listener.address.description, tcp: true)
        }
        #expect(IOError.addressInUse(holder.address).description.contains("ss -lnptu"))
    }

    @Test("an address that the machine does not have is rejected with advice")
    func addressNotAvailable() {
        let address = TransportAddress("192.0.2.77:0")!
        #expect(throws: IOError.addressNotAvailable(address)) { try EventLoop.echo(address.description) }
    }

    @Test("the machine is notified of the next paths before the first of several datagrams")
    func expectation() async throws {
        let loop = try EventLoop.echo("127.0.0.1:0")
        let peers = (0..<10).map { _ in TestSocket.udp() }
        let paths = peers.map { NetworkPath(local: loop.boundAddresses[0], remote: $0.address) }
        let target = loop.boundAddresses[0]
        // No other thread uses them meanwhile.
        nonisolated(unsafe) let senders = peers
        // While the loop is busy nothing is received, so all datagrams are present when it continues.
        try await loop.call { _, _ in
            for peer in senders {
                peer.send([1], to: target)
                peer.send([2, 2], to: target)
            }
        }
        for peer in peers { for _ in 0..<2 { _ = try #require(peer.receive()) } }
        let (expected, handled) = try await loop.call { machine, _ in (machine.expected, machine.handled.map(\.path)) }
        #expect(handled == paths.flatMap { [$0, $0] })
        #expect(expected.map(\.handled) == [0, 8, 16])
        #expect(expected.map(\.paths) == [Array(paths[0..<4]), Array(paths[4..<8]), Array(paths[8...])])
        loop.stop()
    }

    @Test("pending datagrams are received before anything is sent, for some milliseconds")
    func intake() async throws {
        let loop = try EventLoop.echo("127.0.0.1:0")
        let peer = TestSocket.udp()
        let target = loop.boundAddresses[0]
        let count = 4 * DatagramReceiver.batchSize
        // No other thread uses it meanwhile. The loop's own thread sends, so that all datagrams are present when it
        // reads.
        nonisolated(unsafe) let sender = peer
        try await loop.call { _, _ in for _ in 0..<count { sender.send([1], to: target) } }
        for _ in 0..<count { _ = try #require(peer.receive()) }
        let (polled, times) = try await loop.call { machine, _ in (machine.polled, machine.pollTimes) }
        // On a busy machine the time of 10 ms may pass in between. Polls after each batch would follow each other at once.
        let between = zip(polled, times).filter { (1..<count).contains($0.0) }.map(\.1)
        for (earlier, later) in zip(between, between.dropFirst()) { #expect(later - earlier >= .milliseconds(10)) }
        loop.stop()
    }

    @Test("submitted work of several threads is done in order, and before a stop")
    func mailboxOrder() throws {
        let order = Mutex<[Int]>([])
        let loop = try EventLoop.echo("127.0.0.1:0")
        let workers = try (0..<3).map { thread in
            try WorkerThread(name: "submitter") {
                for index in 0..<1000 {
                    try? loop.submit { _, _ in order.withLock { $0.append(thread * 1000 + index) } }
                }
            }
        }
        for worker in workers { worker.join() }
        loop.stop()
        let done = order.withLock { $0 }
        #expect(done.count == 3000)
        for thread in 0..<3 {
            #expect(done.filter { $0 / 1000 == thread } == Array(thread * 1000..<(thread + 1) * 1000))
        }
    }

    @Test("output of submitted work is sent without waiting for anything else")
    func submitPolls() throws {
        let loop = try EventLoop.echo("127.0.0.1:0")
        let peer = TestSocket.udp()
        let path = NetworkPath(local: loop.boundAddresses[0], remote: peer.address)
        try loop.submit { machine, _ in machine.send([9, 9], to: path) }
        #expect(peer.receive()?.bytes == [9, 9])
    }

    @Test("work beyond the mailbox's bound is rejected and counted")
    func mailboxBound() throws {
        let mailbox = try LoopMailbox<Int>()
        for index in 0..<LoopMailbox<Int>.capacity { try mailbox.append(index) }
        #expect(throws: IOError.mailboxFull) { try mailbox.append(-1) }
        #expect(mailbox.overflows == 1)
        let (items, isClosed, next) = mailbox.take(isSignalled: true, at: MonotonicClock.now())
        #expect(items == Array(0..<LoopMailbox<Int>.capacity))
        #expect(!isClosed)
        #expect(next == nil)
        try mailbox.append(1)
        mailbox.close()
        #expect(throws: IOError.stopped) { try mailbox.append(2) }
        #expect(mailbox.take(isSignalled: true, at: MonotonicClock.now()).items == [1])
    }

    @Test("the machine's time advances at its deadline, not before")
    func deadline() async throws {
        let woken = Signal<Instant>()
        let loop = try EventLoop.echo("127.0.0.1:0") { machine, _ in
            for wake in machine.wakes { woken.send(wake) }
            machine.wakes = []
        }
        let wanted = try await loop.call { machine, now in
            machine.deadline = now + .microseconds(2_500)
            return machine.deadline!
        }
        let wake = try #require(await woken.next())
        #expect(wake >= wanted)
        #expect(wake - wanted < .seconds(120))
        #expect(try await loop.call { machine, _ in machine.deadline } == nil)
    }

    @Test("deferrable work is done when the thread is awake for another reason, and does not wake it")
    func earliestDeadline() async throws {
        let loop = try EventLoop.echo("127.0.0.1:0")
        let wanted = try await loop.call { machine, now in
            machine.deadline = now + .seconds(600)
            // It is later than the end of this iteration.
            machine.earlier = now + .seconds(1)
            return machine.earlier!
        }
        let peer = TestSocket.udp()
        // The thread would have been woken by then.
        FramePacing.sleep(until: wanted + .milliseconds(20))
        let before = MonotonicClock.now()
        peer.send([1], to: loop.boundAddresses[0])
        _ = try #require(peer.receive())
        let wakes = try await loop.call { machine, _ in machine.wakes }
        #expect(wakes.count == 1 && wakes.allSatisfy { $0 >= before })
    }

    @Test("after a suspension of the thread, submitted messages are processed before deadlines")
    func standstill() async throws {
        let loop = try EventLoop.echo(
            "127.0.0.1:0",
            beforeSending: { machine, now in
                // A message from the publisher's shard extends a replica's deadline in this way.
                if let deadline = machine.deadline, deadline <= now { machine.deadline = nil }
            })
        try await loop.call { machine, now in
            let deadline = now + .milliseconds(1)
            machine.deadline = deadline
            while MonotonicClock.now() <= deadline {}
        }
        #expect(try await loop.call { machine, _ in machine.wakes } == [])
    }

    @Test("time never goes backwards for the machine, and arrivals lie between its instants")
    func monotonicArrivals() async throws {
        let loop = try EventLoop.echo("127.0.0.1:0")
        let peer = TestSocket.udp()
        let before = MonotonicClock.now()
        for index in 0..<200 { peer.send([UInt8(index)], to: loop.boundAddresses[0]) }
        for _ in 0..<200 { _ = peer.receive() }
        let times = try await loop.call { machine, _ in machine.handled.map(\.at) }
        #expect(times.count == 200)
        #expect(times == times.sorted())
        #expect(times.allSatisfy { $0 >= before - .milliseconds(1) && $0 <= MonotonicClock.now() })
    }

    @Test("a stopped loop rejects work, can be stopped again, and releases its port")
    func stopTwice() async throws {
        let loop = try EventLoop.echoAtOwnPort(tcp: true)
        let address = loop.boundAddresses[0]
        loop.stop()
        loop.stop()
        #expect(throws: IOError.stopped) { try loop.submit { _, _ in } }
        await #expect(throws: IOError.stopped) { try await loop.call { _, _ in 1 } }
        await #expect(throws: IOError.stopped) { try await loop.statistics() }
        let next = try EventLoop.echo(address.description, tcp: true)
        #expect(next.boundAddresses == [address])
    }

    @Test("releasing a loop ends its thread and closes its sockets, also on its own thread")
    func release() async throws {
        var loop: EventLoop<EchoMachine>? = try EventLoop.echoAtOwnPort()
        let address = loop!.boundAddresses[0]
        loop = nil
        _ = try UDPSocket(binding: address, bufferSize: 65_536)

        let released = Signal<Bool>()
        let box = Mutex<EventLoop<EchoMachine>?>(try EventLoop.echo("127.0.0.1:0"))
        let work: @Sendable (inout EchoMachine, Instant) -> Void = { _, _ in
            box.withLock { $0 = nil }
            released.send(true)
        }
        let submitted = box.withLock { loop in Result { try loop?.submit(work) } }
        try submitted.get()
        #expect(await released.next() == true)
    }

    @Test("a hundred thousand datagrams are sent and counted")
    func throughput() async throws {
        let loop = try EventLoop.echo("127.0.0.1:0")
        let sink = TestSocket.udp()
        let path = NetworkPath(local: loop.boundAddresses[0], remote: sink.address)
        for _ in 0..<100 {
            try await loop.call { machine, _ in
                for _ in 0..<1000 { machine.send([UInt8](repeating: 1, count: 100), to: path) }
            }
        }
        let statistics = try await loop.statistics()
        #expect(statistics.sent + statistics.sendDrops == 100_000)
        #expect(statistics.sendErrors == 0)
        #expect(statistics.segments >= statistics.segmentedMessages * 2)
    }
}
