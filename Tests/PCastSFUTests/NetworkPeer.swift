import PCastCore

/// A peer on the virtual network: a `DatagramMachine` with its addresses and link.
protocol NetworkPeer: AnyObject {
    var addresses: [TransportAddress] { get }
    var link: VirtualNetwork.Link { get }
    var deadline: Instant? { get }
    func handle(_ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant)
    func advance(to now: Instant)
    func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool
    /// Takes the outputs of the machine.
    func collect(at now: Instant)
    func takeConnectionToOpen() -> TransportAddress?
    func pathOpened(_ path: NetworkPath, at now: Instant)
    func pathClosed(_ path: NetworkPath, at now: Instant)
}
