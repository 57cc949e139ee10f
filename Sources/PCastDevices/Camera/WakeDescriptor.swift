import CV4L2
import Glibc

/// Wakes a thread that waits for descriptors, by one that stays readable once it was signalled.
final class WakeDescriptor: Sendable {
    let descriptor: Int32

    init() throws(DriverError) {
        descriptor = cv4l2_eventfd()
        guard descriptor >= 0 else { throw DriverError("eventfd", errno) }
    }

    deinit { close(descriptor) }

    func signal() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }
}
