import NIOCore
import NIOPosix
public import PCastMedia
import Synchronization

/// Drives a `StreamServerMachine` on one event loop of its own choice: streams are handed in by whoever accepts them,
/// ports are opened here.
public final class TunnelServer: StreamAcceptor, @unchecked Sendable {  // all but `accept` on `loop` alone
    private let loop: any EventLoop
    private let clock: @Sendable () -> Instant
    private var machine: any StreamServerMachine
    private var streams: [UInt32: any Channel] = [:]
    private var ports: [UInt32: any Channel] = [:]
    private let lastNumber = Atomic<UInt32>(0)
    private var timer: Scheduled<Void>?
    private var timerDeadline: Instant?

    /// - Parameter clock: the one that the machine's times are of.
    public init(_ machine: some StreamServerMachine, clock: @escaping @Sendable () -> Instant) {
        loop = MultiThreadedEventLoopGroup.singleton.next()
        self.machine = machine
        self.clock = clock
    }

    func accept(_ channel: any Channel, first bytes: [UInt8]) throws {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        guard let client = TransportAddress(channel.remoteAddress) else { throw ChannelError.unknownLocalAddress }
        // At once, so that nothing is read that nobody takes; what is handed over here comes first.
        try channel.pipeline.syncOperations.addHandler(
            StreamHandler(received: { [weak self] bytes in
                guard let self else { return }
                loop.execute { self.work { $0.received(bytes, on: number, at: $1) } }
            }))
        loop.execute { [self] in
            streams[number] = channel
            work { machine, now in
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
        work { $0.disconnected(number, at: $1) }
    }

    // MARK: The machine

    private func work(_ body: (inout any StreamServerMachine, Instant) -> Void) {
        loop.preconditionInEventLoop()
        body(&machine, clock())
        while let output = machine.pollOutput() { perform(output) }
        schedule()
    }

    private func perform(_ output: StreamServerOutput) {
        switch output {
        case .send(let bytes, let mayBeDropped, let number):
            guard let channel = streams[number], channel.isWritable || !mayBeDropped else { return }
            channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        case .open(let ip, let number): open(at: ip, for: number)
        case .sendDatagram(let bytes, let address, let number):
            let envelope = AddressedEnvelope(
                remoteAddress: address.socketAddress, data: ByteBuffer(bytes: bytes))
            ports[number]?.writeAndFlush(envelope, promise: nil)
        case .close(let number):
            ports.removeValue(forKey: number)?.close(promise: nil)
            // What was said before it goes first.
            if let channel = streams.removeValue(forKey: number) {
                channel.writeAndFlush(ByteBuffer()).whenComplete { _ in channel.close(promise: nil) }
            }
        }
    }

    private func open(at ip: IPAddress, for number: UInt32) {
        let opening = DatagramPortHandler.open(at: ip, on: loop) { [weak self] bytes, from in
            self?.work { $0.received(bytes, from: from, on: number, at: $1) }
        }
        opening.whenComplete { [weak self] result in
            guard let self, let channel = try? result.get(), streams[number] != nil else {
                try? result.get().close(promise: nil)
                self?.work { $0.opened(nil, on: number, at: $1) }
                return
            }
            ports[number] = channel
            let port = UInt16(truncatingIfNeeded: channel.localAddress?.port ?? 0)
            work { $0.opened(port, on: number, at: $1) }
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
            self?.work { $0.advance(to: $1) }
        }
    }

    /// Closes all streams and ports.
    public func stop() {
        loop.execute { [self] in
            timer?.cancel()
            for channel in streams.values { channel.close(promise: nil) }
            for channel in ports.values { channel.close(promise: nil) }
            streams.removeAll()
            ports.removeAll()
        }
    }
}
