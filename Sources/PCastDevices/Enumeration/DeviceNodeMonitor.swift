import CV4L2
import Glibc
import PCastCore
import PCastIO

/// Reports when nodes of cameras or sound cards appear or disappear. It uses inotify and not udev, so that it works in
/// containers.
///
/// It does not report the devices: the callback enumerates them. It is called after a quiet period, because a node
/// appears before udev has set its permissions, and a device's nodes appear one after the other.
package final class DeviceNodeMonitor: Sendable {
    /// The time without events after which the callback is called.
    private static let rest = TimeSpan.milliseconds(150)
    /// The longest time from the first event to the callback.
    private static let longest = TimeSpan.seconds(1)

    private let wake: WakeDescriptor
    private let thread: WorkerThread

    /// Starts to watch.
    ///
    /// - Parameters:
    ///   - folder: The folder of the nodes.
    ///   - changed: A callback for changes, on the watch's own thread. It is not called at the start.
    /// - Throws: `DeviceError.faulty` if inotify is unavailable, or `.noThread`.
    package init(folder: String = "/dev", changed: @escaping @Sendable () -> Void) throws(DeviceError) {
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

    /// Returns a stream with a value each time that devices may have changed. It ends when its reader cancels it.
    /// Throws `DeviceError`.
    package static func changes() throws(DeviceError) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = try DeviceNodeMonitor { continuation.yield() }
        continuation.onTermination = { _ in watch.stop() }
        return stream
    }

    /// Stops the watch and waits until a running callback has returned, except when the callback calls it.
    package func stop() {
        wake.signal()
        thread.join()
    }

    private static func run(_ events: DeviceNodeEvents, _ wake: WakeDescriptor, _ changed: () -> Void) {
        /// The times of the first and the last event that were not reported.
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

/// The inotify events of device nodes: `/dev/video*` and the content of `/dev/snd`, which exists while there is a audio
/// card.
///
/// It is `@unchecked Sendable` because only one thread uses it.
final class DeviceNodeEvents: @unchecked Sendable {
    /// The events of interest. They include permissions, because a node may become accessible only later.
    private static let mask = UInt32(IN_CREATE | IN_DELETE | IN_ATTRIB | IN_MOVED_TO | IN_MOVED_FROM)

    let descriptor: Int32
    private let folder: String
    private let main: Int32
    private var audio: Int32 = -1

    init(folder: String) throws(DriverError) {
        self.folder = folder
        descriptor = cv4l2_watch()
        guard descriptor >= 0 else { throw DriverError("inotify_init", errno) }
        main = inotify_add_watch(descriptor, folder, Self.mask)
        guard main >= 0 else { throw DriverError("inotify_add_watch", errno) }
        watchAudio()
    }

    deinit { close(descriptor) }

    private func watchAudio() { audio = inotify_add_watch(descriptor, folder + "/snd", Self.mask | UInt32(IN_ONLYDIR)) }

    /// Reads all pending events. Returns whether any concerns devices.
    func take() -> Bool {
        var isOfDevice = false
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
            while true {
                let count = read(descriptor, buffer.baseAddress!, buffer.count)
                guard count > 0 else { return }
                var offset = 0
                while offset + MemoryLayout<inotify_event>.size <= count {
                    let event = buffer.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                    let start = offset + MemoryLayout<inotify_event>.size
                    let end = min(start + Int(event.len), count)
                    let name = String(decoding: buffer[start..<end].prefix { $0 != 0 }, as: UTF8.self)
                    if isOfDevices(event, name) { isOfDevice = true }
                    offset = end
                }
            }
        }
        return isOfDevice
    }

    private func isOfDevices(_ event: inotify_event, _ name: String) -> Bool {
        // Events were lost, so devices may have changed.
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
        if event.wd == main {
            if name == "snd", event.mask & UInt32(IN_CREATE | IN_MOVED_TO) != 0 { watchAudio() }
            return name == "snd" || name.hasPrefix("video")
        }
        return event.wd == audio && event.mask & UInt32(IN_IGNORED) == 0
    }
}
