import Glibc
import PCastCore

@testable import PCastIO

/// A plain blocking socket, as other programs use it, with a timeout of two minutes.
final class TestSocket {
    private let descriptor: Int32

    private init(_ family: IPAddress.Family, _ kind: __socket_type) {
        descriptor = socket(family == .v4 ? AF_INET : AF_INET6, Int32(kind.rawValue), 0)
        var timeout = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var size: Int32 = 4 << 20
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit { close(descriptor) }

    static func udp(_ address: String = "127.0.0.1:0") -> TestSocket {
        let address = TransportAddress(address)!
        let made = TestSocket(address.ip.family, SOCK_DGRAM)
        let bound = SocketAddress.with(address) { bind(made.descriptor, $0, $1) }
        precondition(bound == 0)
        return made
    }

    static func tcp(to address: TransportAddress) -> TestSocket {
        let made = TestSocket(address.ip.family, SOCK_STREAM)
        let connected = SocketAddress.with(address) { connect(made.descriptor, $0, $1) }
        precondition(connected == 0)
        var one: Int32 = 1
        setsockopt(made.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        return made
    }

    var address: TransportAddress { SocketAddress.ask(descriptor, getsockname)! }

    func send(_ bytes: [UInt8], to address: TransportAddress) {
        let sent = SocketAddress.with(address) { sendto(descriptor, bytes, bytes.count, 0, $0, $1) }
        precondition(sent == bytes.count)
    }

    /// Returns the next datagram; nil after two minutes.
    func receive() -> (bytes: [UInt8], from: TransportAddress)? {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        var name = [UInt64](repeating: 0, count: 4)
        var size = socklen_t(SocketAddress.maximumSize)
        let count = name.withUnsafeMutableBytes { name in
            recvfrom(
                descriptor, &bytes, bytes.count, 0, name.baseAddress!.assumingMemoryBound(to: sockaddr.self), &size)
        }
        guard count >= 0 else { return nil }
        return (Array(bytes[..<count]), name.withUnsafeBytes { SocketAddress.read(from: $0.baseAddress!)! })
    }

    func write(_ bytes: [UInt8]) {
        let sent = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        precondition(sent == bytes.count)
    }

    /// Returns exactly `count` bytes, or fewer if the stream ends.
    func read(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var got = 0
        while got < count {
            let some = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + got, count - got, 0) }
            if some <= 0 { break }
            got += some
        }
        return Array(bytes[..<got])
    }
}
