import Foundation
import PCastCore
import PCastNetworkEmulation
import PCastSFU
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
