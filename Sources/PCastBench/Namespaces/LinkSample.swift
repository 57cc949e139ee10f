import PCastMedia

/// What belongs together among a link's packets: a host's port.
struct LinkFlow: Hashable, Sendable {
    let isUDP: Bool
    let port: UInt16

    init(_ packet: IPPacket, port: UInt16) {
        isUDP = packet.transport == .udp
        self.port = port
    }
}

/// What passed a link in a tenth of a second.
struct LinkSample: Sendable {
    let instant: Instant
    /// How long the packet waited in the queue that did so longest.
    let upWait, downWait: TimeSpan
    /// With IP headers.
    let upBytes, downBytes: [LinkFlow: Int]
}

extension [LinkSample] {
    /// Bits a second that arrived.
    func rate(_ bytes: KeyPath<LinkSample, [LinkFlow: Int]>, where isWanted: (LinkFlow) -> Bool = { _ in true })
        -> Double
    {
        let count = reduce(0) { total, sample in
            total + sample[keyPath: bytes].reduce(0) { $0 + (isWanted($1.key) ? $1.value : 0) }
        }
        return isEmpty ? 0 : Double(count) * 8 / (Double(self.count) * TunneledNetwork.samplingInterval.seconds)
    }
}
