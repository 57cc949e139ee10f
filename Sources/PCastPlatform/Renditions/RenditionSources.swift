import PCastCore
import PCastIO
import PCastSFU
import Synchronization

/// The way of the units of streams from the threads of the shards to the processes that make renditions. It never waits.
final class RenditionSources: Sendable {
    private let processes = Mutex<[StreamID: RenditionProcess]>([:])

    /// Sets the process that receives the units of a stream; nil for none.
    func set(_ process: RenditionProcess?, of stream: StreamID) { processes.withLock { $0[stream] = process } }

    /// Passes on a unit. It is dropped if the stream has no process, or that is too slow.
    func deliver(_ unit: PublishedUnit, at now: Instant) {
        guard let process = processes.withLock({ $0[unit.stream] }) else { return }
        process.send(
            .init(
                layer: 0, isKeyFrame: unit.isKeyFrame, timestamp: unit.timestamp, captureTime: unit.captureTime,
                bytes: unit.bytes), codec: unit.codec, at: now)
    }
}
