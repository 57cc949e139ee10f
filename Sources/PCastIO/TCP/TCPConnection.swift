import CLinux
import Glibc
import PCastCore

/// A TCP connection of ICE, which only the loop's thread uses.
final class TCPConnection {
    enum Phase {
        /// `connect` has not completed; the closure receives its result.
        case connecting(@Sendable (Result<NetworkPath, IOError>) -> Void)

        /// The connection was accepted, and no peer has authenticated itself. It stays in this phase even if checks
        /// were answered, because checks with a wrong password receive a response too.
        case unknown

        case open
    }

    let descriptor: Descriptor
    let path: NetworkPath
    let number: UInt32
    var phase: Phase

    /// The time at which the connection is closed if the phase has not changed.
    let deadline: Instant

    /// Whether the poller watches for writability.
    var watchesWritability: Bool

    /// Whether frames were appended since the last flush.
    var isDirty = false

    /// Whether the connection counts towards the limit of its address.
    var isCounted = false

    /// Whether the connection was removed from the table.
    var isClosed = false

    private var reassembler = FrameReassembler()
    private var queue = FrameWriteQueue()

    /// The maximum number of unsent bytes in the kernel. It is low because video in the kernel's buffer cannot be
    /// dropped any more.
    private static let unsentLimit: Int32 = 64 * 1024

    init(_ descriptor: Descriptor, path: NetworkPath, number: UInt32, phase: Phase, deadline: Instant) {
        self.descriptor = descriptor
        self.path = path
        self.number = number
        self.phase = phase
        self.deadline = deadline
        if case .connecting = phase { watchesWritability = true } else { watchesWritability = false }
        descriptor.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        descriptor.set(Int32(IPPROTO_TCP), Int32(CLINUX_TCP_NOTSENT_LOWAT), Self.unsentLimit)
    }

    /// Begins to connect. Returns the local address of the connection.
    ///
    /// - Throws: ``IOError``.
    static func begin(
        _ descriptor: Descriptor, to remote: TransportAddress, from local: IPAddress?
    ) throws(IOError) -> TransportAddress {
        if let local {
            let source = TransportAddress(ip: local, port: 0)
            guard SocketAddress.with(source, { bind(descriptor.number, $0, $1) }) == 0 else {
                throw Errno.binding("bind", source)
            }
        }
        let result = SocketAddress.with(remote) { Glibc.connect(descriptor.number, $0, $1) }
        guard result == 0 || Errno.current == EINPROGRESS else {
            throw .connectFailed(remote, errno: Errno.current)
        }
        guard let address = SocketAddress.ask(descriptor.number, getsockname) else {
            throw .system(call: "getsockname", errno: Errno.current)
        }
        return address
    }

    var isUnknown: Bool { if case .unknown = phase { true } else { false } }

    var isOpen: Bool { if case .open = phase { true } else { false } }

    /// The result of a read.
    enum ReadResult { case some, nothing, end }

    func read() -> ReadResult {
        let buffer = reassembler.buffer()
        let count = recv(descriptor.number, buffer.baseAddress!, buffer.count, Int32(MSG_DONTWAIT))
        if count > 0 {
            reassembler.append(count)
            return .some
        }
        return count < 0 && (Errno.current == EAGAIN || Errno.current == EINTR) ? .nothing : .end
    }

    func nextFrame() -> FrameReassembler.Next { reassembler.next() }

    /// Returns the bytes that were read, beginning with the last frame that `nextFrame` returned.
    func unreadBytes(from frame: UnsafeMutableRawBufferPointer) -> [UInt8] { reassembler.rest(from: frame) }

    /// Inserts the bytes that another loop read, before this one reads.
    func takeBack(_ bytes: [UInt8]) {
        reassembler.buffer().copyBytes(from: bytes)
        reassembler.append(bytes.count)
    }

    /// The maximum number of pending bytes for an unauthenticated peer, which suffices for a few responses to checks.
    private static let unknownLimit = 2 * 1_024

    func append(_ frame: UnsafeRawBufferPointer) -> Bool {
        if isUnknown, queue.pending.count + frame.count > Self.unknownLimit { return false }
        return queue.append(frame)
    }

    var hasPendingBytes: Bool { !queue.isEmpty }

    /// Writes pending bytes until the socket accepts no more. Returns false if the connection is broken.
    func flush() -> Bool {
        while !queue.isEmpty {
            let bytes = queue.pending
            let count = Glibc.send(descriptor.number, bytes.baseAddress!, bytes.count, Int32(MSG_NOSIGNAL))
            if count >= 0 {
                queue.removeFirst(count)
            } else if Errno.current == EAGAIN {
                return true
            } else if Errno.current != EINTR {
                return false
            }
        }
        return true
    }

    /// Returns the error of `connect`, or 0.
    func connectError() -> Int32 { descriptor.get(SOL_SOCKET, SO_ERROR) }
}
