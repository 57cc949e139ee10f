import CSRT
import Glibc
package import PCastCore
import Synchronization

/// The reason with which an SRT client is rejected (libsrt, “SRT Access Control Guidelines”).
package enum SRTRejection: Int32, Error, Sendable {
    /// The stream ID cannot be parsed.
    case badRequest = 1400
    /// The credential is not valid.
    case unauthorized = 1401
    /// A limit or quota is reached.
    case overload = 1402
    /// The client may not do this.
    case forbidden = 1403
    /// There is no such stream.
    case notFound = 1404
    /// The mode is not supported.
    case badMode = 1405
    /// Another publisher uses the resource.
    case conflict = 1409
    /// The type of the resource is not supported.
    case unsupportedMedia = 1415
    /// The server cannot decide now.
    case internalError = 1500
    /// The server is stopping.
    case unavailable = 1503
}

/// A listener that cannot be opened.
package struct SRTListenerError: Error, CustomStringConvertible {
    /// The problem, as libsrt describes it.
    package let description: String
}

/// The totals of connections.
package struct SRTStatistics: Hashable, Sendable {
    /// The number of packets that were received.
    package var receivedPackets: Int64 = 0
    /// The number of packets that were missing, of which most arrive later.
    package var lostPackets: Int64 = 0
    /// The number of packets that arrived too late or not at all.
    package var droppedPackets: Int64 = 0
    /// The number of packets that were received after they had been retransmitted.
    package var retransmittedPackets: Int64 = 0
    /// The number of packets that could not be decrypted.
    package var undecryptedPackets: Int64 = 0
    /// The number of packets that were sent, without those that were retransmitted.
    package var sentPackets: Int64 = 0

    package init() {}

    static func += (left: inout SRTStatistics, right: SRTStatistics) {
        left.receivedPackets += right.receivedPackets
        left.lostPackets += right.lostPackets
        left.droppedPackets += right.droppedPackets
        left.retransmittedPackets += right.retransmittedPackets
        left.undecryptedPackets += right.undecryptedPackets
        left.sentPackets += right.sentPackets
    }
}

/// A server of SRT publishers and viewers on one port, by libsrt.
///
/// libsrt receives and decrypts on threads of its own. One further thread reads all connections, and calls their
/// handlers. The decision about a client is made on a thread of libsrt during its handshake, and must not wait, because
/// this thread receives the packets of all connections.
package final class SRTListener: Sendable {
    /// The options of a listener.
    package struct Options: Sendable {
        /// The address to listen on; port 0 selects a free one.
        package var address: TransportAddress
        /// The time for which packets are buffered, in which they can be retransmitted. Each connection uses the larger
        /// value of both sides.
        package var latency: Duration
        /// The passphrase of 10 to 79 bytes with which all connections are encrypted; nil for none.
        package var passphrase: String?
        /// The maximum number of connections. Further ones are rejected.
        package var maximumConnections = 1_024
        /// The time without media after which the connection of a publisher is closed.
        package var silenceTimeout = TimeSpan.seconds(30)

        /// Creates the options of an address.
        package init(address: TransportAddress, latency: Duration, passphrase: String? = nil) {
            self.address = address
            self.latency = latency
            self.passphrase = passphrase
        }
    }

    /// The functions that receive the media of a connection, on the thread of the listener.
    package struct Handler: Sendable {
        /// Receives media. The bytes are valid until it returns. It must not wait. Nil for a viewer, whose media is
        /// ignored and who may be silent.
        package let receive: (@Sendable (ByteView, Instant) -> Void)?
        /// Called once after the last media.
        package let closed: @Sendable () -> Void

        /// Creates a handler.
        package init(
            receive: (@Sendable (ByteView, Instant) -> Void)?, closed: @escaping @Sendable () -> Void
        ) {
            self.receive = receive
            self.closed = closed
        }
    }

    /// Decides about a client by its stream ID, during the handshake, without waiting. Nil accepts it.
    package typealias Decision = @Sendable (_ streamID: String, _ address: TransportAddress?) -> SRTRejection?

    private let thread: WorkerThread
    private let state: SRTListenerState
    /// The port on which it listens.
    package let port: Int

    /// The number of open connections.
    package var connectionCount: Int { state.shared.withLock { $0.connections.count } }

    /// The totals of all connections since the start.
    package var statistics: SRTStatistics {
        var (sum, open) = state.shared.withLock { ($0.ended, Array($0.connections.keys)) }
        for socket in open { sum += SRTSocket.statistics(socket) }
        return sum
    }

    /// Opens the port.
    ///
    /// - Parameters:
    ///   - options: The options.
    ///   - decide: Decides about each client.
    ///   - onConnection: Called for each accepted connection, on the thread of the listener.
    /// - Throws: ``SRTListenerError``.
    package init(
        _ options: Options, decide: @escaping Decision,
        onConnection: @escaping @Sendable (SRTConnection) -> Handler
    ) throws(SRTListenerError) {
        SRTSocket.start()
        let state = SRTListenerState(options, decide, onConnection)
        do throws(SRTListenerError) {
            let socket = try SRTSocket.listen(options, state)
            guard let port = SRTSocket.port(of: socket) else { throw SRTSocket.failure() }
            let poll = srt_epoll_create()
            var events = Int32(SRT_EPOLL_IN.rawValue | SRT_EPOLL_ERR.rawValue)
            guard poll >= 0, srt_epoll_add_usock(poll, socket, &events) >= 0 else { throw SRTSocket.failure() }
            do throws(IOError) {
                thread = try WorkerThread(name: "srt") { state.run(socket, poll) }
            } catch {
                throw SRTListenerError(description: "\(error)")
            }
            (self.port, self.state) = (port, state)
        } catch {
            // This also closes the sockets.
            SRTSocket.stop()
            throw error
        }
    }

    /// Closes the port and all connections, and waits for the thread.
    package func stop() {
        guard !state.isStopping.exchange(true, ordering: .sequentiallyConsistent) else { return }
        thread.join()
        SRTSocket.stop()
    }

    deinit { stop() }
}

