import PCastCore

/// A parser for the frames of an ICE-TCP stream: two bytes of length in network byte order, then the datagram (RFC
/// 4571, section 2; RFC 6544, section 3).
package struct FrameReassembler: ~Copyable {
    /// The next element of the stream.
    package enum Next {
        case frame(UnsafeMutableRawBufferPointer)
        case incomplete

        /// A frame is longer than the maximum size of a datagram, so that the stream cannot be parsed any further.
        case oversize
    }

    /// The maximum size of a frame in bytes.
    package static let maximumFrameSize = DatagramBatch.maximumDatagramSize
    static let headerSize = 2

    /// The size of the buffer, which holds several frames so that a burst needs few system calls.
    private static let capacity = 8 * (headerSize + maximumFrameSize)

    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
    private var start = 0
    private var end = 0

    /// Creates a parser of a stream.
    package init() {}

    deinit { memory.deallocate() }

    /// Returns the memory for the next bytes of the stream. It is never empty after `next` returned `incomplete`.
    package mutating func buffer() -> UnsafeMutableRawBufferPointer {
        if start > 0 {
            memory.baseAddress!.copyMemory(from: memory.baseAddress! + start, byteCount: end - start)
            end -= start
            start = 0
        }
        return UnsafeMutableRawBufferPointer(rebasing: memory[end...])
    }

    /// Records that `count` bytes were written to the memory that `buffer` returned.
    package mutating func append(_ count: Int) {
        precondition(count >= 0 && count <= memory.count - end)
        end += count
    }

    /// Returns the frame that `next` just returned, and all bytes after it.
    func rest(from frame: UnsafeMutableRawBufferPointer) -> [UInt8] {
        Array(memory[start - Self.headerSize - frame.count..<end])
    }

    /// Returns the next frame, whose bytes are valid until `buffer` is called. Empty frames, which RFC 4571 permits, are
    /// skipped.
    package mutating func next() -> Next {
        while end - start >= Self.headerSize {
            let size = Int(memory[start]) << 8 | Int(memory[start + 1])
            if size > Self.maximumFrameSize { return .oversize }
            let frame = start + Self.headerSize
            guard end - frame >= size else { return .incomplete }
            start = frame + size
            if size > 0 { return .frame(UnsafeMutableRawBufferPointer(rebasing: memory[frame..<start])) }
        }
        return .incomplete
    }
}

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
