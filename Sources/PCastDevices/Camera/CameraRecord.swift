import PCastCodecs
import PCastCore
import Synchronization

/// The state that a camera's thread publishes. It remains available after the camera is closed.
final class CameraRecord: Sendable {
    struct Entries: Sendable {
        var statistics = CameraStatistics()
        var dimensions: Dimensions
        var transcodeReason: TranscodeReason?
    }

    private let entries: Mutex<Entries>

    init(dimensions: Dimensions) { entries = Mutex(Entries(dimensions: dimensions)) }

    var current: Entries { entries.withLock { $0 } }

    func change(_ body: (inout Entries) -> Void) { entries.withLock { body(&$0) } }
}
