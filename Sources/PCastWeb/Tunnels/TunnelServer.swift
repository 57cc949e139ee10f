import NIOCore
import NIOPosix
public import PCastCore
import Synchronization

/// Drives a `StreamServerMachine` on one event loop. A web server passes it the accepted connections, and it opens the
/// UDP ports.
package final class TunnelServer: StreamAcceptor, @unchecked Sendable {  // all but `accept` on `loop` alone
    private let loop: any EventLoop
    private let clock: @Sendable () -> Instant
    private var machine: any StreamServerMachine
    private var streams: [UInt32: Stream] = [:]
    private var ports: [UInt32: any Channel] = [:]
    private let lastNumber = Atomic<UInt32>(0)
    private var timer: Scheduled<Void>?
    private var timerDeadline: Instant?

    private struct Stream {
        let channel: any Channel
        /// The bytes that must not be dropped and that the client has not received yet.
        var waiting = 0
    }

    /// The maximum of those bytes. A client that exceeds it is unreachable, or does not read the responses.
    private static let waitingLimit = 32 * 1_024
    /// The time to send pending data before a connection is closed.
    private static let closingTime = TimeAmount.milliseconds(500)

    /// Creates a server. `clock` is the clock of the machine's times.
    package init(_ machine: some StreamServerMachine, clock: @escaping @Sendable () -> Instant) {
        loop = MultiThreadedEventLoopGroup.singleton.next()
        self.machine = machine
        self.clock = clock
    }

    func accept(_ channel: any Channel, first bytes: [UInt8]) throws {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        guard let client = TransportAddress(channel.remoteAddress) else { throw ChannelError.unknownLocalAddress }
        // The handler is added at once, so that no bytes are lost. They are processed after `bytes`.
        try channel.pipeline.syncOperations.addHandler(
            StreamHandler(received: { [weak self] bytes, done in
                guard let self else { return done() }
                loop.execute {
                    self.run { $0.received(bytes, on: number, at: $1) }
                    done()
                }
            }))
        loop.execute { [self] in
            streams[number] = Stream(channel: channel)
            run { machine, now in
                machine.connected(number, from: client, at: now)
                machine.received(bytes, on: number, at: now)
            }
        }
        channel.closeFuture.whenComplete { [weak self] _ in
            guard let self else { return }
            loop.execute { self.closed(number) }
        }
    }

    private func closed(_ number: UInt32) {
        guard streams.removeValue(forKey: number) != nil else { return }
        ports.removeValue(forKey: number)?.close(promise: nil)
        run { $0.disconnected(number, at: $1) }
    }

    // MARK: Machine

    private func run(_ body: (inout any StreamServerMachine, Instant) -> Void) {
        loop.preconditionInEventLoop()
        body(&machine, clock())
        while let output = machine.pollOutput() { perform(output) }
        schedule()
    }

    private func perform(_ output: StreamServerOutput) {
        switch output {
        case .send(let bytes, let mayBeDropped, let number):
            guard let stream = streams[number] else { return }
            if mayBeDropped {
                if stream.channel.isWritable { stream.channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }
            } else {
                sendReliably(bytes, on: number, stream)
            }
        case .open(let ip, let number): open(at: ip, for: number)
        case .sendDatagram(let bytes, let address, let number):
            let envelope = AddressedEnvelope(
                remoteAddress: address.socketAddress, data: ByteBuffer(bytes: bytes))
            ports[number]?.writeAndFlush(envelope, promise: nil)
        case .close(let number):
            ports.removeValue(forKey: number)?.close(promise: nil)
            // Pending data is sent first if the client reads it.
            if let channel = streams.removeValue(forKey: number)?.channel {
                channel.writeAndFlush(ByteBuffer()).whenComplete { _ in channel.close(promise: nil) }
                loop.scheduleTask(in: Self.closingTime) { channel.cut() }
            }
        }
    }

    /// Sends data that must not be dropped. Closes the connection if too much is pending.
    private func sendReliably(_ bytes: [UInt8], on number: UInt32, _ stream: Stream) {
        guard stream.waiting + bytes.count <= Self.waitingLimit else {
            ports.removeValue(forKey: number)?.close(promise: nil)
            streams.removeValue(forKey: number)
            stream.channel.cut()
            // It is scheduled, because the machine is returning its outputs now.
            return loop.execute { self.run { $0.disconnected(number, at: $1) } }
        }
        streams[number]?.waiting += bytes.count
        let count = bytes.count
        stream.channel.writeAndFlush(ByteBuffer(bytes: bytes)).hop(to: loop).whenComplete { [weak self] _ in
            self?.streams[number]?.waiting -= count
        }
    }

    private func open(at ip: IPAddress, for number: UInt32) {
        let opening = DatagramPortHandler.open(at: ip, on: loop) { [weak self] bytes, from in
            self?.run { $0.received(bytes, from: from, on: number, at: $1) }
        }
        opening.whenComplete { [weak self] result in
            guard let self, let channel = try? result.get(), streams[number] != nil else {
                try? result.get().close(promise: nil)
                self?.run { $0.opened(nil, on: number, at: $1) }
                return
            }
            ports[number] = channel
            let port = UInt16(truncatingIfNeeded: channel.localAddress?.port ?? 0)
            run { $0.opened(port, on: number, at: $1) }
        }
    }

    private func schedule() {
        guard let deadline = machine.deadline else { return }
        if let timerDeadline, timerDeadline <= deadline { return }
        timer?.cancel()
        timerDeadline = deadline
        let delay = max(.zero, deadline - clock())
        timer = loop.scheduleTask(in: .nanoseconds(delay.nanoseconds)) { [weak self] in
            self?.timerDeadline = nil
            self?.run { $0.advance(to: $1) }
        }
    }

    /// Closes all streams and ports.
    package func stop() {
        loop.execute { [self] in
            timer?.cancel()
            for stream in streams.values { stream.channel.close(promise: nil) }
            for channel in ports.values { channel.close(promise: nil) }
            streams.removeAll()
            ports.removeAll()
        }
    }
}

/// A machine that relays the streams of its clients to UDP ports, which are opened for them.
///
/// ``TunnelServer`` drives it: it makes one call at a time, passes the time as a parameter, and performs all outputs of
/// `pollOutput` after each call.
public protocol StreamServerMachine: Sendable {
    mutating func connected(_ connection: UInt32, from client: TransportAddress, at now: Instant)
    mutating func disconnected(_ connection: UInt32, at now: Instant)
    mutating func received(_ bytes: [UInt8], on connection: UInt32, at now: Instant)
    /// Passes the result of `open`; `port` is nil if no port could be opened.
    mutating func opened(_ port: UInt16?, on connection: UInt32, at now: Instant)
    /// Passes a datagram that arrived at the connection's port.
    mutating func received(
        _ datagram: [UInt8], from address: TransportAddress, on connection: UInt32, at now: Instant)
    mutating func advance(to now: Instant)
    var deadline: Instant? { get }
    mutating func pollOutput() -> StreamServerOutput?
}

/// An output of a server machine.
public enum StreamServerOutput: Sendable {
    /// Sends bytes on a stream. If they may be dropped, all of them are dropped while a slow client has not received
    /// earlier data.
    case send([UInt8], mayBeDropped: Bool, UInt32)
    /// Opens a UDP port at a local address for a connection.
    case open(IPAddress, UInt32)
    /// Sends a datagram from the connection's port.
    case sendDatagram([UInt8], to: TransportAddress, UInt32)
    /// Closes the connection and its port.
    case close(UInt32)
}
