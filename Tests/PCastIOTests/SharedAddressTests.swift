import PCastCore
import Synchronization
import Testing

@testable import PCastIO

@Suite("Loops that share an address", .timeLimit(.minutes(5)))
struct SharedAddressTests {
    /// A loop that another one does not keep.
    private struct Reference {
        weak var loop: EventLoop<EchoMachine>?
    }

    /// Two loops behind one address. Connections whose data begins with 2 belong to the second one.
    private struct Pair {
        let first: EventLoop<EchoMachine>
        let second: EventLoop<EchoMachine>
        let handedOver = Signal<Bool>()

        init() throws {
            let handedOver = handedOver
            let target = Mutex(Reference())
            first = try EventLoop(
                name: "first", listen: [TransportAddress("127.0.0.1:0")!], tcpListen: true, loops: 2,
                makeMachine: { _ in
                    var machine = EchoMachine()
                    machine.shardLinksMark = 2
                    return machine
                }, afterIteration: { _, _ in },
                onPeerShard: { connection, number in
                    precondition(number == 1)
                    // The connection has only the rest of its 30 s, so it does not wait for the test.
                    target.withLock { $0.loop }?.adopt(connection)
                    handedOver.send(true)
                })
            let second = try EventLoop(
                name: "second", beside: first, makeMachine: { _ in EchoMachine() },
                afterIteration: { _, _ in })
            target.withLock { $0.loop = second }
            self.second = second
        }

        var address: TransportAddress { first.boundAddresses[0] }
    }

    @Test("each sender's datagrams arrive at one of the loops, which answers from their address")
    func datagrams() async throws {
        let pair = try Pair()
        #expect(pair.second.boundAddresses == pair.first.boundAddresses)
        let sockets = (0..<64).map { _ in TestSocket.udp() }
        for socket in sockets {
            for number: UInt8 in 0..<3 { socket.send([9, number], to: pair.address) }
            for number: UInt8 in 0..<3 {
                let answer = try #require(socket.receive())
                #expect(answer.bytes == [9, number] && answer.from == pair.address)
            }
        }
        var senders: [Set<TransportAddress>] = []
        for loop in [pair.first, pair.second] {
            senders.append(try await loop.call { machine, _ in Set(machine.handled.map(\.path.remote)) })
        }
        #expect(senders[0].isDisjoint(with: senders[1]))
        // By chance alone all 64 senders use the same loop once in 9 x 10^18 times.
        #expect(!senders[0].isEmpty && !senders[1].isEmpty)
        #expect(senders[0].count + senders[1].count == 64)
    }

    @Test("other programs cannot bind the address, whether they share it or not")
    func otherProgramsCannotBind() throws {
        let pair = try Pair()
        #expect(throws: IOError.addressInUse(pair.address)) { try EventLoop.echo(pair.address.description) }
    }

    @Test("a connection whose first frame is for the other loop's peer is transferred with all that was read")
    func connection() async throws {
        let pair = try Pair()
        let own = TestSocket.tcp(to: pair.address)
        own.write([0, 2, 1, 1])
        #expect(own.read(4) == [0, 2, 1, 1])
        let peer = TestSocket.tcp(to: pair.address)
        // The data is a frame and a half.
        peer.write([0, 3, 2, 20, 21, 0, 2, 2])
        #expect(await pair.handedOver.next() == true)
        #expect(try await pair.first.statistics().connections == 1)
        #expect(peer.read(5) == [0, 3, 2, 20, 21])
        peer.write([30, 0, 1, 40])
        #expect(peer.read(7) == [0, 2, 2, 30, 0, 1, 40])
        #expect(try await pair.second.statistics().connections == 1)
        let frames = try await pair.second.call { machine, _ in machine.handled.map(\.bytes) }
        #expect(frames == [[2, 20, 21], [2, 30], [40]])
    }

    @Test("a known connection is not transferred because of later frames")
    func known() throws {
        let pair = try Pair()
        let own = TestSocket.tcp(to: pair.address)
        own.write([0, 1, 1])
        #expect(own.read(3) == [0, 1, 1])
        own.write([0, 1, 2])
        #expect(own.read(3) == [0, 1, 2])
    }

    @Test("waking a loop causes an iteration")
    func waking() async throws {
        let turned = Signal<Bool>()
        let loop = try EventLoop.echo("127.0.0.1:0") { _, _ in turned.send(true) }
        // This is the loop's first iteration.
        #expect(await turned.next() == true)
        loop.wake()
        #expect(await turned.next() == true)
    }
}