/// The connection of an SRT client. Its methods may be called on any thread, and have no effect after its end.
package final class SRTConnection: Sendable {
    /// The address of the client; nil if it is unknown.
    package let address: TransportAddress?
    /// The stream ID of the client. It may contain secrets.
    package let streamID: String
    private let socket: SRTSOCKET
    private let state: SRTListenerState

    init(_ socket: SRTSOCKET, _ address: TransportAddress?, _ streamID: String, _ state: SRTListenerState) {
        (self.socket, self.address, self.streamID, self.state) = (socket, address, streamID, state)
    }

    /// The maximum size of a message: seven transport packets, which fit into a datagram (`SRTO_PAYLOADSIZE`).
    private static let messageSize = 7 * 188

    /// Sends transport packets, without waiting. Returns false if the connection has ended, or its queue has no space for
    /// all of them.
    package func send(_ packets: [UInt8]) -> Bool {
        guard isOpen else { return false }
        return packets.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: Self.messageSize) {
                let message = bytes[start..<min(start + Self.messageSize, bytes.count)]
                guard SRTSocket.send(UnsafeRawBufferPointer(rebasing: message), to: socket) else { return false }
            }
            return true
        }
    }

    /// The time of media that waits in the queue, because it was not sent or not acknowledged.
    package var queuedTime: TimeSpan { isOpen ? SRTSocket.queuedTime(of: socket) : .zero }

    /// Numbers of sockets are not reused while the connection is open.
    private var isOpen: Bool { state.shared.withLock { $0.connections[socket]?.connection === self } }

    /// Closes the connection soon. SRT does not transmit a reason.
    package func close() {
        state.shared.withLock { shared in
            // Numbers of sockets are not reused while the connection is open.
            if shared.connections[socket]?.connection === self { shared.closing.append(socket) }
        }
    }
}

/// The connections of a listener, and its thread.
final class SRTListenerState: Sendable {
    struct Open: Sendable {
        let connection: SRTConnection
        let handler: SRTListener.Handler
        var lastReceived: Instant
    }

    struct Shared: Sendable {
        var connections: [SRTSOCKET: Open] = [:]
        /// The connections that the platform closes.
        var closing: [SRTSOCKET] = []
        /// The totals of the connections that have ended.
        var ended = SRTStatistics()
    }

    /// The time after which the thread looks for connections that the platform closes.
    private static let interval: Int64 = 50
    /// The maximum number of messages that are read from one connection before the next one.
    private static let messagesPerRead = 64
    /// The maximum size of a message in bytes, with the largest payload of a datagram.
    private static let maximumMessageSize = 1_456

    let options: SRTListener.Options
    let decide: SRTListener.Decision
    private let onConnection: @Sendable (SRTConnection) -> SRTListener.Handler
    let shared = Mutex(Shared())
    let isStopping = Atomic(false)

    init(
        _ options: SRTListener.Options, _ decide: @escaping SRTListener.Decision,
        _ onConnection: @escaping @Sendable (SRTConnection) -> SRTListener.Handler
    ) {
        self.options = options
        self.decide = decide
        self.onConnection = onConnection
    }

