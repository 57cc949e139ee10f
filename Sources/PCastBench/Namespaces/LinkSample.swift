import PCastCore

/// The packets of a link that use one port of the host.
struct LinkFlow: Hashable, Sendable {
    let isUDP: Bool
    let port: UInt16

    init(_ packet: IPPacket, port: UInt16) {
        isUDP = packet.transport == .udp
        self.port = port
    }
}

/// The traffic of a link in a tenth of a second.
struct LinkSample: Sendable {
    let instant: Instant
    /// The longest queueing delay of a packet.
    let upWait, downWait: TimeSpan
    /// The bytes that left the link, including IP headers, for each flow.
    let upBytes, downBytes: [LinkFlow: Int]
}

extension [LinkSample] {
    /// The mean rate of the selected flows at the end of the link, in bits per second.
    func rate(_ bytes: KeyPath<LinkSample, [LinkFlow: Int]>, where isWanted: (LinkFlow) -> Bool = { _ in true })
        -> Double
    {
        let count = reduce(0) { total, sample in
            total + sample[keyPath: bytes].reduce(0) { $0 + (isWanted($1.key) ? $1.value : 0) }
        }
        return isEmpty ? 0 : Double(count) * 8 / (Double(self.count) * TunneledNetwork.samplingInterval.seconds)
    }
}
