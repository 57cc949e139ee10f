import PCastCore
import Testing

@testable import PCastIO

@Suite("ICE-TCP", .timeLimit(.minutes(5)))
struct StreamTests {
    @Test("RFC 4571: frames that arrive byte by byte or together are echoed as frames")
    func framing() throws {
        let loop = try EventLoop.echo("127.0.0.1:0", tcp: true)
        let peer = TestSocket.tcp(to: loop.boundAddresses[0])
        for byte: UInt8 in [0, 3, 10, 11, 12] { peer.write([byte]) }
        #expect(peer.read(5) == [0, 3, 10, 11, 12])
        // Two frames with an empty one in between.
        peer.write([0, 1, 7, 0, 0, 0, 2, 8, 9])
        #expect(peer.read(7) == [0, 1, 7, 0, 2, 8, 9])
    }

    @Test("a frame longer than a datagram closes the connection, and the machine is notified")
    func oversize() async throws {
        let received = Signal<NetworkPath>()
        let loop = try EventLoop.echo("127.0.0.1:0", tcp: true) { machine, _ in
            for path in machine.closed { received.send(path) }
            machine.closed = []
        }
        let peer = TestSocket.tcp(to: loop.boundAddresses[0])
        peer.write([0, 1, 5])
        #expect(peer.read(3) == [0, 1, 5])
        peer.write([8, 1])
        #expect(peer.read(1) == [])
        let path = try #require(await received.next())
        #expect(path.remote == peer.address)
        #expect(path.local == loop.boundAddresses[0])
    }

    @Test("the last descriptors of a process are reserved")
    func reserve() {
        #expect(!DescriptorReserve.contains(959, limit: 1_024) && DescriptorReserve.contains(960, limit: 1_024))
        #expect(!DescriptorReserve.contains(174, limit: 200) && DescriptorReserve.contains(175, limit: 200))
        #expect(!DescriptorReserve.contains(1_000_000, limit: 1 << 20))
        #expect(!DescriptorReserve.contains(1_000_000, limit: .max))
    }

    private enum Told: Hashable {
        case heard([UInt8])
        case closed
    }

    @Test("a loop connects, frames pass in both directions, and both ends are notified of the end")
    func connect() async throws {
        let closed = Signal<NetworkPath>()
        let received = Signal<Told>()
        let server = try EventLoop.echo("127.0.0.1:0", tcp: true) { machine, _ in
            for path in machine.closed { closed.send(path) }
            machine.closed = []
        }
        let client = try EventLoop.echo("127.0.0.1:0") { machine, _ in
            machine.echoes = false
            for (bytes, _, _) in machine.handled { received.send(.heard(bytes)) }
            for _ in machine.closed { received.send(.closed) }
            machine.handled = []
            machine.closed = []
        }
        var path: NetworkPath
        var first: Told?
        // If other tests delay this one for half a minute, the server has closed the connection as unauthenticated
        // before anything was sent.
        repeat {
            path = try await client.connect(to: server.boundAddresses[0], from: .loopbackV4)
            #expect(path.remote == server.boundAddresses[0])
            try client.submit { [path] machine, _ in
                machine.echoes = false
                machine.send([1, 2, 3, 4], to: path)
            }
            first = await received.next()
        } while first == .closed
        #expect(first == .heard([1, 2, 3, 4]))
        #expect(try await client.statistics().connections == 1)
        client.close(path)
        #expect(await closed.next()?.local == server.boundAddresses[0])
        #expect(try await client.statistics().connections == 0)
    }

