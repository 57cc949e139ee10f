import CLinux
import Glibc

/// A blocking socket for both directions between this program and one that it starts.
///
/// Writing to a program that has ended fails and raises no signal.
package final class ProcessSocket: Sendable {
    private let ours: Descriptor

    private init(_ ours: Descriptor) { self.ours = ours }

    /// Returns a pair of connected sockets. `theirs` is for the program and must be released after the start, because
    /// the connection does not end while this process holds it.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if no descriptor is available.
    package static func pair() throws(IOError) -> (ours: ProcessSocket, theirs: Descriptor) {
        var ends: (Int32, Int32) = (-1, -1)
        let answer = withUnsafeMutableBytes(of: &ends) {
            socketpair(
                AF_UNIX, Int32(CLINUX_SOCK_STREAM | CLINUX_SOCK_CLOEXEC), 0,
                $0.assumingMemoryBound(to: Int32.self).baseAddress!)
        }
        guard answer == 0 else { throw .system(call: "socketpair", errno: Errno.current) }
        let ours = try Descriptor(ends.0, from: "socketpair")
        return (ProcessSocket(ours), try Descriptor(ends.1, from: "socketpair"))
    }

    /// Returns the socket that this process inherited as its standard input.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if there is none.
    package static func inherited() throws(IOError) -> ProcessSocket {
        ProcessSocket(try Descriptor(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), from: "fcntl"))
    }

    /// Writes all bytes and blocks while the peer does not read. Returns false if the connection has ended.
    package func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(ours.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if Errno.current != EINTR {
                return false
            }
        }
        return true
    }

    /// Blocks until data can be read. Returns the number of bytes; 0 if the connection has ended.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = recv(ours.number, buffer.baseAddress, buffer.count, 0)
            if count >= 0 { return count }
            if Errno.current != EINTR { return 0 }
        }
    }

    /// Reads data that has arrived, without blocking. Returns the number of bytes; nil if there is none, and 0 if the
    /// connection has ended.
    package func readAvailable(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        while true {
            let count = recv(ours.number, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
            if count >= 0 { return count }
            switch Errno.current {
            case EINTR: continue
            case EAGAIN: return nil
            default: return 0
            }
        }
    }

    /// Ends the connection in the direction to the program, which then reads the end of its input.
    package func endWriting() { shutdown(ours.number, Int32(SHUT_WR)) }

    /// Ends the connection in both directions. A blocked `read` returns.
    package func end() { shutdown(ours.number, Int32(SHUT_RDWR)) }
}
