import PCastMedia

/// Finds the frames in a TCP stream of ICE: two bytes of length in network order, then the datagram (RFC 4571,
/// section 2; RFC 6544, section 3).
struct FrameReassembler: ~Copyable {
    /// What the stream holds next.
    enum Next {
        case frame(UnsafeMutableRawBufferPointer)
        case incomplete

        /// A frame longer than any datagram of ours: what follows cannot be understood, or is not meant for us.
        case oversize
    }

    static let maximumFrameSize = DatagramBatch.maximumDatagramSize
    static let headerSize = 2

    /// Several frames, so that a read of a burst takes few calls.
    private static let capacity = 8 * (headerSize + maximumFrameSize)

    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
    private var start = 0
    private var end = 0

    init() {}

    deinit { memory.deallocate() }

    /// Where the stream's next bytes go; never empty once `next` has answered that a frame is incomplete.
    mutating func room() -> UnsafeMutableRawBufferPointer {
        if start > 0 {
            memory.baseAddress!.copyMemory(from: memory.baseAddress! + start, byteCount: end - start)
            end -= start
            start = 0
        }
        return UnsafeMutableRawBufferPointer(rebasing: memory[end...])
    }

    /// `count` bytes were written to where `room` said.
    mutating func append(_ count: Int) {
        precondition(count >= 0 && count <= memory.count - end)
        end += count
    }

    /// A frame that `next` has just given, and all that follows it.
    func rest(from frame: UnsafeMutableRawBufferPointer) -> [UInt8] {
        Array(memory[start - Self.headerSize - frame.count..<end])
    }

    /// The next frame; its bytes last until `room` is called. Frames without content, which RFC 4571 allows, are
    /// skipped.
    mutating func next() -> Next {
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
