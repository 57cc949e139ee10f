import Foundation
import Glibc

/// A network interface of a namespace whose packets this process reads and writes (the Linux kernel's TUN/TAP driver).
final class TunnelDevice: Sendable {
    /// The file descriptor; only one thread may use it at a time.
    let descriptor: Int32

    /// From linux/if_tun.h: `TUNSETIFF`, and `IFF_TUN` with `IFF_NO_PI`.
    private static let setInterface: UInt = 0x4004_54CA
    private static let flags: Int16 = 0x1001

    /// Creates an interface. `address` includes the prefix length, such as 10.0.0.1/16. Throws `BenchFailure` if this
    /// process is not permitted to.
    init(_ name: String, address: String, in namespace: NetworkNamespace) throws {
        descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw BenchFailure("/dev/net/tun: \(String(cString: strerror(errno)))") }
        // struct ifreq: 16 bytes of name, then the flags.
        var request = [UInt8](repeating: 0, count: 40)
        request.replaceSubrange(0..<name.utf8.count, with: Array(name.utf8))
        request.withUnsafeMutableBytes { $0.storeBytes(of: Self.flags, toByteOffset: 16, as: Int16.self) }
        let result = request.withUnsafeMutableBytes { ioctl(descriptor, Self.setInterface, $0.baseAddress!) }
        guard result == 0 else {
            throw BenchFailure("the tunnel device cannot be created: \(String(cString: strerror(errno)))")
        }
        try SystemProgram.run("ip", ["link", "set", name, "netns", namespace.name])
        try namespace.ip(["address", "add", address, "dev", name])
        try namespace.ip(["link", "set", name, "up"])
    }

    /// Also runs for an object whose initializer threw.
    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Returns the next packet that the namespace sends; nil if there is none.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> [UInt8]? {
        let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        return count > 0 ? Array(buffer[..<count]) : nil
    }

    /// Delivers a packet to the namespace; it is dropped if the interface does not accept it.
    func write(_ packet: [UInt8]) { _ = packet.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } }
}
