import PCastCore
import PCastIO
import PCastSFU
import Synchronization

/// Passes the frames of a publisher in this process to the shard of its stream. It never waits, and may be called on any
/// thread. Frames of many publishers wait for some milliseconds at most, so that not each one wakes the shard's thread.
///
/// If the shard is too slow, frames are dropped, and each video layer continues at its next key frame.
final class IngestFeed: Sendable {
    /// A frame of a video layer, or a packet of audio.
    struct Frame: Sendable {
        let frame: EncodedFrame
        /// The index of the video layer; 0 for audio.
        let layer: Int
    }

    private let peer: PeerID
    private let loop: EventLoop<SFU>
    /// Whether the frames are those of renditions of the publisher's video.
    private let isOfRenditions: Bool
    private let backlog = Mutex(IngestBacklog())
    /// The size of the frames that the shard has not processed, in bytes.
    private let pendingSize = Atomic(0)

    init(_ peer: PeerID, _ loop: EventLoop<SFU>, isOfRenditions: Bool = false) {
        self.isOfRenditions = isOfRenditions
        self.peer = peer
        self.loop = loop
    }

    /// The number of frames that were dropped.
    var droppedCount: Int { backlog.withLock { $0.droppedCount } }

    /// Passes frames in their order. They have no effect after the end of the publisher.
    func send(_ frames: [Frame]) {
        let pending = pendingSize.load(ordering: .relaxed)
        let accepted = backlog.withLock { $0.admit(frames, pendingSize: pending) }
        guard !accepted.isEmpty else { return }
        let size = accepted.reduce(0) { $0 + $1.frame.bytes.count }
        pendingSize.add(size, ordering: .relaxed)
        do throws(IOError) {
            try loop.submitDeferrable { [self] sfu, now in
                for frame in accepted {
                    if isOfRenditions {
                        sfu.ingestRendition(frame.frame, layer: frame.layer, of: peer, at: now)
                    } else {
                        sfu.ingest(frame.frame, layer: frame.layer, from: peer, at: now)
                    }
                }
                pendingSize.subtract(size, ordering: .relaxed)
            }
        } catch {
            pendingSize.subtract(size, ordering: .relaxed)
            backlog.withLock { $0.drop(accepted) }
        }
    }
}

/// The decision which frames are passed on while others wait.
struct IngestBacklog: Sendable {
    /// The size of the waiting frames beyond which others are dropped, in bytes. It has several seconds of any encoder.
    static let maximumPendingSize = 8 << 20

    /// The video layers that continue at their next key frame.
    private var interruptedLayers: Set<Int> = []
    /// The number of frames that were dropped.
    private(set) var droppedCount = 0

    /// Returns the frames that may be passed on. `pendingSize` is the size of those that wait, in bytes.
    mutating func admit(_ frames: [IngestFeed.Frame], pendingSize: Int) -> [IngestFeed.Frame] {
        guard pendingSize <= Self.maximumPendingSize else {
            drop(frames)
            return []
        }
        guard !interruptedLayers.isEmpty else { return frames }
        return frames.filter { frame in
            guard frame.frame.codec.mediaType == .video, interruptedLayers.contains(frame.layer) else { return true }
            if frame.frame.isKeyFrame {
                interruptedLayers.remove(frame.layer)
                return true
            }
            droppedCount += 1
            return false
        }
    }

    /// Records that frames were dropped.
    mutating func drop(_ frames: [IngestFeed.Frame]) {
        droppedCount += frames.count
        for frame in frames where frame.frame.codec.mediaType == .video { interruptedLayers.insert(frame.layer) }
    }
}
