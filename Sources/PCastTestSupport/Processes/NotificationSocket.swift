import CLinux
import Glibc
package import PCastIO

/// The socket of a service manager: a Unix datagram socket that receives the states of a service (sd_notify(3)).
package final class NotificationSocket: Sendable {
    private let socket: Descriptor

    /// The value of `NOTIFY_SOCKET` for the service.
    package let name: String

    /// Binds a socket.
    ///
    /// - Parameter name: The absolute path of the socket, or an abstract name that begins with “@”. At most 107 bytes.
    /// - Throws: ``IOError/system(call:errno:)``.
    package init(_ name: String) throws(IOError) {
        self.name = name
        socket = try Descriptor(
            Glibc.socket(AF_UNIX, Int32(CLINUX_SOCK_DGRAM | CLINUX_SOCK_CLOEXEC), 0), from: "socket")
        var timeout = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(socket.number, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var path = Array(name.utf8)
        precondition(path.count < MemoryLayout.size(ofValue: address.sun_path), "\(name) is too long for a socket")
        let isAbstract = path.first == UInt8(ascii: "@")
        if isAbstract { path[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        let prefix = MemoryLayout<sockaddr_un>.size - MemoryLayout.size(ofValue: address.sun_path)
        let size = prefix + path.count + (isAbstract ? 0 : 1)
        let bound = withUnsafePointer(to: address) { pointer in
            bind(socket.number, UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self), socklen_t(size))
        }
        guard bound == 0 else { throw .system(call: "bind", errno: errno) }
    }

    /// Waits for the next datagram and returns its lines; nil after two minutes.
    package func receive() -> [String]? { receive(flags: 0) }

    /// Returns the lines of the next datagram if it has arrived, otherwise nil.
    package func receiveArrived() -> [String]? { receive(flags: Int32(MSG_DONTWAIT)) }

    private func receive(flags: Int32) -> [String]? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        var count = -1
        repeat { count = recv(socket.number, &bytes, bytes.count, flags) } while count < 0 && errno == EINTR
        guard count >= 0 else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
