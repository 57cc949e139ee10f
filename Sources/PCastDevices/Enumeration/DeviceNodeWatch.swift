import CV4L2
import Glibc
import PCastIO
import PCastMedia

/// Tells that nodes of cameras or sound cards came or went, by inotify: it needs no udev, so it works in containers too.
///
/// What changed is for the listener to find out, who asks for the devices anew. It is told once things have come to rest:
/// a node appears before udev has set its permissions and the last of a device's several nodes after the first.
public final class DeviceNodeWatch: Sendable {
    /// Without a further event for this long, things have come to rest.
    private static let rest = TimeSpan.milliseconds(150)
    /// But nobody waits longer than this.
    private static let longest = TimeSpan.seconds(1)

    private let wake: WakeDescriptor
    private let thread: WorkerThread

    /// - Parameters:
    ///   - folder: where the nodes are.
    ///   - changed: is called on the watch's own thread, and once at the beginning is not.
    public init(folder: String = "/dev", changed: @escaping @Sendable () -> Void) throws(DeviceError) {
        do {
            let wake = try WakeDescriptor()
            let events = try DeviceNodeEvents(folder: folder)
            self.wake = wake
            thread = try WorkerThread(name: "device-watch") { Self.run(events, wake, changed) }
        } catch let error as DriverError {
            throw .faulty(folder, reason: "\(error.call) failed: \(DriverError.text(error.number))")
        } catch {
            throw .noThread("\(error)")
        }
    }

    deinit { stop() }

    /// A value each time that devices may have come or gone. Ends when nobody waits for it any more.
    public static func changes() throws(DeviceError) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = try DeviceNodeWatch { continuation.yield() }
        continuation.onTermination = { _ in watch.stop() }
        return stream
    }

    /// Ends it, and waits until the last call has returned, unless called by it.
    public func stop() {
        wake.signal()
        thread.join()
    }

    private static func run(_ events: DeviceNodeEvents, _ wake: WakeDescriptor, _ changed: () -> Void) {
        /// When the first and the last event came that nobody was told of yet.
        var pending: (first: Instant, last: Instant)?
        while true {
            let due = pending.map { min($0.last + rest, $0.first + longest) }
            let wait = due.map { Int32(max(0, ($0 - MonotonicClock.now()).milliseconds.rounded(.up))) }
            var waits = [
                pollfd(fd: events.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            _ = poll(&waits, 2, wait ?? -1)
            if waits[1].revents != 0 { return }
            let now = MonotonicClock.now()
            if events.take() { pending = (pending?.first ?? now, now) }
            if let pending, now >= min(pending.last + rest, pending.first + longest) {
                changed()
            } else {
                continue
            }
            pending = nil
        }
    }
}
