/// The last blocks that were heard.
final class BlockHistory {
    /// 400 ms.
    static let capacity = 80

    private let blocks = VectorBuffer(count: EchoBlock.sampleCount * BlockHistory.capacity)
    private var next = 0

    /// How many there are.
    private(set) var count = 0

    func append(_ block: VectorBuffer) {
        blocks.replace(at: next * EchoBlock.sampleCount, with: block)
        next = (next + 1) % Self.capacity
        count = min(count + 1, Self.capacity)
    }

    /// Copies a block, the newest of which is 1 ago.
    func copy(_ ago: Int, into block: VectorBuffer) {
        precondition(ago >= 1 && ago <= count)
        let slot = (next + Self.capacity - ago) % Self.capacity
        block.floats.update(from: blocks.floats + slot * EchoBlock.sampleCount, count: EchoBlock.sampleCount)
    }

    /// What comes next is no continuation.
    func removeAll() { count = 0 }
}
