import CV4L2
import Glibc

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
