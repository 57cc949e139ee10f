import PCastCore
import PCastTestSupport
import PCastWebRTC

@testable import PCastSFU

/// The SFU of an edge, which pulls a stream of the network's SFU. Its own viewers are connected without a delay.
final class NodePeer: NetworkPeer {
    let id: PeerID
    let addresses: [TransportAddress]
    var link: VirtualNetwork.Link
    var edge: SFU
    private(set) var events: [SFUEvent] = []
    private(set) var viewers: [CallPeer] = []
    private let publisher = PeerID(1)
    private var batch = DatagramBatch(datagramCapacity: 512)
    private var outgoing: [(bytes: [UInt8], path: NetworkPath)] = []
    private var nextViewer: UInt64 = 2

    /// The address at which viewers of the edge send.
    private static let own = TransportAddress("198.51.100.9:8189")!

    init(_ id: PeerID, address: TransportAddress, link: VirtualNetwork.Link, seed: UInt64 = 9) {
        self.id = id
        addresses = [address]
        self.link = link
        let configuration = SFUConfiguration(
            certificate: VirtualNetwork.certificate, advertised: [Self.own], offersTCP: false,
            clock: VirtualNetwork.clock)
        edge = SFU(configuration: configuration, generator: SeededGenerator(seed: seed))
    }

    /// Adds the stream of the other SFU's offer. Returns the answer.
    func pull(
        _ offer: SessionDescription, terms: PeerOptions = PeerOptions(), at now: Instant
    ) throws -> SessionDescription {
        try edge.pull(
            publisher, stream: VirtualNetwork.stream, offer: offer, from: addresses[0], terms: terms, at: now)
    }

    /// Adds a viewer of the edge.
    func view(using generator: inout SeededGenerator, at now: Instant) throws -> CallPeer {
        let address = TransportAddress("10.9.0.\(nextViewer):5000")!
        let viewer = PeerID(nextViewer)
        nextViewer += 1
        var connection = PeerConnection(
            .view(video: true, audio: true),
            configuration: PeerConnection.Configuration(
                certificate: VirtualNetwork.certificate, addresses: [address], clock: VirtualNetwork.clock,
                cname: "viewer"),
            using: &generator)
        let answer = try edge.view(viewer, stream: VirtualNetwork.stream, offer: connection.offer, at: now)
        try connection.accept(answer, at: now)
        let peer = CallPeer(viewer, connection, addresses: [address], link: link)
        viewers.append(peer)
        return peer
    }

    var deadline: Instant? {
        var deadline = edge.earliestDeadline
        for viewer in viewers { deadline = Instant.earlier(deadline, viewer.deadline) }
        return deadline
    }

    func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant) {
        edge.handle(datagram, from: path, at: now)
    }

    func advance(to now: Instant) {
        if let deadline = edge.earliestDeadline, deadline <= now { edge.advance(to: now) }
        for viewer in viewers {
            if let deadline = viewer.deadline, deadline <= now { viewer.advance(to: now) }
        }
    }

    func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool {
        while exchange(at: now) {}
        while let next = outgoing.first {
            guard batch.append(next.bytes, to: next.path) else { return true }
            outgoing.removeFirst()
        }
        return false
    }

    /// Exchanges datagrams between the edge and its viewers. Returns true if there were any.
    private func exchange(at now: Instant) -> Bool {
        var received: [(viewer: CallPeer?, bytes: [UInt8], path: NetworkPath)] = []
        var isFull = true
        while isFull {
            isFull = edge.poll(into: &batch, at: now)
            for index in 0..<batch.count {
                let (bytes, path) = (Array(batch.bytes(of: batch[index])), batch[index].path)
                if path.local == addresses[0] {
                    outgoing.append((bytes, path))
                } else if let viewer = viewers.first(where: { $0.addresses.contains(path.remote) }) {
                    received.append((viewer, bytes, Self.reversed(path)))
                }
            }
            batch.removeAll()
        }
        for viewer in viewers {
            isFull = true
            while isFull {
                isFull = viewer.poll(into: &batch, at: now)
                for index in 0..<batch.count {
                    let path = batch[index].path
                    received.append((nil, Array(batch.bytes(of: batch[index])), Self.reversed(path)))
                }
                batch.removeAll()
            }
        }
        for var datagram in received {
            datagram.bytes.withMutableByteView { bytes in
                if let viewer = datagram.viewer {
                    viewer.handle(bytes, from: datagram.path, at: now)
                } else {
                    edge.handle(bytes, from: datagram.path, at: now)
                }
            }
        }
        return !received.isEmpty
    }

    private static func reversed(_ path: NetworkPath) -> NetworkPath {
        NetworkPath(local: path.remote, remote: path.local)
    }

    func collect(at now: Instant) {
        for viewer in viewers { viewer.collect(at: now) }
        while let event = edge.pollEvent() { events.append(event) }
    }

    func takeConnectionToOpen() -> TransportAddress? { nil }
    func pathOpened(_ path: NetworkPath, at now: Instant) {}
    func pathClosed(_ path: NetworkPath, at now: Instant) {}
}

extension VirtualNetwork {
    /// Adds an edge that pulls the stream. `keepsViewers` is whether the stream remains without its link.
    func addNode(keepsViewers: Bool = false) throws -> NodePeer {
        let id = PeerID(generator.next())
        let node = NodePeer(id, address: newAddress(), link: link)
        var terms = PeerOptions()
        (terms.isNode, terms.isCounted) = (true, false)
        let offer = try sfu.offerToViewer(id, of: Self.stream, terms: terms, at: now)
        var pulled = PeerOptions()
        pulled.keepsViewers = keepsViewers
        _ = try sfu.accept(try node.pull(offer, terms: pulled, at: now), from: id, at: now)
        add(node)
        return node
    }
}
