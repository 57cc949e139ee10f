import CLinux
import Glibc
package import PCastCore

/// The readiness of a descriptor, for threads that may block.
package enum DescriptorReadiness: Sendable {
    /// The descriptor can be read or written, as requested.
    case ready
    /// The timeout was reached, or a signal arrived.
    case idle
    /// The descriptor is closed by its peer or broken, and there is no data to read.
    case closed

    /// Blocks until a descriptor can be read (or written if `writing` is true), is broken, or the timeout `span` is
    /// reached.
    package static func wait(for descriptor: Int32, writing: Bool = false, within span: TimeSpan) -> DescriptorReadiness
    {
        let wanted = Int16(writing ? POLLOUT : POLLIN)
        var item = pollfd(fd: descriptor, events: wanted, revents: 0)
        let count = poll(&item, 1, Int32(min(max(span.milliseconds.rounded(.up), 0), 1e6)))
        if count < 0 { return errno == EINTR ? .idle : .closed }
        if item.revents & wanted != 0 { return .ready }
        return item.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0 ? .closed : .idle
    }
}
