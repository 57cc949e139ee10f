import PCastCore

/// The frames to write to a TCP stream. The queue has a bound, so that a slow receiver uses limited memory. Frames are
/// stored or dropped completely, so that the stream stays valid.
struct FrameWriteQueue: ~Copyable {
    /// The maximum number of bytes in the queue.
    static let capacity = 512 * 1024

    private static let initialCapacity = 16 * 1024

    private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: initialCapacity, alignment: 16)
    private var start = 0
    private var end = 0

    init() {}

    deinit { memory.deallocate() }

    var isEmpty: Bool { start == end }

    /// Appends a frame. Returns false if it was dropped because the queue is full.
    mutating func append(_ frame: UnsafeRawBufferPointer) -> Bool {
        precondition(frame.count <= FrameReassembler.maximumFrameSize)
        let size = FrameReassembler.headerSize + frame.count
        guard end - start + size <= Self.capacity else { return false }
        makeSpace(for: size)
        memory[end] = UInt8(frame.count >> 8)
        memory[end + 1] = UInt8(frame.count & 0xFF)
        UnsafeMutableRawBufferPointer(rebasing: memory[(end + FrameReassembler.headerSize)...]).copyMemory(from: frame)
        end += size
        return true
    }

    /// The bytes to write next.
    var pending: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[start..<end]) }

    /// Removes the first `count` bytes, which were written.
    mutating func removeFirst(_ count: Int) {
        precondition(count >= 0 && count <= end - start)
        start += count
        if start == end {
            start = 0
            end = 0
        }
    }

    private mutating func makeSpace(for size: Int) {
        if memory.count - end >= size { return }
        let count = end - start
        let source = UnsafeRawBufferPointer(rebasing: memory[start..<end])
        if count + size <= memory.count / 2 || memory.count >= Self.capacity {
            memory.baseAddress!.copyMemory(from: source.baseAddress!, byteCount: count)
        } else {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: min(Self.capacity, max(2 * memory.count, count + size)), alignment: 16)
            larger.copyMemory(from: source)
            memory.deallocate()
            memory = larger
        }
        start = 0
        end = count
    }
}
