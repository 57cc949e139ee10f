import PCastCore

/// One of many peers on an event loop; it provides for one peer what `DatagramMachine` requires of the loop's machine.
protocol LightPeer: AnyObject {
    func handle(_ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant)
    func advance(to now: Instant)
    /// Appends datagrams to the batch. Returns true if the batch is full and there are more.
    func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool
    func close(at now: Instant)
    var deadline: Instant? { get }
}
