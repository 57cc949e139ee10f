import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// What the relay owes to whoever drives it.
struct ContractTests {
    @Test("after its deadline was served the next one is later, through 1000 random steps", arguments: 1...4)
    func deadlinesMoveOn(seed: Int) throws {
        let network = VirtualNetwork(seed: UInt64(seed), offersTCP: true)
        network.link.loss = 5
        network.link.duplication = 3
        network.link.jitter = .milliseconds(15)
        let publisher = try network.publish(.vp8)
        var viewers: [CallPeer] = []
        var broadcast = Broadcast(.vp8)
        for _ in 0..<1000 {
            switch Int.random(in: 0..<40, using: &network.generator) {
            case 0 where viewers.count < 6: viewers.append(try network.view())
            case 1: viewers.randomElement(using: &network.generator).map { $0.link.carriesUDP.toggle() }
            case 2:
                guard viewers.count > 2, let leaving = viewers.popLast() else { continue }
                leaving.connection.close(at: network.now)
                network.settle(leaving)
            case 3: network.run(for: .milliseconds(Int64.random(in: 100...2000, using: &network.generator)))
            case 4: viewers.first?.connection.requestKeyFrame()
            default: broadcast.send(1, from: publisher, by: network)
            }
        }
        #expect(network.spins == 0)
        #expect(network.sfu.deadlines.count <= 64 + 8 * network.sfu.peerCount)
    }

    @Test("a batch of three is filled again and again: nothing is left out or sent twice")
    func smallBatch() throws {
        let network = VirtualNetwork(batchCapacity: 3)
        let publisher = try network.publish(.h264)
        let viewers = try (0..<4).map { _ in try network.view() }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        var seen: Set<[UInt8]> = []
        var repeated = 0
        network.onSending = { bytes, _ in if !seen.insert(bytes).inserted { repeated += 1 } }
        var broadcast = Broadcast(.h264)
        broadcast.send(60, from: publisher, by: network)
        network.run(for: .milliseconds(200))
        for viewer in viewers {
            #expect(viewer.video.map { broadcast.number(of: $0.frame) } == Array(0..<60))
            #expect(viewer.audio.map { broadcast.number(of: $0) } == Array(0..<60))
            #expect(viewer.connection.statistics.packetsLost == 0)
        }
        #expect(repeated == 0)
    }

    @Test("FAN1: over many frames every viewer is first equally often")
    func fan1() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher()
        let viewers = try (0..<5).map { _ in try network.scriptViewer() }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        var video = ScriptedVideo()
        video.send(isKeyFrame: true, from: publisher, by: network)
        var firsts: [TransportAddress: Int] = [:]
        var awaitsFirst = false
        network.onSending = { bytes, path in
            guard awaitsFirst, bytes[0] >= 128, !(192...223).contains(bytes[1]) else { return }
            awaitsFirst = false
            firsts[path.remote, default: 0] += 1
        }
        for _ in 0..<100 {
            awaitsFirst = true
            video.send(from: publisher, by: network)
        }
        #expect(viewers.allSatisfy { firsts[$0.addresses[0]] == 20 })
    }

    @Test("what is due for viewers is done along with pictures: forty of them wake the thread no oftener than one")
    func company() throws {
        let one = try wakes(viewers: 1)
        #expect(try wakes(viewers: 40) == one)
        // For the publisher's sake alone: what it is like is looked at each second.
        #expect(one < 200)
    }

    /// How often the relay wakes in ten seconds of 30 pictures each, where viewers report and are reported to.
    private func wakes(viewers count: Int) throws -> Int {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher()
        let viewers = try (0..<count).map { _ in try network.scriptViewer() }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        var video = ScriptedVideo()
        video.send(isKeyFrame: true, from: publisher, by: network)
        var frames = 0
        func second() {
            for _ in 0..<30 {
                // One after the other, as they came.
                let viewer = viewers[frames % count]
                viewer.report { $0.receiverReport(ssrc: 9) }
                network.settle(viewer)
                video.send(from: publisher, by: network)
                frames += 1
            }
            let information = SenderInformation(
                ssrc: 0x1111, ntpTimestamp: VirtualNetwork.clock.wallTime(at: network.now).ntpTimestamp,
                rtpTimestamp: video.timestamp, packetCount: 1, octetCount: 1)
            publisher.report { $0.senderReport(information) }
            network.settle(publisher)
        }
        for _ in 0..<2 { second() }
        let told = viewers.map(\.control.count)
        network.wakes = 0
        for _ in 0..<10 { second() }
        for (viewer, before) in zip(viewers, told) { #expect(viewer.control.count >= before + 2) }
        return network.wakes
    }

    @Test("more peers than configured are refused, and one that leaves makes room")
    func full() throws {
        let network = VirtualNetwork(maximumPeers: 2)
        let publisher = try network.publish(.vp8)
        let viewer = try network.view()
        #expect(throws: SFUError.full) { try network.view() }
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        network.sfu.end(viewer.id, reason: .ended, at: network.now)
        network.settleRelay()
        _ = try network.view()
        #expect(network.sfu.peerCount == 2)
    }

    @Test("a stream's name is taken while it lives, and a viewer of none is refused")
    func names() throws {
        let network = VirtualNetwork()
        #expect(throws: SFUError.unknownStream(VirtualNetwork.stream)) { try network.view() }
        let publisher = try network.publish(.vp8)
        #expect(throws: SFUError.streamExists(VirtualNetwork.stream)) { try network.publish(.vp8) }
        network.sfu.end(publisher.id, reason: .ended, at: network.now)
        #expect(throws: SFUError.unknownStream(VirtualNetwork.stream)) { try network.view() }
        network.settleRelay()
        _ = try network.publish(.h264)
        #expect(network.sfu.peerCount == 1)
    }
}
