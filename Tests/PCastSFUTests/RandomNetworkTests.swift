import Foundation
import PCastCore
import PCastSFU
import PCastTestSupport
import Testing

/// A publisher, the SFU and up to four viewers over random bad networks.
///
/// No frame may arrive twice, modified or at a wrong time, and no nonce may be used twice. After the networks have
/// healed, all frames must arrive again. `PCAST_SEED=N` runs one seed again; `PCAST_FULL=1` runs all 500.
struct RandomNetworkTests {
    private static let seeds: [UInt64] = {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["PCAST_SEED"].flatMap(UInt64.init) { return [seed] }
        return Array(1...(environment["PCAST_FULL"] == "1" ? 500 : 60))
    }()

    /// The time after which frames must flow again.
    private static let recovery = TimeSpan.seconds(8)
    /// The maximum time of a frame in addition to the delays of the links, after recovery.
    private static let margin = TimeSpan.milliseconds(100)

    @Test(
        "on any network frames arrive unmodified and in time, and completely after it has healed", arguments: seeds)
    func holds(seed: UInt64) throws {
        let scenario = NetworkScenario(seed: seed)
        let network = VirtualNetwork(seed: seed, offersTCP: scenario.offersTCP)
        let nonces = NonceRecorder()
        network.onSending = { [unowned network] bytes, path in
            network.owner(of: path.remote).map { nonces.see(bytes, from: -ObjectIdentifier($0).hashValue) }
        }
        network.onPeerSending = { bytes, peer, _ in nonces.see(bytes, from: ObjectIdentifier(peer).hashValue) }
        network.link = scenario.link(of: 0, at: .zero)
        let publisher = try network.publish(scenario.codec)
        var viewers: [Int: CallPeer] = [:]
        var broadcast = Broadcast(scenario.codec, seed: seed, keyFrameInterval: scenario.keyFrameInterval)
        broadcast.videoFrames.frameSize = scenario.frameSize
        var begun: Set<Int> = []
        while case let age = network.now - VirtualNetwork.start, age < NetworkScenario.end {
            for (index, plan) in scenario.viewers.enumerated() {
                let number = index + 1
                if viewers[number] == nil, plan.arrival <= age {
                    network.link = scenario.link(of: number, at: age)
                    viewers[number] = try network.view()
                }
                if plan.leaves, let viewer = viewers[number], age > .seconds(5) { network.remove(viewer) }
                viewers[number]?.link = scenario.link(of: number, at: age)
            }
            publisher.link = scenario.link(of: 0, at: age)
            for (index, trouble) in scenario.troubles.enumerated() where trouble.rebinds && trouble.start <= age {
                let peer = trouble.peer == 0 ? publisher : viewers[trouble.peer]
                if let peer, begun.insert(index).inserted { network.rebind(peer) }
            }
            broadcast.send(1, from: publisher, by: network)
        }
        network.run(for: .milliseconds(500))

        #expect(nonces.offence == nil, "seed \(seed)")
        #expect(network.spins == 0, "seed \(seed)")
        #expect(network.endedReason(of: publisher.id) == nil, "seed \(seed)")
        let span = NetworkScenario.end - NetworkScenario.healing - Self.recovery
        let last = Int(span.nanoseconds / Broadcast.interval.nanoseconds)
        for (number, viewer) in viewers {
            let recorder = ViewerRecorder(viewer: viewer, broadcast: broadcast)
            let offences = recorder.offences()
            #expect(offences.isEmpty, "seed \(seed), viewer \(number): \(offences.prefix(3))")
            if scenario.viewers[number - 1].leaves { continue }
            #expect(network.endedReason(of: viewer.id) == nil, "seed \(seed), viewer \(number)")
            let received = recorder.received(ofLast: last)
            #expect(
                recorder.longestWay(ofLast: last) < scenario.longestWay(to: number) + Self.margin,
                "seed \(seed), viewer \(number): a queue is not empty")
            #expect(
                received.videoFrames >= last - 1 && received.audioFrames >= last - 1,
                "seed \(seed), viewer \(number): \(received) of \(last) after the network healed")
        }
    }
}

