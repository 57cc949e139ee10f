import PCastCore
import PCastIO
import Synchronization

/// Transfers audio from the real-time thread of a PipeWire graph to the thread of a source, without locks and allocation.
///
/// If the reader is late, the newest audio is dropped, and the next block has the number of dropped samples. It is
/// `@unchecked Sendable`: only the writer's thread uses `written`, `lost` and free samples, and only the reader's thread
/// uses `read` and the samples of blocks that it has taken. Acquire and release order these accesses.
final class PipeWireAudioRing: @unchecked Sendable {
    /// Audio that was delivered at one time.
    struct Block: Hashable, Sendable {
        /// The number of samples per channel.
        var count: Int
        /// The number of samples per channel that were dropped before it.
        var lost: Int
        /// The capture time of its first sample.
        var start: Instant
    }

    /// The most blocks that wait.
    private static let mostBlocks = 512

    private let samples: UnsafeMutablePointer<Float>
    private let mask: Int
    private let channels: Int
    private let blocks = BoundedRing<Block>(capacity: mostBlocks)
    /// The number of samples of all channels that were released by the reader.
    private let released = Atomic<Int>(0)
    private var written = 0
    private var lost = 0
    private var read = 0

    /// Creates an empty ring. `capacity` is the most samples of all channels that wait, a power of two.
    init(channels: Int, capacity: Int = 1 << 16) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0)
        self.channels = channels
        mask = capacity - 1
        samples = .allocate(capacity: capacity)
        samples.initialize(repeating: 0, count: capacity)
    }

    deinit { samples.deallocate() }

    /// Adds audio with interleaved channels, on the writer's thread. Returns the number of samples per channel, also if they
    /// were dropped.
    @discardableResult
    func write(_ bytes: UnsafeRawBufferPointer, _ format: PipeWireAudioFormat.Sample, start: Instant) -> Int {
        let count = bytes.count / (format.size * channels)
        guard count > 0 else { return 0 }
        let total = count * channels
        let free = mask + 1 - (written - released.load(ordering: .acquiring))
        guard total <= free, blocks.count < blocks.capacity else {
            lost += count
            return count
        }
        switch format {
        case .float:
            for index in 0..<total {
                let value = bytes.loadUnaligned(fromByteOffset: index * 4, as: Float.self)
                samples[(written + index) & mask] = value.isFinite ? value : 0
            }
        case .signed16:
            for index in 0..<total {
                let value = bytes.loadUnaligned(fromByteOffset: index * 2, as: Int16.self)
                samples[(written + index) & mask] = Float(value) / 32_768
            }
        }
        written += total
        // There is space, because only the reader removes blocks.
        _ = blocks.push(Block(count: count, lost: lost, start: start))
        lost = 0
        return count
    }

    /// Removes the first block and appends its samples, on the reader's thread; nil if there is none.
    func take(into result: inout [Float]) -> Block? {
        guard let block = blocks.pop() else { return nil }
        let total = block.count * channels
        for index in 0..<total { result.append(samples[(read + index) & mask]) }
        read += total
        released.store(read, ordering: .releasing)
        return block
    }
}
