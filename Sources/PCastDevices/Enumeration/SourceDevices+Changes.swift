package import PCastCore
import Synchronization

extension SourceDevices {
    /// Returns a stream of the devices that are connected and disconnected from now on, until its reader cancels it. A
    /// device is reported when it can be opened. Throws `DeviceError` if devices cannot be watched, or
    /// `.misconfigured`.
    package static func changes(_ mediaType: MediaType) throws(DeviceError) -> AsyncStream<SourceDeviceChange> {
        let known = Mutex(try enumerate(mediaType))
        let (stream, continuation) = AsyncStream<SourceDeviceChange>.makeStream(bufferingPolicy: .bufferingNewest(256))
        let watch = try DeviceNodeMonitor {
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
