import Glibc
public import PCastCore

/// An error of a socket, a thread or the event loop. Its text says what to do.
public enum IOError: Error, Hashable, Sendable {
    /// Another socket, probably of another process, uses this address and port.
    case addressInUse(TransportAddress)

    /// No interface of this host has this address.
    case addressNotAvailable(TransportAddress)

    /// The port is below 1024 and needs a privilege.
    case permissionDenied(TransportAddress)

    /// The remote peer of a TCP connection could not be reached. `errno` has the reason.
    case connectFailed(TransportAddress, errno: Int32)

    /// The TCP connection was not established within the timeout.
    case connectTimedOut(TransportAddress)

    /// The maximum number of TCP connections of the loop is open.
    case tooManyConnections(limit: Int)

    /// The event loop was stopped.
    case stopped

    /// The mailbox of the event loop is full, because its thread is overloaded.
    case mailboxFull

    /// A system call failed unexpectedly.
    case system(call: String, errno: Int32)
}

extension IOError: CustomStringConvertible {
    /// The error and its remedy in English.
    public var description: String {
        switch self {
        case .addressInUse(let address):
            "\(address) is in use: stop the program that uses it (`ss -lnptu` names it), or listen on another port."
        case .addressNotAvailable(let address):
            "\(address.ip) is not an address of this host: listen on one that `ip address` lists, or on 0.0.0.0."
        case .permissionDenied(let address):
            "port \(address.port) requires a privilege: listen on a port above 1023, or grant CAP_NET_BIND_SERVICE."
        case .connectFailed(let address, let errno):
            "no TCP connection to \(address) (\(Errno.text(errno))): check that it listens, and the firewalls between."
        case .connectTimedOut(let address):
            "no response from \(address) over TCP: check the address, and the firewalls between."
        case .tooManyConnections(let limit):
            "the limit of \(limit) TCP connections is reached: close some, or raise the limit."
        case .stopped:
            "the event loop was stopped: start another one."
        case .mailboxFull:
            "the event loop is overloaded and its command queue is full: give it fewer peers, or a processor of its own."
        case .system(let call, let errno):
            "\(call) failed: \(Errno.text(errno))."
        }
    }
}

/// The error number of the calling thread and its text.
enum Errno {
    static var current: Int32 { errno }

    static func text(_ number: Int32) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { buffer in
            buffer.initialize(repeating: 0)
            return strerror_r(number, buffer.baseAddress!, buffer.count) == 0
                ? String(cString: buffer.baseAddress!) : "error \(number)"
        }
    }

    /// Converts the error of a call that binds `address`.
    static func binding(_ call: String, _ address: TransportAddress) -> IOError {
        switch current {
        case EADDRINUSE: .addressInUse(address)
        case EADDRNOTAVAIL: .addressNotAvailable(address)
        case EACCES, EPERM: .permissionDenied(address)
        case let number: .system(call: call, errno: number)
        }
    }
}
