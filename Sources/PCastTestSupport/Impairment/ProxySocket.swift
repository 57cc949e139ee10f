package import CLinux
import Glibc
package import PCastCore

/// A nonblocking IPv4 socket of the proxy; the descriptor is closed with the object.
package final class ProxySocket {
    /// The protocol: UDP or TCP.
    package enum Kind { case datagrams, stream }

    /// The descriptor.
    package let number: Int32

    /// Opens a socket. Throws ``ImpairmentError`` if there is none.
    package init(_ kind: Kind) throws {
        let type = kind == .datagrams ? CLINUX_SOCK_DGRAM : CLINUX_SOCK_STREAM
        number = socket(AF_INET, Int32(type | CLINUX_SOCK_NONBLOCK | CLINUX_SOCK_CLOEXEC), 0)
        guard number >= 0 else { throw Self.failure("socket") }
        var one: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        if kind == .stream {
            setsockopt(number, SOL_SOCKET, SO_REUSEADDR, &one, size)
            setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &one, size)
        } else {
            var bufferSize: Int32 = 4 << 20
            setsockopt(number, SOL_SOCKET, SO_RCVBUF, &bufferSize, size)
        }
    }

    /// Takes ownership of an accepted connection.
    private init(accepted number: Int32) {
        self.number = number
        var one: Int32 = 1
        setsockopt(number, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Also runs for an object whose initializer threw.
    deinit { if number >= 0 { close(number) } }

    /// Binds the socket to an address. Throws ``ImpairmentError`` if it is unavailable.
    package func bind(_ address: TransportAddress) throws {
        guard Self.with(address, { Glibc.bind(number, $0, $1) }) == 0 else { throw Self.failure("bind \(address)") }
    }

    /// Accepts connections from now on. Throws ``ImpairmentError`` if the call fails.
    package func listen() throws {
        guard Glibc.listen(number, 128) == 0 else { throw Self.failure("listen") }
    }

    /// Connects the socket. The connection of a stream socket may still be in progress (`EINPROGRESS`) on return.
    /// Throws ``ImpairmentError`` if the call fails.
    package func connect(_ address: TransportAddress) throws {
        guard Self.with(address, { Glibc.connect(number, $0, $1) }) == 0 || errno == EINPROGRESS else {
            throw Self.failure("connect \(address)")
        }
    }

    /// The pending error of the socket (`SO_ERROR`) as an `errno` value; 0 if there is none.
    package var error: Int32 {
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno
    }

    /// Returns the next connection; nil if there is none.
    package func accept() -> ProxySocket? {
        let accepted = Glibc.accept(number, nil, nil)
        guard accepted >= 0 else { return nil }
        _ = fcntl(accepted, F_SETFL, O_NONBLOCK)
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        return ProxySocket(accepted: accepted)
    }

    /// Waits until a descriptor is ready or the time has passed. Because `poll(2)` counts in milliseconds, a wait of
    /// less than one millisecond sleeps for at most 100 microseconds.
    package static func wait(_ descriptors: inout [pollfd], for span: TimeSpan) {
        let microseconds = max(0, span.nanoseconds / 1_000)
        let reporting = poll(&descriptors, nfds_t(descriptors.count), Int32(microseconds / 1_000))
        if reporting == 0, microseconds > 0, microseconds < 1_000 { usleep(UInt32(min(microseconds, 100))) }
    }

    static func with<Result>(
        _ address: TransportAddress, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = address.port.bigEndian
        name.sin_addr.s_addr = (address.ip.v4 ?? 0).bigEndian
        return withUnsafePointer(to: name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }

    /// Receives a datagram and its source address; nil if none is available.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> (count: Int, from: TransportAddress)? {
        var name = sockaddr_in()
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let count = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                recvfrom(number, buffer.baseAddress, buffer.count, 0, $0, &size)
            }
        }
        guard count >= 0 else { return nil }
        let ip = IPAddress(v4: UInt32(bigEndian: name.sin_addr.s_addr))
        return (count, TransportAddress(ip: ip, port: UInt16(bigEndian: name.sin_port)))
    }

    private static func failure(_ call: String) -> ImpairmentError {
        ImpairmentError("\(call) failed: \(String(cString: strerror(errno)))")
    }
}