    @Test("a rejected connection is reported")
    func refused() async throws {
        // UDP uses this port, and the kernel gives it to no socket that asks for any, so nothing listens on it over TCP.
        let loop = try EventLoop.echoAtOwnPort()
        await #expect(throws: IOError.connectFailed(loop.boundAddresses[0], errno: 111)) {
            try await loop.connect(to: loop.boundAddresses[0])
        }
    }

    @Test("a reader that does not read loses only whole frames, and the stream remains valid")
    func slowReaderLosesWholeFrames() async throws {
        let loop = try EventLoop.echo("127.0.0.1:0", tcp: true)
        let peer = TestSocket.tcp(to: loop.boundAddresses[0])
        peer.write([0, 1, 1])
        #expect(peer.read(3) == [0, 1, 1])
        let path = try #require(try await loop.call { machine, _ in machine.handled.last?.path })
        for round in 0..<16 {
            try await loop.call { machine, _ in
                for _ in 0..<1024 { machine.send([UInt8](repeating: UInt8(round), count: 1024), to: path) }
            }
        }
        let statistics = try await loop.statistics()
        #expect(statistics.sendDrops > 0)
        let kept = statistics.sent - 1
        for _ in 0..<kept {
            let frame = peer.read(1026)
            guard frame.count == 1026, frame[0] == 4, frame[1] == 0, frame[2...].allSatisfy({ $0 == frame[2] }) else {
                Issue.record("a frame is incomplete")
                return
            }
        }
    }

    /// Authenticates a connection as a peer does.
    private func authenticate(_ number: UInt32, in connections: inout TCPConnections, _ poller: borrowing Poller) {
        let event = Poller.Event(source: .connection(number), isReadable: true, isWritable: false)
        if let connection = connections.ready(number, event, poller) { connections.admitPeer(connection) }
    }

    @Test("without capacity the oldest unauthenticated connection is closed, and no peer's")
    func closesOldestUnauthenticated() throws {
        let listener = try TCPListener(binding: TransportAddress("127.0.0.1:0")!)
        let poller = try Poller()
        var connections = TCPConnections(capacity: 4)
        let start = Instant(nanoseconds: 0)
        var sockets: [TestSocket] = []
        func arrive() {
            sockets.append(TestSocket.tcp(to: listener.address))
            connections.accept(from: listener, index: 0, at: start, poller)
        }
        for _ in 0..<4 { arrive() }
        authenticate(1, in: &connections, poller)
        authenticate(3, in: &connections, poller)
        arrive()
        #expect(sockets[1].read(1) == [])
        arrive()
        #expect(sockets[3].read(1) == [])
        authenticate(5, in: &connections, poller)
        authenticate(6, in: &connections, poller)
        // All connections are authenticated, so a new one is rejected.
        arrive()
        #expect(sockets[6].read(1) == [])
        let counts = (connections.count, connections.refused)
        #expect(counts == (4, 3))
        for number in [1, 3, 5, 6] as [UInt32] {
            let event = Poller.Event(source: .connection(number), isReadable: true, isWritable: false)
            let isThere = connections.ready(number, event, poller) != nil
            #expect(isThere)
        }
    }

    @Test("a connection without an authenticated peer is closed after thirty seconds, and a peer's is not")
    func silence() throws {
        let listener = try TCPListener(binding: TransportAddress("127.0.0.1:0")!)
        let poller = try Poller()
        var connections = TCPConnections()
        let start = Instant(nanoseconds: 0)
        let silent = TestSocket.tcp(to: listener.address)
        connections.accept(from: listener, index: 0, at: start, poller)
        let speaking = TestSocket.tcp(to: listener.address)
        connections.accept(from: listener, index: 0, at: start, poller)
        authenticate(2, in: &connections, poller)
        let deadline = connections.deadline
        #expect(deadline == start + .seconds(30))

        let early = connections.closeOverdue(at: start + .seconds(29), poller)
        #expect(early.isEmpty)
        let closed = connections.closeOverdue(at: start + .seconds(30), poller)
        #expect(closed.map(\.remote) == [silent.address])
        #expect(silent.read(1) == [])
        let left = (connections.count, connections.deadline)
        #expect(left == (1, nil))
        let speakingPath = NetworkPath(
            transport: .tcp(connection: 2), local: listener.address, remote: speaking.address)
        let wasOpen = connections.close(speakingPath)
        #expect(wasOpen)
    }

    @Test("answers do not keep an unauthenticated connection open, and its queue is bounded")
    func answeredUnknownPeers() throws {
        let listener = try TCPListener(binding: TransportAddress("127.0.0.1:0")!)
        let poller = try Poller()
        var connections = TCPConnections()
        let start = Instant(nanoseconds: 0)
        let socket = TestSocket.tcp(to: listener.address)
        connections.accept(from: listener, index: 0, at: start, poller)
        let path = NetworkPath(transport: .tcp(connection: 1), local: listener.address, remote: socket.address)
        var batch = DatagramBatch()
        // The answers are those to checks with a wrong password, which nobody reads.
        for _ in 0..<200 {
            _ = batch.append([UInt8](repeating: 1, count: 80), to: path)
            connections.append(framesOf: batch)
            batch.removeAll()
        }
        let queued = connections.framesQueued
        #expect(queued > 0 && queued < 100)
        let closed = connections.closeOverdue(at: start + .seconds(30), poller)
        #expect(closed == [path])
        let count = connections.count
        #expect(count == 0)
    }

    @Test("the connections of one address are limited, with a lower limit for unauthenticated ones")
    func oneAddress() throws {
        let listener = try TCPListener(binding: TransportAddress("127.0.0.1:0")!)
        let poller = try Poller()
        var connections = TCPConnections()
        let start = Instant(nanoseconds: 0)
        var sockets: [TestSocket] = []
        for _ in 0..<300 {
            sockets.append(TestSocket.tcp(to: listener.address))
            connections.accept(from: listener, index: 0, at: start, poller)
        }
        let count = connections.count
        #expect(count <= 128)
        // The newest connections are open.
        let refused = connections.refused
        #expect(refused == 300 - count)
    }

    @Test("the state about the arrivals of one address is bounded, however often it reconnects")
    func arrivals() throws {
        let listener = try TCPListener(binding: TransportAddress("127.0.0.1:0")!)
        let poller = try Poller()
        var connections = TCPConnections()
        let start = Instant(nanoseconds: 0)
        // Without a remaining connection all state about the address is removed.
        let staying = TestSocket.tcp(to: listener.address)
        connections.accept(from: listener, index: 0, at: start, poller)
        for number in 2..<1_500 as Range<UInt32> {
            let socket = TestSocket.tcp(to: listener.address)
            connections.accept(from: listener, index: 0, at: start, poller)
            connections.close(
                NetworkPath(
                    transport: .tcp(connection: number), local: listener.address, remote: socket.address))
        }
        let (count, longest) = (connections.count, connections.longestArrivals)
        #expect(count == 1)
        #expect(longest <= 512)
        withExtendedLifetime(staying) {}
    }

    @Test("a connection that is transferred to another loop keeps its remaining time")
    func carriedDeadline() throws {
        let listener = try TCPListener(binding: TransportAddress("127.0.0.1:0")!)
        let poller = try Poller()
        var first = TCPConnections()
        var second = TCPConnections()
        let start = Instant(nanoseconds: 0)
        let socket = TestSocket.tcp(to: listener.address)
        first.accept(from: listener, index: 0, at: start, poller)
        socket.write([0, 1, 7])
        let event = Poller.Event(source: .connection(1), isReadable: true, isWritable: false)
        guard let connection = first.ready(1, event, poller) else {
            Issue.record("there is no connection")
            return
        }
        while case .nothing = connection.read() {}
        guard case .frame(let frame) = connection.nextFrame() else {
            Issue.record("no frame was read")
            return
        }
        guard let arrived = first.removeForTransfer(connection, from: frame, poller) else {
            Issue.record("the connection was not transferred")
            return
        }
        let adopted = second.adopt(arrived, poller)
        #expect(adopted != nil)
        let early = second.closeOverdue(at: start + .seconds(29), poller).count
        let closed = second.closeOverdue(at: start + .seconds(30), poller).count
        #expect(early == 0 && closed == 1)
    }

    @Test("the write queue keeps its order while it grows and wraps, and is bounded")
    func writeQueue() {
        var queue = FrameWriteQueue()
        let frame = [UInt8](repeating: 5, count: 2046)
        var accepted = 0
        while frame.withUnsafeBytes({ queue.append($0) }) { accepted += 1 }
        #expect(accepted == FrameWriteQueue.capacity / 2048)
        queue.removeFirst(2048)
        let fits = [UInt8](repeating: 6, count: 2046).withUnsafeBytes { queue.append($0) }
        #expect(fits)
        let bytes = Array(queue.pending)
        #expect(bytes.count == FrameWriteQueue.capacity)
        #expect(bytes[2] == 5)
        #expect(bytes.last == 6)
        queue.removeFirst(bytes.count)
        let isEmpty = queue.isEmpty
        #expect(isEmpty)
    }

    @Test("the reassembler finds every frame however the stream is divided")
    func reassembly() {
        var generator = SystemRandomNumberGenerator()
        var stream: [UInt8] = []
        var sizes: [Int] = []
        for _ in 0..<300 {
            let size = Int.random(in: 1...2048, using: &generator)
            sizes.append(size)
            stream += [UInt8(size >> 8), UInt8(size & 255)] + [UInt8](repeating: UInt8(size & 255), count: size)
        }
        var reassembler = FrameReassembler()
        var found: [Int] = []
        var offset = 0
        while offset < stream.count {
            let buffer = reassembler.buffer()
            let count = min(Int.random(in: 1...3000, using: &generator), buffer.count, stream.count - offset)
            stream.withUnsafeBytes {
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count]))
            }
            reassembler.append(count)
            offset += count
            while case .frame(let frame) = reassembler.next() {
                #expect(frame.allSatisfy { $0 == UInt8(frame.count & 255) })
                found.append(frame.count)
            }
        }
        #expect(found == sizes)
    }
}
