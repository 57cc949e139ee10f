import CLinux
import Glibc
package import PCastCore

/// The service manager that started this process, such as systemd. It receives the state of the service in datagrams
/// (sd_notify(3)).
package struct ServiceManagerSocket: Sendable {
    /// A state of the service.
    package enum State: Hashable, Sendable {
        /// The start or a reload has finished.
        case ready
        /// A reload of the configuration has begun at this instant.
        case reloading(Instant)
        /// The service has begun to stop.
        case stopping
        /// The service responds. With a watchdog, it must be sent again within ``watchdogTimeout``.
        case alive
        /// A text for the administrator.
        case status(String)
        /// The start or the stop takes at most this much longer.
        case extendedTimeout(TimeSpan)
    }

    private let socket: Descriptor
    /// The manager's address: a `sockaddr_un`, as long as necessary.
    private let address: [UInt8]

    /// The time after which the manager ends a service that has not sent ``State/alive``; nil without a watchdog.
    package let watchdogTimeout: TimeSpan?

    /// The time in seconds that a datagram waits for space in the manager's queue.
    private static let sendTimeout = 5

    /// Creates the interface to the manager that `NOTIFY_SOCKET` names; nil if the variable is not set.
    ///
    /// - Parameters:
    ///   - environment: The environment of the process.
    ///   - process: The identifier of the process. A watchdog that is meant for another process is ignored.
    /// - Throws: ``IOError/system(call:errno:)`` if the variable is not the name of a Unix socket, or no socket is
    ///   available.
    package init?(environment: [String: String], process: Int32 = getpid()) throws(IOError) {
        guard let name = environment["NOTIFY_SOCKET"], !name.isEmpty else { return nil }
        address = try Self.address(name)
        socket = try Descriptor(
            Glibc.socket(AF_UNIX, Int32(CLINUX_SOCK_DGRAM | CLINUX_SOCK_CLOEXEC), 0), from: "socket")
        var timeout = timeval(tv_sec: Self.sendTimeout, tv_usec: 0)
        setsockopt(socket.number, SOL_SOCKET, SO_SNDTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        let isMeant = environment["WATCHDOG_PID"].map { $0 == "\(process)" } ?? true
        watchdogTimeout =
            isMeant ? environment["WATCHDOG_USEC"].flatMap(Int64.init).flatMap(Self.timeout(microseconds:)) : nil
    }

    /// Returns the timeout of a watchdog, at most a day; nil if the number is not positive.
    private static func timeout(microseconds: Int64) -> TimeSpan? {
        microseconds > 0 ? .microseconds(min(microseconds, 86_400_000_000)) : nil
    }

    /// Returns a `sockaddr_un`. A name that begins with “@” is an abstract one (unix(7)).
    private static func address(_ name: String) throws(IOError) -> [UInt8] {
        var path = Array(name.utf8)
        let isAbstract = path.first == UInt8(ascii: "@")
        guard isAbstract || path.first == UInt8(ascii: "/"), !path.contains(0), path.count < pathCapacity else {
            throw .system(call: "using NOTIFY_SOCKET=\(name)", errno: EAFNOSUPPORT)
        }
        if isAbstract { path[0] = 0 } else { path.append(0) }
        return withUnsafeBytes(of: sa_family_t(AF_UNIX)) { Array($0) } + path
    }

    /// The size of `sun_path` (unix(7)).
    private static let pathCapacity = 108

    /// Sends states in one datagram. It blocks for at most five seconds while the manager does not read.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if the manager did not receive the states.
    package func notify(_ states: [State]) throws(IOError) {
        let bytes = Array(states.map(\.text).joined(separator: "\n").utf8)
        var sent = -1
        repeat {
            sent = address.withUnsafeBytes { name in
                sendto(
                    socket.number, bytes, bytes.count, Int32(MSG_NOSIGNAL),
                    name.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t(name.count))
            }
        } while sent < 0 && Errno.current == EINTR
        guard sent == bytes.count else { throw .system(call: "notifying the service manager", errno: Errno.current) }
    }
}

extension ServiceManagerSocket.State {
    /// The assignments that the manager reads, one per line.
    fileprivate var text: String {
        switch self {
        case .ready: "READY=1"
        case .reloading(let instant): "RELOADING=1\nMONOTONIC_USEC=\(instant.nanoseconds / 1000)"
        case .stopping: "STOPPING=1"
        case .alive: "WATCHDOG=1"
        // A line break would begin another assignment.
        case .status(let text): "STATUS=\(String(text.map { $0.isNewline ? " " : $0 }))"
        case .extendedTimeout(let time): "EXTEND_TIMEOUT_USEC=\(time.nanoseconds / 1000)"
        }
    }
}
