import PCastCodecs
import PCastMedia
import Synchronization

/// What a camera's thread tells others, also after the camera was given back.
final class CameraRecord: Sendable {
    struct Entries: Sendable {
        var statistics = CameraStatistics()
        var dimensions: Dimensions
        var obstacle: PassThroughObstacle?
    }

    private let entries: Mutex<Entries>

    init(dimensions: Dimensions) { entries = Mutex(Entries(dimensions: dimensions)) }

    var current: Entries { entries.withLock { $0 } }

    func change(_ body: (inout Entries) -> Void) { entries.withLock { body(&$0) } }
}
