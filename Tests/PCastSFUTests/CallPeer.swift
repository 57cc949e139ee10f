import PCastCore
import PCastRTP
import PCastSFU
import PCastTestSupport
import PCastWebRTC

/// A client of the product: a `PeerConnection` and its output.
final class CallPeer: NetworkPeer {
    let id: PeerID
    let addresses: [TransportAddress]
    var link: VirtualNetwork.Link
    var connection: PeerConnection
    /// The answer of the SFU to the client's offer.
    var answer: SessionDescription?
    private(set) var events: [PeerConnection.Event] = []
    private(set) var video: [(frame: EncodedFrame, arrival: Instant)] = []
    private(set) var audio: [EncodedFrame] = []
    /// The times at which frames and audio packets came out.
    private(set) var videoTimes: [Instant] = []
    private(set) var audioTimes: [Instant] = []
    private(set) var gaps: [JitterBuffer.Gap] = []
    private var connections: [TransportAddress] = []

    init(
        _ id: PeerID, _ connection: consuming PeerConnection, addresses: [TransportAddress],
        link: VirtualNetwork.Link
    ) {
        self.id = id
        self.connection = connection
        self.addresses = addresses
        self.link = link
    }

    var deadline: Instant? { connection.deadline }
    var isConnected: Bool { events.contains { if case .connected = $0 { true } else { false } } }
    var keyFrameRequests: Int { events.count { $0 == .keyFrameRequested } }
    /// The number of times that an encoder had to start with a key frame.
    var beginnings: Int { events.count { $0 == .keyFrameRequested || $0 == .resumed(.video) } }

    /// Whether the SFU has paused a track.
    func isPaused(_ type: MediaType) -> Bool {
        let changes: [PeerConnection.Event] = [.paused(type), .resumed(type)]
        return events.last(where: changes.contains) == .paused(type)
    }

    func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant) {
        connection.handle(datagram, from: path, at: now)
    }

    func advance(to now: Instant) { connection.advance(to: now) }

    func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool { connection.poll(into: &batch, at: now) }

    func collect(at now: Instant) {
        while let media = connection.pollFrame(at: now) {
            switch media {
            case .frame(let frame, let arrival):
                if frame.codec == .opus {
                    audio.append(frame)
                    audioTimes.append(now)
                } else {
                    video.append((frame, arrival))
                    videoTimes.append(now)
                }
            case .gap(let gap): gaps.append(gap)
            }
        }
        while let event = connection.pollEvent() {
            if case .openConnection(let address) = event { connections.append(address) } else { events.append(event) }
        }
    }

    func takeConnectionToOpen() -> TransportAddress? { connections.popLast() }
    func pathOpened(_ path: NetworkPath, at now: Instant) { connection.pathOpened(path, at: now) }
    func pathClosed(_ path: NetworkPath, at now: Instant) { connection.pathClosed(path, at: now) }
}

extension VirtualNetwork {
    static let stream = StreamID("film")

    func publish(
        _ video: Codec? = .h264, audio: Bool = true, stream: StreamID = VirtualNetwork.stream,
        layers: Int = 1, clockOffset: TimeSpan = .zero, addresses: [TransportAddress]? = nil,
        terms: PeerOptions = PeerOptions()
    ) throws -> CallPeer {
        try call(.publish(video: video, audio: audio, layers: layers), clockOffset: clockOffset, addresses: addresses) {
            id, offer in
            try sfu.publish(id, stream: stream, offer: offer, terms: terms, at: now)
        }
    }

    func view(
        stream: StreamID = VirtualNetwork.stream, video: Bool = true, addresses: [TransportAddress]? = nil,
        terms: PeerOptions = PeerOptions()
    ) throws -> CallPeer {
        try call(.view(video: video, audio: true), clockOffset: .zero, addresses: addresses) { id, offer in
            try sfu.view(id, stream: stream, offer: offer, terms: terms, at: now)
        }
    }

