import Glibc
import PCastCore
import Testing

@testable import PCastIO

/// The end-to-end tests examine what the network observes of these addresses; no network is involved here.
@Suite("Addresses for programs of this machine alone", .timeLimit(.minutes(5)))
struct LocalTrafficTests {
    private static func loop(
        _ listen: String = "127.0.0.1:0", loops: Int = 1, deferred: DeferredReceive? = nil
    ) throws -> EventLoop<EchoMachine> {
        try EventLoop(
            name: "local", listen: [TransportAddress(listen)!], localOnly: [.anyV4, IPAddress("::")!], tcpListen: true,
            loops: loops, deferred: deferred, makeMachine: { _ in EchoMachine() }, afterIteration: { _, _ in })
    }

    @Test("datagrams to any address of this machine are answered from the address to which they were sent")
    func datagrams() async throws {
        let loop = try Self.loop()
        #expect(loop.boundAddresses.map(\.ip) == [.loopbackV4])
        #expect(loop.localOnlyWarnings.isEmpty)
        let port = loop.boundAddresses[0].port
        #expect(loop.localOnlyAddresses.allSatisfy { $0.port == port && $0.ip.isUnspecified })
        let own = try LocalAddress.all().map { TransportAddress(ip: $0.ip, port: port) }
        for address in own + [TransportAddress("127.0.0.9:\(port)")!] {
            let socket = address.ip.family == .v4 ? TestSocket.udp() : TestSocket.udp("[::1]:0")
            if address.ip.family == .v6, address.ip != IPAddress("::1")! { continue }
            socket.send([1, 2], to: address)
            let answer = try #require(socket.receive())
            #expect(answer.bytes == [1, 2] && answer.from == address)
        }
    }

    @Test("connections to any address of this machine are accepted")
    func connections() async throws {
        let loop = try Self.loop()
        for ip in ["127.0.0.1", "127.0.0.9"] {
            let connection = TestSocket.tcp(to: TransportAddress("\(ip):\(loop.boundAddresses[0].port)")!)
            connection.write([0, 1, 7])
            #expect(connection.read(3) == [0, 1, 7])
        }
    }

    @Test("loops that share an address share these addresses too, with separate sockets for deferrable datagrams")
    func shared() async throws {
        let first = try Self.loop(loops: 2, deferred: DeferredReceive([DatagramPattern(mask: 0xFF00, value: 0x0900)]))
        let second = try EventLoop(
            name: "second", beside: first, makeMachine: { _ in EchoMachine() }, afterIteration: { _, _ in })
        #expect(second.localOnlyAddresses == first.localOnlyAddresses)
        let address = TransportAddress("127.0.0.9:\(first.boundAddresses[0].port)")!
        let sockets = (0..<32).map { _ in TestSocket.udp() }
        for socket in sockets {
            for mark: UInt8 in [1, 9] {
                socket.send([mark, 5], to: address)
                let answer = try #require(socket.receive())
                #expect(answer.bytes == [mark, 5] && answer.from == address)
            }
        }
        let counts = [
            try await first.call { machine, _ in machine.handled.count },
            try await second.call { machine, _ in machine.handled.count },
        ]
        #expect(counts.reduce(0, +) == 64 && counts.allSatisfy { $0 > 0 })
    }

    /// Returns another program's socket at 127.0.0.9, and a loop that has the same port at 127.0.0.1.
    ///
    /// The kernel chooses the port. If a third socket has it at 127.0.0.1, both get another port. The refused sockets
    /// stay open meanwhile, so that the kernel does not choose their ports again.
    private static func sharingPort() throws -> (other: TestSocket, loop: EventLoop<EchoMachine>) {
        var refused: [TestSocket] = []
        while true {
            let other = TestSocket.udp("127.0.0.9:0")
            do {
                return (other, try loop("127.0.0.1:\(other.address.port)"))
            } catch IOError.addressInUse where refused.count < 100 {
                refused.append(other)
            }
        }
    }

    @Test("another program with the port at an address of this machine still receives datagrams to that address")
    func taken() throws {
        let (other, loop) = try Self.sharingPort()
        let port = other.address.port
        let socket = TestSocket.udp()
        socket.send([4], to: TransportAddress("127.0.0.9:\(port)")!)
        #expect(other.receive()?.bytes == [4])
        socket.send([3], to: loop.boundAddresses[0])
        #expect(socket.receive()?.bytes == [3])
    }

    @Test("the port cannot be bound by a later program, at these addresses and at the others")
    func exclusive() throws {
        let loop = try Self.loop()
        for ip in ["127.0.0.1", "127.0.0.9", "0.0.0.0"] {
            let address = TransportAddress("\(ip):\(loop.boundAddresses[0].port)")!
            #expect(throws: IOError.addressInUse(address)) { try UDPSocket(binding: address, bufferSize: 4096) }
            #expect(throws: IOError.addressInUse(address)) { try TCPListener(binding: address) }
        }
    }
}
