/// The packet indexes of the streams of one direction, found by SSRC; at most 64 (SRTP4).
///
/// An end has a few streams, the last one found is tried first, and 64 integers are searched quicker than hashed.
struct SRTPStreamTable<State> {
    static var capacity: Int { 64 }

    private var ssrcs: [UInt32] = []
    private(set) var states: [State] = []
    private var lastFound = 0

    var count: Int { ssrcs.count }
    var isFull: Bool { count == Self.capacity }

    /// Bytes in this table's storage.
    var footprint: Int {
        ssrcs.capacity * MemoryLayout<UInt32>.stride + states.capacity * MemoryLayout<State>.stride
    }

    subscript(position: Int) -> State {
        _read { yield states[position] }
        _modify { yield &states[position] }
    }

    mutating func position(of ssrc: UInt32) -> Int? {
        if lastFound < ssrcs.count, ssrcs[lastFound] == ssrc { return lastFound }
        for position in 0..<ssrcs.count where ssrcs[position] == ssrc {
            lastFound = position
            return position
        }
        return nil
    }

    /// Adds a stream, which must not be there, to a table that is not full.
    mutating func insert(_ ssrc: UInt32, _ state: State) -> Int {
        precondition(!isFull)
        ssrcs.append(ssrc)
        states.append(state)
        lastFound = ssrcs.count - 1
        return lastFound
    }
}