    /// Adds a viewer on the second shard, where the stream has a replica.
    func viewBeside(
        stream: StreamID = VirtualNetwork.stream, video: Bool = true, terms: PeerOptions = PeerOptions()
    ) throws -> CallPeer {
        let snapshot = try sfu.replicate(stream, to: 1, at: now)
        peerShard?.enterReplica(snapshot, of: 0, at: now)
        return try call(.view(video: video, audio: true), clockOffset: .zero, addresses: nil) { id, offer in
            guard let answer = try peerShard?.view(id, stream: stream, offer: offer, terms: terms, at: now) else {
                throw SFUError.unknownStream(stream)
            }
            return answer
        }
    }

    private func call(
        _ purpose: PeerConnection.Purpose, clockOffset: TimeSpan, addresses: [TransportAddress]?,
        answer: (PeerID, SessionDescription) throws -> SessionDescription
    ) throws -> CallPeer {
        let addresses = addresses ?? [newAddress()]
        let clock = WallClockReference(
            instant: Self.clock.instant, wallTime: Self.clock.wallTime + clockOffset)
        var connection = PeerConnection(
            purpose,
            configuration: PeerConnection.Configuration(
                certificate: Self.certificate, addresses: addresses, clock: clock, cname: "peer\(peers.count)"),
            using: &generator)
        let id = PeerID(generator.next())
        let description = try answer(id, connection.offer)
        try connection.accept(description, at: now)
        let peer = CallPeer(id, connection, addresses: addresses, link: link)
        peer.answer = description
        add(peer)
        return peer
    }

    /// Sends a frame now.
    func send(_ frame: EncodedFrame, layer: Int = 0, from peer: CallPeer) {
        peer.connection.send(frame, layer: layer, at: now)
        deliverAll(peer)
    }

    func endedReason(of id: PeerID) -> StreamEndedReason? {
        for case .ended(id, let reason) in events { return reason }
        return nil
    }
}

/// A peer on the virtual network: a `DatagramMachine` with its addresses and link.
protocol NetworkPeer: AnyObject {
    var addresses: [TransportAddress] { get }
    var link: VirtualNetwork.Link { get }
    var deadline: Instant? { get }
    func handle(_ datagram: MutableByteView, from path: NetworkPath, at now: Instant)
    func advance(to now: Instant)
    func poll(into batch: inout DatagramBatch, at now: Instant) -> Bool
    /// Takes the outputs of the machine.
    func collect(at now: Instant)
    func takeConnectionToOpen() -> TransportAddress?
    func pathOpened(_ path: NetworkPath, at now: Instant)
    func pathClosed(_ path: NetworkPath, at now: Instant)
}

/// Both directions of a link between peers and the SFU.
final class Wire {
    struct Flight {
        let peer: any NetworkPeer
        /// The path as the receiver sees it.
        let path: NetworkPath
        let bytes: [UInt8]
    }

    /// The headers of IPv4 and UDP. A TCP segment also has the length before each packet (RFC 4571).
    private static let datagramOverhead = 28
    private static let segmentOverhead = 42

    /// The peer whose link conditions apply.
    private let owner: any NetworkPeer
    var up: NetworkLink<Flight>
    var down: NetworkLink<Flight>

    init(of owner: any NetworkPeer, seed: UInt64, at now: Instant) {
        self.owner = owner
        up = NetworkLink(owner.link.up, seed: seed, at: now)
        down = NetworkLink(owner.link.down, seed: seed &+ 1, at: now)
    }

    var deadline: Instant? { Instant.earlier(up.deadline, down.deadline) }

    func refresh() {
        let link = owner.link
        if up.conditions != link.up { up.conditions = link.up }
        if down.conditions != link.down { down.conditions = link.down }
    }

    func send(_ flight: Flight, isUp: Bool, isReliable: Bool, at now: Instant) {
        refresh()
        let size = flight.bytes.count + (isReliable ? Self.segmentOverhead : Self.datagramOverhead)
        if isUp {
            up.send(flight, size: size, isReliable: isReliable, at: now)
        } else {
            down.send(flight, size: size, isReliable: isReliable, at: now)
        }
    }
}
