/// The most recent captured blocks.
final class BlockHistory {
    /// The number of blocks, 400 ms.
    static let capacity = 80

    private let blocks = VectorBuffer(count: EchoBlock.sampleCount * BlockHistory.capacity)
    private var next = 0

    /// The number of stored blocks.
    private(set) var count = 0

    func append(_ block: VectorBuffer) {
        blocks.replace(at: next * EchoBlock.sampleCount, with: block)
        next = (next + 1) % Self.capacity
        count = min(count + 1, Self.capacity)
    }

    /// Copies a block. The newest one has the index 1.
    func copy(_ ago: Int, into block: VectorBuffer) {
        precondition(ago >= 1 && ago <= count)
        let slot = (next + Self.capacity - ago) % Self.capacity
        block.floats.update(from: blocks.floats + slot * EchoBlock.sampleCount, count: EchoBlock.sampleCount)
    }

    /// Discards all blocks before audio that is not contiguous.
    func removeAll() { count = 0 }
}
