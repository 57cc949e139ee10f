import NIOCore
import PCastCore
import PCastRTMP

/// Drives the session of a connection: passes bytes and time to it, sends its output, and reports its events.
///
/// It reads only while the session accepts input, and takes output only while the connection can be written. TCP then
/// slows a client down, and the limits of the session hold.
final class RTMPConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The time to send the last output before the connection is closed.
    private static let closingTime = TimeAmount.milliseconds(500)
    /// The time for which input is still read after the last output. The system would discard the output if it closed a
    /// connection with unread input (RFC 9293, section 3.6.1).
    private static let lingeringTime = TimeAmount.milliseconds(250)

    private var session: RTMPServerSession
    private let clock: @Sendable () -> Instant
    /// Receives the events. It is set before the handler is added.
    var onEvents: (@Sendable ([RTMPServerEvent]) -> Void)?
    private var context: ChannelHandlerContext?
    private var hasHeldRead = false
    private var timer: Scheduled<Void>?
    private var timerDeadline: Instant?
    private var isClosing = false

    init(_ configuration: RTMPServerConfiguration, clock: @escaping @Sendable () -> Instant) {
        session = RTMPServerSession(configuration: configuration, seed: .random(in: 0...UInt64.max), at: clock())
        self.clock = clock
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        schedule()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        run { session, _ in session.inputEnded() }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        run { session, now in
            buffer.withUnsafeReadableBytes { session.receive(Span<UInt8>(_unsafeBytes: $0), at: now) }
        }
    }

    func read(context: ChannelHandlerContext) {
        if session.acceptsInput || session.isClosed { context.read() } else { hasHeldRead = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        flush()
        context.fireChannelWritabilityChanged()
    }

    /// Calls the session, and performs what follows.
    func run(_ body: (inout RTMPServerSession, Instant) -> Void) {
        body(&session, clock())
        var events: [RTMPServerEvent] = []
        while let event = session.poll() { events.append(event) }
        flush()
        if !events.isEmpty { onEvents?(events) }
        if hasHeldRead, session.acceptsInput || session.isClosed, let context {
            hasHeldRead = false
            context.read()
        }
        if session.isClosed { close() } else { schedule() }
    }

    private func flush() {
        guard let context, context.channel.isWritable || session.isClosed else { return }
        let output = session.takeOutput()
        guard !output.isEmpty else { return }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: output)), promise: nil)
    }

    /// Closes the connection after its last output was sent and could be read, or after some time.
    private func close() {
        timer?.cancel()
        timer = nil
        guard !isClosing, let context else { return }
        isClosing = true
        onEvents = nil
        let channel = context.channel
        let loop = context.eventLoop
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).whenComplete { _ in
            loop.scheduleTask(in: Self.lingeringTime) { channel.close(promise: nil) }
        }
        context.eventLoop.scheduleTask(in: Self.closingTime) { channel.cut() }
    }

    /// Schedules a call at the session's deadline. A deadline that has moved back is found when the task runs, because
    /// it moves with each read.
    private func schedule() {
        guard let context, let deadline = session.deadline else { return }
        if let timerDeadline, timerDeadline <= deadline { return }
        timer?.cancel()
        timerDeadline = deadline
        let delay = max(deadline - clock(), .zero)
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: .nanoseconds(delay.nanoseconds)) { [weak self] in
            guard let self else { return }
            timerDeadline = nil
            run { session, now in session.advance(to: now) }
        }
    }
}
