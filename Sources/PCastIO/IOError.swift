public import PCastMedia

/// Why a socket, a thread or the event loop could not do what it was asked; each text says what to do about it.
public enum IOError: Error, Hashable, Sendable {
    /// Another socket, most likely of another process, has this address and port.
    case addressInUse(TransportAddress)

    /// No interface of this machine has this address.
    case addressNotAvailable(TransportAddress)

    /// Ports below 1024 need a privilege.
    case permissionDenied(TransportAddress)

    /// The other side of a TCP connection could not be reached; `errno` says why.
    case connectFailed(TransportAddress, errno: Int32)

    /// The TCP connection was not established in time.
    case connectTimedOut(TransportAddress)

    /// As many TCP connections as the loop's limit allows are open.
    case tooManyConnections(limit: Int)

    /// The event loop was stopped.
    case stopped

    /// The mailbox of the event loop is full: its thread does not keep up.
    case mailboxFull

    /// A system call failed that does not fail in health.
    case system(call: String, errno: Int32)
}

extension IOError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .addressInUse(let address):
            "\(address) is in use: stop what has it (`ss -lnptu` names it), or listen on another port."
        case .addressNotAvailable(let address):
            "\(address.ip) is not an address of this machine: listen on one that `ip address` lists, or on 0.0.0.0."
        case .permissionDenied(let address):
            "port \(address.port) needs a privilege: listen on one above 1023, or grant CAP_NET_BIND_SERVICE."
        case .connectFailed(let address, let errno):
            "no TCP connection to \(address) (\(Errno.text(errno))): does it listen, does a firewall stand between?"
        case .connectTimedOut(let address):
            "no answer from \(address) over TCP: check the address, and the firewalls between."
        case .tooManyConnections(let limit):
            "the limit of \(limit) TCP connections is reached: close some, or raise the limit."
        case .stopped:
            "the event loop was stopped: start another."
        case .mailboxFull:
            "the event loop does not keep up with what it is asked: give it fewer peers, or a processor of its own."
        case .system(let call, let errno):
            "\(call) failed: \(Errno.text(errno))."
        }
    }
}
