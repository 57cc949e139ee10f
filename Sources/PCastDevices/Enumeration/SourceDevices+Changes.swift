public import PCastMedia
import Synchronization

extension SourceDevices {
    /// What is plugged in and out from now on, for as long as it is iterated. Told when the device can be opened.
    ///
    /// - Throws: when the kernel does not let anybody watch, and `.misconfigured`.
    public static func changes(_ mediaType: MediaType) throws(DeviceError) -> AsyncStream<SourceDeviceChange> {
        let known = Mutex(try enumerate(mediaType))
        let (stream, continuation) = AsyncStream<SourceDeviceChange>.makeStream(bufferingPolicy: .bufferingNewest(256))
        let watch = try DeviceNodeWatch {
            guard let now = try? enumerate(mediaType) else { return }
            let before = known.withLock { known in
                defer { known = now }
                return known
            }
            for device in before where !now.contains(where: { $0.id == device.id }) {
                continuation.yield(.departed(device))
            }
            for device in now where !before.contains(where: { $0.id == device.id }) {
                continuation.yield(.arrived(device))
            }
        }
        continuation.onTermination = { _ in watch.stop() }
        return stream
    }
}
