public import PCastCore
import Synchronization

/// A pool for the memory of frames. A 720p frame takes 1.4 MB, which is expensive to allocate for each frame.
///
/// It stores at most `capacity` free blocks of one size and frees blocks of other sizes.
public final class VideoFramePool: Sendable {
    private struct Free {
        nonisolated(unsafe) var pieces: [UnsafeMutableRawBufferPointer] = []
    }

    private let free = Mutex(Free())
    private let capacity: Int

    /// Creates a pool that stores at most `capacity` free blocks.
    public init(capacity: Int = 8) { self.capacity = capacity }

    deinit {
        free.withLock { free in
            for piece in free.pieces { piece.deallocate() }
        }
    }

    /// Returns a frame with undefined content, which the caller must write before it shares the frame.
    public func frame(
        dimensions: Dimensions, captureTime: WallTime?, timestamp: MediaTime, color: VideoColor = .bt601
    ) -> VideoFrame {
        let size = VideoFrame.layout(dimensions).byteCount
        let memory = take(size) ?? .allocate(byteCount: size, alignment: 64)
        return VideoFrame(
            dimensions: dimensions, captureTime: captureTime, timestamp: timestamp, color: color,
            memory: memory
        ) { [weak self] memory in
            if let self { give(memory) } else { memory.deallocate() }
        }
    }

    private func take(_ size: Int) -> UnsafeMutableRawBufferPointer? {
        free.withLock { free -> sending UnsafeMutableRawBufferPointer? in
            while let piece = free.pieces.popLast() {
                nonisolated(unsafe) let found = piece
                if found.count == size { return found }
                found.deallocate()
            }
            return nil
        }
    }

    private func give(_ memory: UnsafeMutableRawBufferPointer) {
        nonisolated(unsafe) let piece = memory
        let isKept = free.withLock { free in
            guard free.pieces.count < capacity else { return false }
            free.pieces.append(piece)
            return true
        }
        if !isKept { piece.deallocate() }
    }
}