/// The random conditions of a broadcast: a network that is bad for some seconds and then heals. They depend on one
/// seed.
struct NetworkScenario {
    /// An impairment of the link between one peer and the SFU.
    struct Trouble {
        /// 0 is the publisher; other values are viewers.
        let peer: Int
        let start, end: TimeSpan
        let up, down: LinkConditions
        let blocksUDP: Bool
        /// Whether the peer's NAT loses its bindings at the start.
        let rebinds: Bool
    }

    static let healing = TimeSpan.seconds(6)
    static let end = TimeSpan.seconds(16)

    let seed: UInt64
    let codec: Codec
    let frameSize: Int
    /// The number of frames between key frames; 0 if the encoder makes none without a request.
    let keyFrameInterval: Int
    let offersTCP: Bool
    /// The time at which each viewer joins, and whether it leaves.
    let viewers: [(arrival: TimeSpan, leaves: Bool)]
    let delays: [TimeSpan]
    let troubles: [Trouble]

    init(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        self.seed = seed
        codec = random.happens(0.5) ? .h264 : .vp8
        frameSize = Int.random(in: 200...4_000, using: &random)
        keyFrameInterval = random.happens(0.5) ? 0 : Int.random(in: 40...200, using: &random)
        offersTCP = random.happens(0.3)
        viewers = (0..<Int.random(in: 1...4, using: &random)).map { _ in
            (.milliseconds(Int64.random(in: 0...3_000, using: &random)), random.happens(0.1))
        }
        delays = (0...viewers.count).map { _ in .milliseconds(Int64.random(in: 1...60, using: &random)) }
        var troubles: [Trouble] = []
        for peer in 0...viewers.count {
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                troubles.append(Self.trouble(of: peer, offersTCP: offersTCP, using: &random))
            }
        }
        self.troubles = troubles
    }

    private static func trouble(of peer: Int, offersTCP: Bool, using random: inout SeededGenerator) -> Trouble {
        let start = TimeSpan.milliseconds(Int64.random(in: 0...5_000, using: &random))
        let length = TimeSpan.milliseconds(Int64.random(in: 50...4_000, using: &random))
        let direction = Int.random(in: 0..<4, using: &random)
        return Trouble(
            peer: peer, start: start, end: min(start + length, healing),
            up: direction == 1 ? .perfect : conditions(using: &random),
            down: direction == 2 ? .perfect : conditions(using: &random),
            blocksUDP: offersTCP && random.happens(0.1), rebinds: random.happens(0.15))
    }

    private static func conditions(using random: inout SeededGenerator) -> LinkConditions {
        var conditions = LinkConditions(delay: .milliseconds(Int64.random(in: 1...300, using: &random)))
        if random.happens(0.5) { conditions.jitter = .milliseconds(Int64.random(in: 1...60, using: &random)) }
        conditions.reorders = random.happens(0.7)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: conditions.loss = .random(Double.random(in: 0...0.3, using: &random))
        case 1:
            let share = Double.random(in: 0...0.3, using: &random)
            conditions.loss = .bursts(GilbertElliott(share: share, length: Double.random(in: 1...10, using: &random)))
        default: break
        }
        if random.happens(0.3) { conditions.duplication = Double.random(in: 0...0.2, using: &random) }
        if random.happens(0.3) {
            conditions.rate = .kilobits(Int64.random(in: 50...3_000, using: &random))
            conditions.queue = .span(.milliseconds(Int64.random(in: 20...800, using: &random)))
        }
        if random.happens(0.15) {
            let span = TimeSpan.milliseconds(Int64.random(in: 20...400, using: &random))
            conditions.stall = Stall(span, each: span * Int64.random(in: 2...10, using: &random))
        }
        conditions.isDown = random.happens(0.12)
        if random.happens(0.2) { conditions.maximumPacketSize = 1_280 }
        return conditions
    }

    /// The delay from the publisher to a viewer after the network has healed.
    func longestWay(to viewer: Int) -> TimeSpan { delays[0] + delays[viewer] }

    /// The link of a peer at a time since the start.
    func link(of peer: Int, at age: TimeSpan) -> VirtualNetwork.Link {
        var link = VirtualNetwork.Link()
        link.delay = delays[peer]
        for trouble in troubles where trouble.peer == peer && trouble.start <= age && age < trouble.end {
            link.up = trouble.up
            link.down = trouble.down
            link.carriesUDP = !trouble.blocksUDP
        }
        return link
    }
}
