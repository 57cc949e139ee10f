import PCastCore

/// The packet indexes of the streams of one direction by SSRC; at most 64.
///
/// A peer has few streams, so the last one found is tried first, and a linear search is faster than a hash table. The
/// first two streams, the usual number, are in one block of memory with the header of the table. Others are in memory
/// that grows. A lookup for a packet neither copies nor retains anything.
struct SRTPStreamTable<State: BitwiseCopyable>: ~Copyable {
    static var capacity: Int { 64 }
    private static var firstCapacity: Int { 2 }

    private struct Header {
        var count = 0
        var capacity = SRTPStreamTable.firstCapacity
        /// The SSRC that was found last; undefined before the first stream.
        var lastSSRC: UInt32 = 0
        /// The position that was found last.
        var lastFound = 0
        var ssrcs: UnsafeMutablePointer<UInt32>
        var states: UnsafeMutablePointer<State>
    }

    /// The layout of the block: the header, the first SSRCs, the first states.
    private static var ssrcsOffset: Int { MemoryLayout<Header>.stride }
    private static var statesOffset: Int {
        let end = ssrcsOffset + firstCapacity * MemoryLayout<UInt32>.stride
        return (end + MemoryLayout<State>.alignment - 1) / MemoryLayout<State>.alignment * MemoryLayout<State>.alignment
    }
    private static var blockSize: Int { statesOffset + firstCapacity * MemoryLayout<State>.stride }

    private let header: UnsafeMutablePointer<Header>

    init() {
        let block = UnsafeMutableRawPointer.allocate(byteCount: Self.blockSize, alignment: 16)
        header = block.bindMemory(to: Header.self, capacity: 1)
        header.initialize(
            to: Header(
                ssrcs: (block + Self.ssrcsOffset).bindMemory(to: UInt32.self, capacity: Self.firstCapacity),
                states: (block + Self.statesOffset).bindMemory(to: State.self, capacity: Self.firstCapacity)))
    }

    deinit {
        if hasGrown {
            header.pointee.ssrcs.deallocate()
            header.pointee.states.deallocate()
        }
        UnsafeMutableRawPointer(header).deallocate()
    }

    /// Whether the streams are in memory outside the block.
    private var hasGrown: Bool { header.pointee.capacity > Self.firstCapacity }

    var count: Int { header.pointee.count }
    /// Whether no stream can be added.
    var isFull: Bool { count == Self.capacity }

    /// Returns a reference to a stream's state, which is valid until another stream is added.
    func state(at position: Int) -> MutableReference<State> {
        precondition(position >= 0 && position < header.pointee.count)
        return MutableReference(header.pointee.states + position)
    }

    /// Returns the position of a stream; nil if there is none with the SSRC.
    @inline(__always)
    func position(of ssrc: UInt32) -> Int? {
        let count = header.pointee.count
        guard count > 0 else { return nil }
        let ssrcs = header.pointee.ssrcs
        if header.pointee.lastSSRC == ssrc { return header.pointee.lastFound }
        for position in 0..<count where ssrcs[position] == ssrc {
            header.pointee.lastSSRC = ssrc
            header.pointee.lastFound = position
            return position
        }
        return nil
    }

    /// Prefetches the header of the table and the state of the last stream. See `Prefetch`.
    func prefetch(_ step: Prefetch) {
        if step == .tables {
            let size = Self.statesOffset + MemoryLayout<State>.size
            return Prefetch.fetch(AddressRange(start: UInt(bitPattern: header), count: size))
        }
        guard step == .keys, header.pointee.lastFound > 0 else { return }
        Prefetch.fetch(AddressRange(of: MutableReference(header.pointee.states + header.pointee.lastFound)))
    }

    /// Adds a stream to a table that is not full. Its SSRC must be new.
    func insert(_ ssrc: UInt32, _ state: State) -> Int {
        precondition(!isFull)
        let position = header.pointee.count
        if position == header.pointee.capacity { grow() }
        (header.pointee.ssrcs + position).initialize(to: ssrc)
        (header.pointee.states + position).initialize(to: state)
        header.pointee.count += 1
        header.pointee.lastSSRC = ssrc
        header.pointee.lastFound = position
        return position
    }

    private func grow() {
        let count = header.pointee.count
        let ssrcs = UnsafeMutablePointer<UInt32>.allocate(capacity: 2 * count)
        let states = UnsafeMutablePointer<State>.allocate(capacity: 2 * count)
        ssrcs.moveInitialize(from: header.pointee.ssrcs, count: count)
        states.moveInitialize(from: header.pointee.states, count: count)
        if hasGrown {
            header.pointee.ssrcs.deallocate()
            header.pointee.states.deallocate()
        }
        header.pointee.ssrcs = ssrcs
        header.pointee.states = states
        header.pointee.capacity = 2 * count
    }
}
