import CLinux
import Glibc

/// A socket for messages in both directions between this program and one that it starts. It keeps the boundaries of
/// messages (`SOCK_SEQPACKET`, unix(7)).
package final class MessageSocket: Sendable {
    /// The result of sending a message.
    package enum SendResult: Sendable {
        case sent
        /// The peer does not read, or the message exceeds ``maximumSize``. The message was dropped.
        case full
        /// The connection has ended.
        case ended
    }

    /// The maximum size of a message in bytes.
    package static let maximumSize = 64 * 1_024
    /// The requested size of the send buffer in bytes.
    private static let sendBufferSize: Int32 = 1 << 20

    /// The result of receiving a message without waiting.
    package enum ReceiveResult: Sendable {
        /// There is a message of this size in bytes.
        case received(Int)
        /// There is no message.
        case empty
        /// The connection has ended.
        case ended
    }

    private let descriptor: Descriptor

    /// The number of the descriptor, which is readable while there is a message, and after the end.
    var number: Int32 { descriptor.number }

    private init(_ descriptor: Descriptor) { self.descriptor = descriptor }

    /// Returns a pair of connected sockets. `theirs` is for the program and must be released after the start, because
    /// the connection does not end while this process holds it.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if no descriptor is available.
    package static func pair() throws(IOError) -> (ours: MessageSocket, theirs: Descriptor) {
        var ends: (Int32, Int32) = (-1, -1)
        let kind = Int32(SOCK_SEQPACKET.rawValue) | Int32(CLINUX_SOCK_CLOEXEC)
        let answer = withUnsafeMutableBytes(of: &ends) {
            socketpair(AF_UNIX, kind, 0, $0.assumingMemoryBound(to: Int32.self).baseAddress!)
        }
        guard answer == 0 else { throw .system(call: "socketpair", errno: Errno.current) }
        let ours = try Descriptor(ends.0, from: "socketpair")
        // The kernel may grant less. The messages wait here while the program starts.
        ours.set(SOL_SOCKET, SO_SNDBUF, sendBufferSize)
        return (MessageSocket(ours), try Descriptor(ends.1, from: "socketpair"))
    }

    /// Returns the socket that this process inherited as its standard input.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if there is none.
    package static func inherited() throws(IOError) -> MessageSocket {
        MessageSocket(try Descriptor(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), from: "fcntl"))
    }

    /// Sends a message, which must not be empty. If `waits` is false, it never blocks.
    package func send(_ message: [UInt8], waits: Bool) -> SendResult {
        precondition(!message.isEmpty, "an empty message is the end of a connection")
        guard message.count <= Self.maximumSize else { return .full }
        let flags = Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
        while true {
            let count = message.withUnsafeBytes { Glibc.send(descriptor.number, $0.baseAddress, $0.count, flags) }
            if count >= 0 { return .sent }
            switch Errno.current {
            case EINTR: continue
            case EAGAIN, ENOBUFS, EMSGSIZE: return .full
            default: return .ended
            }
        }
    }

    /// Blocks until there is a message, and returns its size in bytes; 0 if the connection has ended. A message that is
    /// larger than the buffer is cut.
    package func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = recv(descriptor.number, buffer.baseAddress, buffer.count, 0)
            if count >= 0 { return count }
            if Errno.current != EINTR { return 0 }
        }
    }

    /// Receives a message without waiting. A message that is larger than the buffer is cut.
    package func receiveNow(into buffer: UnsafeMutableRawBufferPointer) -> ReceiveResult {
        while true {
            let count = recv(descriptor.number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            if count > 0 { return .received(count) }
            if count == 0 { return .ended }
            switch Errno.current {
            case EINTR: continue
            case EAGAIN: return .empty
            default: return .ended
            }
        }
    }

    /// Ends the connection in both directions. A blocked `receive` returns.
    package func end() { shutdown(descriptor.number, Int32(SHUT_RDWR)) }
}
