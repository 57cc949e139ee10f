import CLinux
import Glibc
public import PCastMedia

/// Wakes a thread that waits for descriptors, by one that is readable from a signal until that is taken.
public final class WakeDescriptor: Sendable {
    private let own: Descriptor

    public init() throws(IOError) {
        own = try Descriptor(clinux_eventfd(), from: "eventfd")
    }

    /// To be waited for until it can be read.
    public var descriptor: Int32 { own.number }

    /// From any thread. Several before the next `take` are one.
    public func signal() {
        var one: UInt64 = 1
        _ = write(own.number, &one, MemoryLayout<UInt64>.size)
    }

    public func take() {
        var count: UInt64 = 0
        _ = read(own.number, &count, MemoryLayout<UInt64>.size)
    }

    /// Blocks until it was signalled, which is taken; until something happened to another descriptor; or for so long.
    public func wait(beside other: Int32?, within span: TimeSpan) {
        // A negative one is passed over (poll(2)).
        var waits = [
            pollfd(fd: own.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: other ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&waits, 2, Int32(min(max(span.milliseconds.rounded(.up), 0), 1e6)))
        if waits[0].revents != 0 { take() }
    }
}
