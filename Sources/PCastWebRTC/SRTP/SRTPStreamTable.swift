import PCastCore

/// The packet indexes of the streams of one direction by SSRC; at most 64.
///
/// A peer has few streams, so the last one found is tried first, and a linear search is faster than a hash table. The
/// first two streams, the usual number, are in one block of memory with the header of the table. Others are in memory
/// that grows. A lookup for a packet neither copies nor retains anything.
///
/// It is marked `@safe` for these reasons. It owns the block and the memory outside of it until `deinit`. SSRCs and
/// states are written before the count includes them, and a position is checked against the count. A reference to a
/// state is not used after another stream was added. The table has one owner.
@safe
struct SRTPStreamTable<State: BitwiseCopyable>: ~Copyable {
    static var capacity: Int { 64 }
    private static var firstCapacity: Int { 2 }

    @unsafe
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
    private static var ssrcsOffset: Int { unsafe MemoryLayout<Header>.stride }
    private static var statesOffset: Int {
        let end = ssrcsOffset + firstCapacity * MemoryLayout<UInt32>.stride
        return (end + MemoryLayout<State>.alignment - 1) / MemoryLayout<State>.alignment * MemoryLayout<State>.alignment
    }
    private static var blockSize: Int { statesOffset + firstCapacity * MemoryLayout<State>.stride }

    private let header: UnsafeMutablePointer<Header>

    init() {
        let block = UnsafeMutableRawPointer.allocate(byteCount: Self.blockSize, alignment: 16)
        unsafe header = block.bindMemory(to: Header.self, capacity: 1)
        unsafe header.initialize(
            to: Header(
                ssrcs: (block + Self.ssrcsOffset).bindMemory(to: UInt32.self, capacity: Self.firstCapacity),
                states: (block + Self.statesOffset).bindMemory(to: State.self, capacity: Self.firstCapacity)))
    }

    deinit {
        if hasGrown {
            unsafe header.pointee.ssrcs.deallocate()
            unsafe header.pointee.states.deallocate()
        }
        unsafe UnsafeMutableRawPointer(header).deallocate()
    }

    /// Whether the streams are in memory outside the block.
    private var hasGrown: Bool { unsafe header.pointee.capacity > Self.firstCapacity }

    var count: Int { unsafe header.pointee.count }
    /// Whether no stream can be added.
    var isFull: Bool { count == Self.capacity }

    /// Returns a reference to a stream's state, which is valid until another stream is added.
    func state(at position: Int) -> MutableReference<State> {
        unsafe precondition(position >= 0 && position < header.pointee.count)
        return unsafe MutableReference(header.pointee.states + position)
    }

    /// Returns the position of a stream; nil if there is none with the SSRC.
    @inline(__always)
    func position(of ssrc: UInt32) -> Int? {
        let count = unsafe header.pointee.count
        guard count > 0 else { return nil }
        let ssrcs = unsafe header.pointee.ssrcs
        if unsafe header.pointee.lastSSRC == ssrc { return unsafe header.pointee.lastFound }
        for position in 0..<count where unsafe ssrcs[position] == ssrc {
            unsafe header.pointee.lastSSRC = ssrc
            unsafe header.pointee.lastFound = position
            return position
        }
        return nil
    }

    /// Prefetches the header of the table and the state of the last stream. See `Prefetch`.
    func prefetch(_ step: Prefetch) {
        if step == .tables {
            let size = Self.statesOffset + MemoryLayout<State>.size
            return unsafe Prefetch.fetch(AddressRange(start: UInt(bitPattern: header), count: size))
        }
        guard step == .keys, unsafe header.pointee.lastFound > 0 else { return }
        unsafe Prefetch.fetch(AddressRange(of: MutableReference(header.pointee.states + header.pointee.lastFound)))
    }

    /// Adds a stream to a table that is not full. Its SSRC must be new.
    func insert(_ ssrc: UInt32, _ state: State) -> Int {
        precondition(!isFull)
        let position = unsafe header.pointee.count
        if unsafe position == header.pointee.capacity { grow() }
        unsafe (header.pointee.ssrcs + position).initialize(to: ssrc)
        unsafe (header.pointee.states + position).initialize(to: state)
        unsafe header.pointee.count += 1
        unsafe header.pointee.lastSSRC = ssrc
        unsafe header.pointee.lastFound = position
        return position
    }

    private func grow() {
        let count = unsafe header.pointee.count
        let ssrcs = UnsafeMutablePointer<UInt32>.allocate(capacity: 2 * count)
        let states = UnsafeMutablePointer<State>.allocate(capacity: 2 * count)
        unsafe ssrcs.moveInitialize(from: header.pointee.ssrcs, count: count)
        unsafe states.moveInitialize(from: header.pointee.states, count: count)
        if hasGrown {
            unsafe header.pointee.ssrcs.deallocate()
            unsafe header.pointee.states.deallocate()
        }
        unsafe header.pointee.ssrcs = ssrcs
        unsafe header.pointee.states = states
        unsafe header.pointee.capacity = 2 * count
    }
}
