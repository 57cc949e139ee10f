import PCastCore
import Synchronization

@testable import PCastIO

/// Returns every datagram to its sender, and records what happened.
struct EchoMachine: ~Copyable, DatagramMachine {
    private var waiting: [(bytes: [UInt8], path: NetworkPath)] = []
    var handled: [(bytes: [UInt8], path: NetworkPath, at: Instant)] = []
    /// The time for which each datagram had waited.
    var waits: [TimeSpan] = []
    var closed: [NetworkPath] = []
    var wakes: [Instant] = []
    /// The paths that the machine was notified to expect, with the number of datagrams handled by then.
    var expected: [(paths: [NetworkPath], handled: Int)] = []
    /// The numbers of datagrams handled at each poll, each number once.
    var polled: [Int] = []
    /// The times of these polls.
    var pollTimes: [Instant] = []
    var deadline: Instant?
    /// The earliest deadline; nil if it equals `deadline`.
    var earlier: Instant?
    var earliestDeadline: Instant? { earlier ?? deadline }
    var echoes = true
    /// The first byte of datagrams for the other machine.
    var shardLinksMark: UInt8?

    func peerShard(of datagram: MutableByteView) -> Int? { datagram.first == shardLinksMark ? 1 : nil }

    mutating func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant) {
        handled.append((Array(datagram), path, now))
        if echoes { waiting.append((Array(datagram), path)) }
    }

    mutating func handle(
        _ datagram: MutableByteView, from path: NetworkPath, waited: TimeSpan, at now: Instant
    ) {
        waits.append(waited)
        handle(datagram, from: path, at: now)
    }

    mutating func expect(from paths: Span<NetworkPath>) {
        expected.append((paths.indices.map { paths[$0] }, handled.count))
    }

    mutating func advance(to now: Instant) {
        wakes.append(now)
        deadline = nil
        earlier = nil
    }

    mutating func send(_ bytes: [UInt8], to path: NetworkPath) { waiting.append((bytes, path)) }

    mutating func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        if polled.last != handled.count {
            polled.append(handled.count)
            pollTimes.append(now)
        }
        var sent = 0
        for (bytes, path) in waiting {
            guard batch.append(bytes, to: path) else { break }
            sent += 1
        }
        waiting.removeFirst(sent)
        return !waiting.isEmpty
    }

    mutating func pathClosed(_ path: NetworkPath, at now: Instant) { closed.append(path) }
}

/// A message from the loop's thread to the test.
final class Signal<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let continuation: AsyncStream<Value>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func send(_ value: Value) { continuation.yield(value) }

    func next() async -> Value? {
        for await value in stream { return value }
        return nil
    }
}

extension EventLoop where M == EchoMachine {
    static func echo(
        _ listen: String..., tcp: Bool = false,
        afterIteration: @escaping @Sendable (inout M, Instant) -> Void = { _, _ in },
        beforeSending: (@Sendable (inout M, Instant) -> Void)? = nil
    ) throws -> EventLoop<EchoMachine> {
        try EventLoop(
            name: "echo", listen: listen.map { TransportAddress($0)! }, tcpListen: tcp,
            makeMachine: { _ in EchoMachine() }, beforeSending: beforeSending, afterIteration: afterIteration)
    }

    /// Creates a loop at a port outside of the range from which the kernel gives ports to others, so that no other test
    /// gets the port when the loop has released it.
    static func echoAtOwnPort(tcp: Bool = false) throws -> EventLoop<EchoMachine> {
        for _ in 0..<100 {
            do {
                return try echo("127.0.0.1:\(Int.random(in: 20_000..<32_000))", tcp: tcp)
            } catch IOError.addressInUse {
                continue
            }
        }
        return try echo("127.0.0.1:0", tcp: tcp)
    }

    /// The port of the loop.
    var port: UInt16 { boundAddresses[0].port }
}
