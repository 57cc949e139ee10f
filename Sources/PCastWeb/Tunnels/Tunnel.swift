import NIOCore
import NIOPosix
import NIOSSL
package import PCastCore

/// Drives a `StreamClientMachine` over TLS. The local end is a UDP port on loopback.
///
/// The server's certificate is not verified. All media is encrypted and authenticated end to end (DTLS-SRTP), and
/// credentials are proved but never sent. An attacker on the path can therefore only interrupt the tunnel.
package final class Tunnel: @unchecked Sendable {  // all on `loop` alone
    /// An event of the tunnel.
    package enum Event: Hashable, Sendable {
        /// Datagrams are forwarded between this UDP address and the remote end.
        case ready(TransportAddress)
        /// The tunnel ended. It is reported once, with the reason.
        case ended(String)
    }

    private let loop: any EventLoop
    private let clock: @Sendable () -> Instant
    private let onEvent: @Sendable (Event) -> Void
    private var machine: any StreamClientMachine
    private var stream: (any Channel)?
    private var port: (any Channel)?
    private var near: TransportAddress?
    private var timer: Scheduled<Void>?
    private var timerDeadline: Instant?
    private var hasEnded = false

    private static let connectTimeout = TimeAmount.seconds(5)

    /// Creates a tunnel and begins to connect. `host` is a name or an IP address, and `clock` is the clock of the
    /// machine's times. `onEvent` is called on an event loop, which it must not block.
    package init(
        _ machine: some StreamClientMachine, host: String, port: UInt16, clock: @escaping @Sendable () -> Instant,
        onEvent: @escaping @Sendable (Event) -> Void
    ) {
        loop = MultiThreadedEventLoopGroup.singleton.next()
        self.machine = machine
        self.clock = clock
        self.onEvent = onEvent
        loop.execute { self.open(host, port) }
    }

    /// Closes the connection, so that the remote end releases its resources.
    package func close() { loop.execute { self.end("closed") } }

    private func open(_ host: String, _ number: UInt16) {
        let address = IPAddress(host)
        DatagramPortHandler.open(at: .loopbackV4, on: loop) { [weak self] bytes, from in
            self?.near = from
            self?.run { $0.received(datagram: bytes, at: $1) }
        }.whenComplete { [weak self] result in
            guard let self, let channel = try? result.get() else {
                self?.end("no UDP port could be opened")
                return
            }
            port = channel
            connect(host, number, isName: address == nil)
        }
    }

    private func connect(_ host: String, _ number: UInt16, isName: Bool) {
        let bootstrap = ClientBootstrap(group: loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connectTimeout(Self.connectTimeout)
            .channelInitializer { [weak self] channel in
                guard let self else { return channel.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
                return channel.eventLoop.makeCompletedFuture {
                    var configuration = TLSConfiguration.makeClientConfiguration()
                    configuration.certificateVerification = .none
                    let context = try NIOSSLContext(configuration: configuration)
                    try channel.pipeline.syncOperations.addHandlers(
                        NIOSSLClientHandler(context: context, serverHostname: isName ? host : nil),
                        StreamHandler(received: { [weak self] bytes, done in
                            self?.run { $0.received(bytes, at: $1) }
                            done()
                        }))
                }
            }
        bootstrap.connect(host: host, port: Int(number)).whenComplete { [weak self] result in
            guard let self, !hasEnded else {
                try? result.get().close(promise: nil)
                return
            }
            do {
                let channel = try result.get()
                stream = channel
                channel.closeFuture.whenComplete { [weak self] _ in self?.end("the server closed the connection") }
                run { $0.connected(at: $1) }
            } catch {
                end("\(host):\(number) cannot be reached: \(error)")
            }
        }
    }

    // MARK: Machine

    private func run(_ body: (inout any StreamClientMachine, Instant) -> Void) {
        guard !hasEnded else { return }
        body(&machine, clock())
        while let output = machine.pollOutput() { perform(output) }
        schedule()
    }

    private func perform(_ output: StreamClientOutput) {
        switch output {
        case .send(let bytes, let mayBeDropped):
            guard let stream, stream.isWritable || !mayBeDropped else { return }
            stream.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        case .sendDatagram(let bytes):
            guard let near else { return }
            let envelope = AddressedEnvelope(remoteAddress: near.socketAddress, data: ByteBuffer(bytes: bytes))
            port?.writeAndFlush(envelope, promise: nil)
        case .ready:
            if let address = TransportAddress(port?.localAddress) { onEvent(.ready(address)) }
        case .failed(let reason): end(reason)
        }
    }

    private func schedule() {
        guard let deadline = machine.deadline, !hasEnded else { return }
        if let timerDeadline, timerDeadline <= deadline { return }
        timer?.cancel()
        timerDeadline = deadline
        let delay = max(.zero, deadline - clock())
        timer = loop.scheduleTask(in: .nanoseconds(delay.nanoseconds)) { [weak self] in
            self?.timerDeadline = nil
            self?.run { $0.advance(to: $1) }
        }
    }

    private func end(_ reason: String) {
        guard !hasEnded else { return }
        hasEnded = true
        timer?.cancel()
        port?.close(promise: nil)
        if let stream { stream.writeAndFlush(ByteBuffer()).whenComplete { _ in stream.close(promise: nil) } }
        onEvent(.ended(reason))
    }
}

/// A machine that tunnels datagrams through a TCP stream. Datagrams that arrive at a local UDP port are sent through
/// the stream, and those of the stream leave from the port. ``Tunnel`` drives it.
package protocol StreamClientMachine: Sendable {
    mutating func connected(at now: Instant)
    mutating func received(_ bytes: [UInt8], at now: Instant)
    mutating func received(datagram: [UInt8], at now: Instant)
    mutating func advance(to now: Instant)
    var deadline: Instant? { get }
    mutating func pollOutput() -> StreamClientOutput?
}

/// An output of a client machine.
package enum StreamClientOutput: Sendable {
    case send([UInt8], mayBeDropped: Bool)
    /// Sends a datagram to the sender of the last one.
    case sendDatagram([UInt8])
    /// The tunnel is ready for datagrams.
    case ready
    /// The tunnel failed. The text is for a log.
    case failed(String)
}
