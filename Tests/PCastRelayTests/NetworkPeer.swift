import PCastMedia

/// A peer on the virtual network: a `DatagramMachine` and what the network has to know of it.
protocol NetworkPeer: AnyObject {
    var addresses: [TransportAddress] { get }
    var link: VirtualNetwork.Link { get }
    var deadline: Instant? { get }
    func handle(_ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant)
    func advance(to now: Instant)
    func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool
    /// Takes out what the machine has to tell.
    func collect(at now: Instant)
    func takeConnectionToOpen() -> TransportAddress?
    func pathOpened(_ path: NetworkPath, at now: Instant)
    func pathClosed(_ path: NetworkPath, at now: Instant)
}

/// So that every run is the same.
struct SeededGenerator: RandomNumberGenerator, Sendable {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &+ 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