    /// Decides about a client during its handshake. Returns nil to accept it.
    func rejection(of streamID: String, _ address: TransportAddress?) -> SRTRejection? {
        if isStopping.load(ordering: .relaxed) { return .unavailable }
        guard shared.withLock({ $0.connections.count }) < options.maximumConnections else { return .overload }
        return decide(streamID, address)
    }

    /// Reads all connections until the listener stops.
    func run(_ listener: SRTSOCKET, _ poll: Int32) {
        var events = [SRT_EPOLL_EVENT](repeating: SRT_EPOLL_EVENT(fd: -1, events: 0), count: 64)
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.messagesPerRead * Self.maximumMessageSize, alignment: 16)
        defer { buffer.deallocate() }
        var nextSweep = MonotonicClock.now()
        while !isStopping.load(ordering: .sequentiallyConsistent) {
            let count = srt_epoll_uwait(poll, &events, Int32(events.count), Self.interval)
            // The only error is a poll without sockets, and it has the listener.
            guard count >= 0 else { break }
            for event in events.prefix(min(Int(count), events.count)) {
                if event.fd == listener { accept(listener, poll) } else { read(event.fd, poll, buffer) }
            }
            closeRequested(poll)
            let now = MonotonicClock.now()
            guard now >= nextSweep else { continue }
            nextSweep = now + .seconds(1)
            closeSilent(at: now, poll)
        }
        for socket in shared.withLock({ Array($0.connections.keys) }) { close(socket, poll) }
        srt_close(listener)
        srt_epoll_release(poll)
    }

    private func accept(_ listener: SRTSOCKET, _ poll: Int32) {
        while let (socket, address) = SRTSocket.accept(listener) {
            let connection = SRTConnection(socket, address, SRTSocket.streamID(of: socket), self)
            // The connection exists before its handler, which may close it.
            let placeholder = SRTListener.Handler(receive: nil, closed: {})
            let now = MonotonicClock.now()
            shared.withLock {
                $0.connections[socket] = Open(connection: connection, handler: placeholder, lastReceived: now)
            }
            let handler = onConnection(connection)
            shared.withLock {
                $0.connections[socket] = Open(connection: connection, handler: handler, lastReceived: now)
            }
            var events = Int32(SRT_EPOLL_IN.rawValue | SRT_EPOLL_ERR.rawValue)
            if srt_epoll_add_usock(poll, socket, &events) < 0 { close(socket, poll) }
        }
    }

    private func read(_ socket: SRTSOCKET, _ poll: Int32, _ buffer: UnsafeMutableRawBufferPointer) {
        guard let handler = shared.withLock({ $0.connections[socket]?.handler }) else {
            srt_epoll_remove_usock(poll, socket)
            return
        }
        var size = 0
        var hasEnded = false
        for _ in 0..<Self.messagesPerRead {
            let room = buffer.baseAddress! + size
            let count = srt_recvmsg(
                socket, room.assumingMemoryBound(to: CChar.self), Int32(Self.maximumMessageSize))
            guard count > 0 else {
                hasEnded = count == 0 || !SRTSocket.wouldBlock
                break
            }
            size += Int(count)
        }
        if size > 0 {
            let now = MonotonicClock.now()
            shared.withLock { $0.connections[socket]?.lastReceived = now }
            handler.receive?(ByteView(UnsafeRawBufferPointer(rebasing: buffer[..<size])), now)
        }
        if hasEnded { close(socket, poll) }
    }

    private func closeRequested(_ poll: Int32) {
        let sockets = shared.withLock { shared in
            defer { shared.closing = [] }
            return shared.closing
        }
        for socket in sockets { close(socket, poll) }
    }

    private func closeSilent(at now: Instant, _ poll: Int32) {
        let silent = shared.withLock { shared in
            shared.connections.filter { _, open in
                open.handler.receive != nil && now - open.lastReceived > options.silenceTimeout
            }.map(\.key)
        }
        for socket in silent { close(socket, poll) }
    }

    private func close(_ socket: SRTSOCKET, _ poll: Int32) {
        let statistics = SRTSocket.statistics(socket)
        let open = shared.withLock { shared in
            let open = shared.connections.removeValue(forKey: socket)
            if open != nil { shared.ended += statistics }
            return open
        }
        guard let open else { return }
        srt_epoll_remove_usock(poll, socket)
        srt_close(socket)
        open.handler.closed()
    }
}
