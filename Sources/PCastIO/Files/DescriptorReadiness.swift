import CLinux
import Glibc
public import PCastMedia

/// Waiting for one descriptor, by whoever may block.
public enum DescriptorReadiness: Sendable {
    /// It can be read from, or written to, as was asked.
    case ready
    /// Nothing happened in the time.
    case quiet
    /// It is closed at its other end, or broken, and there is nothing to read.
    case gone

    /// - Parameter writing: waits until it can be written to, else until it can be read from.
    public static func wait(for descriptor: Int32, writing: Bool = false, within span: TimeSpan) -> DescriptorReadiness
    {
        let wanted = Int16(writing ? POLLOUT : POLLIN)
        var item = pollfd(fd: descriptor, events: wanted, revents: 0)
        let count = poll(&item, 1, Int32(min(max(span.milliseconds.rounded(.up), 0), 1e6)))
        if count < 0 { return errno == EINTR ? .quiet : .gone }
        if item.revents & wanted != 0 { return .ready }
        return item.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0 ? .gone : .quiet
    }
}
