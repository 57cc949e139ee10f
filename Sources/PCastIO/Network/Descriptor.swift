import CLinux
import Glibc
import PCastCore

/// A file descriptor that is closed when the object is released. It is immutable, so any thread may use it.
package final class Descriptor: Sendable {
    /// The number of the descriptor.
    package let number: Int32

    /// Takes over the descriptor that a system call returned.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if the call failed.
    package init(_ number: Int32, from call: String) throws(IOError) {
        guard number >= 0 else { throw .system(call: call, errno: Errno.current) }
        self.number = number
    }

    /// Opens /dev/null.
    ///
    /// - Throws: ``IOError/system(call:errno:)``.
    package static func null() throws(IOError) -> Descriptor {
        try Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC), from: "open")
    }

    deinit { close(number) }

    /// Creates a nonblocking socket that other programs do not inherit.
    static func socket(_ family: IPAddress.Family, _ kind: Int) throws(IOError) -> Descriptor {
        let kind = Int32(kind | CLINUX_SOCK_NONBLOCK | CLINUX_SOCK_CLOEXEC)
        return try Descriptor(Glibc.socket(family == .v4 ? AF_INET : AF_INET6, kind, 0), from: "socket")
    }

    /// Sets an integer option. Returns false if the kernel refused it.
    @discardableResult
    func set(_ level: Int32, _ option: Int32, _ value: Int32) -> Bool {
        withUnsafePointer(to: value) {
            setsockopt(number, level, option, $0, socklen_t(MemoryLayout<Int32>.size)) == 0
        }
    }

    func get(_ level: Int32, _ option: Int32) -> Int32 {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(number, level, option, &value, &size) == 0 ? value : 0
    }
}

/// The descriptors that a process keeps free while it accepts connections.
///
/// The process needs descriptors for files, and libdispatch opens one to count its running threads. If it gets none, it
/// ends the process. So connections wait before the limit of the process is reached, not when it is reached.
package enum DescriptorReserve {
    /// The largest reserve. Processes with a limit below 512 keep an eighth of it.
    static let maximum: UInt64 = 64

    /// Whether a descriptor with this number, which was the lowest free one, belongs to the reserve.
    static func contains(_ number: Int32, limit: UInt64) -> Bool {
        UInt64(max(0, number)) >= limit - min(maximum, limit / 8)
    }

    /// Whether a descriptor that was just opened belongs to the reserve.
    static func contains(_ number: Int32) -> Bool { contains(number, limit: limit) }

    /// Whether a descriptor that is opened now would belong to the reserve.
    package static var isReached: Bool {
        // The kernel assigns the lowest free number.
        guard let next = try? Descriptor.null() else { return true }
        return contains(next.number)
    }

    /// The limit of the process, which may change while it runs.
    private static var limit: UInt64 {
        var files = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
        return UInt64(files.rlim_cur)
    }
}
