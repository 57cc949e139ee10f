import PCastMedia

/// One of many on a loop: what `DatagramMachine` asks of all of them together.
protocol LightPeer: AnyObject {
    func handle(_ datagram: UnsafeMutableRawBufferPointer, from path: NetworkPath, at now: Instant)
    func advance(to now: Instant)
    /// Answers true when the batch was full and more waits.
    func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool
    func close(at now: Instant)
    var deadline: Instant? { get }
}
