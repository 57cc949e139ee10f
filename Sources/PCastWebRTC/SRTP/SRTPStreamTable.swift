/// The packet indexes of the streams of one direction, found by SSRC; at most 64 (SRTP4).
///
/// An end has a few streams, the last one found is tried first, and 64 integers are searched quicker than hashed. It
/// stands in memory of its own, which grows with the streams: what is looked up for every packet is neither copied nor
/// counted.
struct SRTPStreamTable<State: BitwiseCopyable>: ~Copyable {
    static var capacity: Int { 64 }

    private struct Header {
        var count = 0
        var capacity = 0
        /// Meaningless before the first stream.
        var lastSSRC: UInt32 = 0
        var lastFound = 0
        var ssrcs: UnsafeMutablePointer<UInt32>?
        var states: UnsafeMutablePointer<State>?
    }

    private let header: UnsafeMutablePointer<Header>

    init() {
        header = .allocate(capacity: 1)
        header.initialize(to: Header())
    }

    deinit {
        header.pointee.ssrcs?.deallocate()
        header.pointee.states?.deallocate()
        header.deallocate()
    }

    var count: Int { header.pointee.count }
    var isFull: Bool { count == Self.capacity }

    /// Bytes in this table's storage.
    var footprint: Int {
        MemoryLayout<Header>.size
            + header.pointee.capacity * (MemoryLayout<UInt32>.stride + MemoryLayout<State>.stride)
    }

    /// Where the state of the stream at a position stands, until another stream is added.
    func state(at position: Int) -> UnsafeMutablePointer<State> {
        precondition(position >= 0 && position < header.pointee.count)
        return header.pointee.states! + position
    }

    @inline(__always)
    func position(of ssrc: UInt32) -> Int? {
        let count = header.pointee.count
        guard count > 0, let ssrcs = header.pointee.ssrcs else { return nil }
        if header.pointee.lastSSRC == ssrc { return header.pointee.lastFound }
        for position in 0..<count where ssrcs[position] == ssrc {
            header.pointee.lastSSRC = ssrc
            header.pointee.lastFound = position
            return position
        }
        return nil
    }

    /// See `Nearness`.
    func bringNear(_ step: Nearness) {
        if step == .tables { return Nearness.bring(header, MemoryLayout<Header>.size) }
        guard step == .keys, let ssrcs = header.pointee.ssrcs, let states = header.pointee.states else { return }
        Nearness.bring(ssrcs, MemoryLayout<UInt32>.size)
        Nearness.bring(states + header.pointee.lastFound, MemoryLayout<State>.size)
    }

    /// Adds a stream, which must not be there, to a table that is not full.
    func insert(_ ssrc: UInt32, _ state: State) -> Int {
        precondition(!isFull)
        let position = header.pointee.count
        if position == header.pointee.capacity { grow() }
        (header.pointee.ssrcs! + position).initialize(to: ssrc)
        (header.pointee.states! + position).initialize(to: state)
        header.pointee.count += 1
        header.pointee.lastSSRC = ssrc
        header.pointee.lastFound = position
        return position
    }

    private func grow() {
        let capacity = header.pointee.capacity < 2 ? header.pointee.capacity + 1 : 2 * header.pointee.capacity
        let ssrcs = UnsafeMutablePointer<UInt32>.allocate(capacity: capacity)
        let states = UnsafeMutablePointer<State>.allocate(capacity: capacity)
        if let former = header.pointee.ssrcs, let formerStates = header.pointee.states {
            ssrcs.moveInitialize(from: former, count: header.pointee.count)
            states.moveInitialize(from: formerStates, count: header.pointee.count)
            former.deallocate()
            formerStates.deallocate()
        }
        header.pointee.ssrcs = ssrcs
        header.pointee.states = states
        header.pointee.capacity = capacity
    }
}
