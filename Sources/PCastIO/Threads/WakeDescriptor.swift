import CLinux
import Glibc
package import PCastCore

/// A descriptor that wakes a thread that waits for descriptors. It is readable from a signal until `take`.
package final class WakeDescriptor: Sendable {
    private let own: Descriptor

    /// Creates a descriptor that is not signalled.
    ///
    /// - Throws: ``IOError/system(call:errno:)``.
    package init() throws(IOError) {
        own = try Descriptor(clinux_eventfd(), from: "eventfd")
    }

    /// The descriptor, which is readable while it is signalled.
    package var descriptor: Int32 { own.number }

    /// Signals the descriptor, from any thread. Several signals before the next `take` count as one.
    package func signal() {
        var one: UInt64 = 1
        _ = write(own.number, &one, MemoryLayout<UInt64>.size)
    }

    /// Resets the signal.
    package func take() {
        var count: UInt64 = 0
        _ = read(own.number, &count, MemoryLayout<UInt64>.size)
    }

    /// Blocks until the descriptor is signalled, which resets it, until an event of `other` occurs, or until the
    /// timeout is reached.
    package func wait(beside other: Int32?, within span: TimeSpan) {
        // poll(2) ignores a negative descriptor.
        var waits = [
            pollfd(fd: own.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: other ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&waits, 2, Int32(min(max(span.milliseconds.rounded(.up), 0), 1e6)))
        if waits[0].revents != 0 { take() }
    }
}

/// A signal for a waiting thread. A signal before the wait is kept, and several ones count as one.
package final class WakeSignal: Sendable {
    private let isRaised = Monitor(false)

    /// Creates a signal that is not raised.
    package init() {}

    /// Raises the signal and wakes a waiting thread.
    package func raise() {
        isRaised.withLock { isRaised, condition in
            isRaised = true
            condition.wakeOne()
        }
    }

    /// Blocks until the signal is raised, and resets it. Returns false if `deadline` is reached.
    @discardableResult
    package func wait(until deadline: Instant?) -> Bool {
        isRaised.wait(until: deadline) { isRaised in
            defer { isRaised = false }
            return isRaised ? true : nil
        } ?? false
    }
}
