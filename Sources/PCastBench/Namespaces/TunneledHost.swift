import PCastCore
import PCastTestSupport

/// A host behind an impaired link; the thread that carries the packets owns it.
struct TunneledHost: Sendable {
    /// The traffic that a firewall on the path permits.
    enum Firewall: Sendable { case open, tcpOnly, tcpPort443Only }

    let device: TunnelDevice
    let number: UInt8
    var up: NetworkLink<IPPacket>
    var down: NetworkLink<IPPacket>
    var firewall: Firewall
    private(set) var fragments = 0
    private var translation: AddressTranslation
    private var isTranslating = false
    private var upBytes: [LinkFlow: Int] = [:]
    private var downBytes: [LinkFlow: Int] = [:]

    init(_ plan: TunneledNetwork.Plan, number: UInt8, device: TunnelDevice, at now: Instant) {
        self.device = device
        self.number = number
        let seed = plan.conditions.seed &+ UInt64(number) << 32
        up = NetworkLink(plan.conditions.up, seed: seed, at: now)
        down = NetworkLink(plan.conditions.down, seed: seed &+ 1, at: now)
        firewall = plan.firewall
        translation = AddressTranslation(outside: Self.address(number))
    }

    static func address(_ number: UInt8) -> IPAddress { IPAddress(v4: 0x0A4D_0002 + UInt32(number) << 8) }

    /// Changes the source ports of the host's datagrams; datagrams to the previous ports are dropped from now on.
    mutating func rebind() {
        isTranslating = true
        translation.rebind()
    }

    private func passes(_ packet: IPPacket, port: UInt16) -> Bool {
        switch firewall {
        case .open: true
        case .tcpOnly: packet.transport == .tcp
        case .tcpPort443Only: packet.transport == .tcp && port == 443
        }
    }

    // MARK: Packets

    mutating func send(_ packet: IPPacket, at now: Instant) {
        var packet = packet
        if packet.isFragment { fragments += 1 }
        guard passes(packet, port: packet.destination.port) else { return }
        if isTranslating, packet.transport == .udp { packet.source = translation.translate(packet.source) }
        up.send(packet, size: packet.bytes.count, at: now)
    }

    mutating func sendBack(_ packet: IPPacket, at now: Instant) {
        if packet.isFragment { fragments += 1 }
        guard passes(packet, port: packet.source.port) else { return }
        down.send(packet, size: packet.bytes.count, at: now)
    }

    /// Returns the next packet of the host that has left the link.
    mutating func receive(at now: Instant) -> IPPacket? {
        guard let packet = up.receive(at: now) else { return nil }
        upBytes[LinkFlow(packet, port: packet.source.port), default: 0] += packet.bytes.count
        return packet
    }

    mutating func deliver(at now: Instant) {
        while var packet = down.receive(at: now) {
            if isTranslating, packet.transport == .udp {
                guard let inner = translation.inner(of: packet.destination) else { continue }
                packet.destination = inner
            }
            downBytes[LinkFlow(packet, port: packet.destination.port), default: 0] += packet.bytes.count
            device.write(packet.bytes)
        }
    }

    /// Returns the traffic since the last call.
    mutating func takeSample(at now: Instant) -> LinkSample {
        defer {
            upBytes.removeAll(keepingCapacity: true)
            downBytes.removeAll(keepingCapacity: true)
        }
        return LinkSample(
            instant: now, upWait: up.takeLongestWait(), downWait: down.takeLongestWait(), upBytes: upBytes,
            downBytes: downBytes)
    }
}

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
    func rate(_ bytes: KeyPath<LinkSample, [LinkFlow: Int]>, where matches: (LinkFlow) -> Bool = { _ in true })
        -> Double
    {
        let count = reduce(0) { total, sample in
            total + sample[keyPath: bytes].reduce(0) { $0 + (matches($1.key) ? $1.value : 0) }
        }
        return isEmpty ? 0 : Double(count) * 8 / (Double(self.count) * TunneledNetwork.samplingInterval.seconds)
    }
}
