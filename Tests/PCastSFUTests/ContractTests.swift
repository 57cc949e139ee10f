import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// The contract between the SFU and its driver.
struct ContractTests {
    @Test("after a deadline was served the next one is later", arguments: 1...4)
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
                network.deliverAll(leaving)
            case 3: network.run(for: .milliseconds(Int64.random(in: 100...2000, using: &network.generator)))
            case 4: viewers.first?.connection.requestKeyFrame()
            default: broadcast.send(1, from: publisher, by: network)
            }
        }
        #expect(network.spins == 0)
        let limit = PeerTimers.limit(peerCount: network.sfu.peerCount)
        #expect(
            network.sfu.forwarder.timers.punctual.count <= limit
                && network.sfu.forwarder.timers.deferrable.count <= limit)
    }

    @Test("a batch of three datagrams is filled repeatedly, and nothing is lost or sent twice")
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

    @Test("every viewer is first equally often")
    func fairViewerOrder() throws {
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

    @Test("forty viewers wake the thread no more often than one, because their deadlines are deferred to frames")
    func deferredDeadlines() throws {
        let one = try wakes(viewers: 1)
        #expect(try wakes(viewers: 40) == one)
        // These are the publisher's own reviews each second.
        #expect(one < 200)
    }

    /// Returns how often the SFU wakes in ten seconds with 30 frames each, while viewers and SFU send reports.
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
                // The viewers report one after the other.
                let viewer = viewers[frames % count]
                viewer.report { $0.receiverReport(ssrc: 9) }
                network.deliverAll(viewer)
                video.send(from: publisher, by: network)
                frames += 1
            }
            let information = SenderInformation(
                ssrc: 0x1111, ntpTimestamp: VirtualNetwork.clock.wallTime(at: network.now).ntpTimestamp,
                rtpTimestamp: video.timestamp, packetCount: 1, octetCount: 1)
            publisher.report { $0.senderReport(information) }
            network.deliverAll(publisher)
        }
        for _ in 0..<2 { second() }
        let received = viewers.map(\.control.count)
        network.wakes = 0
        for _ in 0..<10 { second() }
        for (viewer, before) in zip(viewers, received) { #expect(viewer.control.count >= before + 2) }
        return network.wakes
    }

    @Test("peers beyond the maximum are rejected, and a peer that leaves makes room for another")
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

    @Test("a stream's identifier is reserved while it lives, and a viewer of an unknown stream is rejected")
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
