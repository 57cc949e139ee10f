import CLinux
import Glibc
import PCastMedia

/// One TCP connection of ICE, of the loop's thread alone.
final class TCPConnection {
    enum Phase {
        /// `connect` is under way, and is told how it ended.
        case connecting(@Sendable (Result<NetworkPath, IOError>) -> Void)

        /// Accepted, and of nobody known so far, whatever it has been answered: a check with a wrong password is answered,
        /// too.
        case unknown

        case open
    }

    let descriptor: Descriptor
    let path: NetworkPath
    let number: UInt32
    var phase: Phase

    /// When the phase must have ended: the connection is closed then.
    let deadline: Instant

    /// Whether the poller watches for room to write.
    var watchesWritability: Bool

    /// Whether frames were appended since the last flush.
    var isDirty = false

    /// Whether it is one of those that its address has.
    var isCounted = false

    /// Whether the loop has forgotten it.
    var isClosed = false

    private var reassembler = FrameReassembler()
    private var queue = FrameWriteQueue()

    /// Video that waits in the kernel cannot be dropped, so little may wait there (IO11).
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

    /// Begins to connect; answers the address that the connection leaves from.
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

    /// What a read came to.
    enum ReadResult { case some, nothing, end }

    func read() -> ReadResult {
        let room = reassembler.room()
        let count = recv(descriptor.number, room.baseAddress!, room.count, Int32(MSG_DONTWAIT))
        if count > 0 {
            reassembler.append(count)
            return .some
        }
        return count < 0 && (Errno.current == EAGAIN || Errno.current == EINTR) ? .nothing : .end
    }

    func nextFrame() -> FrameReassembler.Next { reassembler.next() }

    /// What was read from that frame on, which is the last that `nextFrame` gave.
    func unread(from frame: UnsafeMutableRawBufferPointer) -> [UInt8] { reassembler.rest(from: frame) }

    /// What another loop has read of it, before anything is read here.
    func takeBack(_ bytes: [UInt8]) {
        reassembler.room().copyBytes(from: bytes)
        reassembler.append(bytes.count)
    }

    /// Bytes that wait at most for who is not known: a few answers to checks.
    private static let unknownLimit = 2 * 1_024

    func append(_ frame: UnsafeRawBufferPointer) -> Bool {
        if isUnknown, queue.pending.count + frame.count > Self.unknownLimit { return false }
        return queue.append(frame)
    }

    var hasPendingBytes: Bool { !queue.isEmpty }

    /// Writes what waits as far as the socket takes it; answers false when the connection is broken.
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

    /// The error that `connect` ended with, or 0.
    func connectError() -> Int32 { descriptor.get(SOL_SOCKET, SO_ERROR) }
}
