import CLinux
import PCastCore

/// The epoll instance of a loop's thread. A token identifies each watched descriptor.
struct Poller: ~Copyable {
    /// The kind of descriptor that became ready.
    enum Source {
        case mailbox
        case socket(Int)
        case deferred(Int)
        case listener(Int)
        case connection(UInt32)
        case addresses
        /// A socket that was opened while the loop runs.
        case opened(Int)

        fileprivate var token: UInt64 {
            switch self {
            case .mailbox: 0
            case .socket(let index): 1 << 32 | UInt64(index)
            case .listener(let index): 2 << 32 | UInt64(index)
            case .connection(let number): 3 << 32 | UInt64(number)
            case .addresses: 4 << 32
            case .deferred(let index): 5 << 32 | UInt64(index)
            case .opened(let index): 6 << 32 | UInt64(index)
            }
        }

        fileprivate init(token: UInt64) {
            let value = UInt32(truncatingIfNeeded: token)
            switch token >> 32 {
            case 0: self = .mailbox
            case 1: self = .socket(Int(value))
            case 2: self = .listener(Int(value))
            case 3: self = .connection(value)
            case 5: self = .deferred(Int(value))
            case 6: self = .opened(Int(value))
            default: self = .addresses
            }
        }
    }

    struct Event {
        let source: Source
        let isReadable: Bool
        let isWritable: Bool
    }

    private let descriptor: Descriptor
    private let ready = UnsafeMutablePointer<clinux_event>.allocate(capacity: Int(CLINUX_EVENTS_PER_WAIT))

    init() throws(IOError) {
        descriptor = try Descriptor(clinux_epoll_create(), from: "epoll_create1")
    }

    deinit { ready.deallocate() }

    /// Waits until a descriptor is ready or `deadline` is reached. Returns the number of events.
    func wait(until deadline: Instant?) -> Int {
        let span = deadline.map { max(0, ($0 - MonotonicClock.now()).nanoseconds) } ?? -1
        return max(0, Int(clinux_epoll_wait(descriptor.number, ready, span)))
    }

    /// Returns an event of the last wait. A broken descriptor is reported as readable, because reading returns the
    /// error.
    func event(_ index: Int) -> Event {
        let event = ready[index]
        return Event(
            source: Source(token: event.token),
            isReadable: event.events & UInt32(CLINUX_READABLE | CLINUX_BROKEN) != 0,
            isWritable: event.events & UInt32(CLINUX_WRITABLE | CLINUX_BROKEN) != 0)
    }

    /// Watches a descriptor until it is closed.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if the kernel's limit of watches is reached.
    func add(_ number: Int32, as source: Source, writability: Bool = false) throws(IOError) {
        guard control(CLINUX_ADD, number, source, writability) else {
            throw .system(call: "epoll_ctl", errno: Errno.current)
        }
    }

    /// Sets whether a descriptor is also watched for writability.
    func change(_ number: Int32, as source: Source, writability: Bool) {
        precondition(control(CLINUX_CHANGE, number, source, writability), "the descriptor must be registered")
    }

    /// Watches a descriptor until it is ready once. `rearm` renews the watch.
    ///
    /// - Throws: The errors of `add`.
    func addOnce(_ number: Int32, as source: Source) throws(IOError) {
        guard control(CLINUX_ADD, number, source, false, CLINUX_ONCE) else {
            throw .system(call: "epoll_ctl", errno: Errno.current)
        }
    }

    /// Renews the watch of `addOnce`. The event occurs at once if the descriptor is ready.
    func rearm(_ number: Int32, as source: Source) {
        precondition(control(CLINUX_CHANGE, number, source, false, CLINUX_ONCE), "the descriptor must be registered")
    }

    func remove(_ number: Int32, as source: Source) {
        precondition(control(CLINUX_REMOVE, number, source, false), "the descriptor must be registered")
    }

    private func control(
        _ operation: Int, _ number: Int32, _ source: Source, _ writability: Bool, _ mode: Int = 0
    ) -> Bool {
        let events = CLINUX_READABLE | (writability ? CLINUX_WRITABLE : 0) | mode
        return clinux_epoll_control(descriptor.number, Int32(operation), number, UInt32(events), source.token) == 0
    }
}
