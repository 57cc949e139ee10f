import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// The pacing of packets from the SFU to a viewer.
struct PacingTests {
    private static let count = 120

    /// Sends a frame of many packets.
    private func sayLargeFrame(from publisher: ScriptedPeer, sequence: UInt16, timestamp: UInt32) {
        for index in 0..<Self.count {
            let start: [UInt8] =
                index == 0 ? [0x10, 0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0xE0, 0x01] : [0x00]
            publisher.say(
                .video, sequence: sequence &+ UInt16(index), timestamp: timestamp,
                payload: start + [UInt8](repeating: 7, count: 1_100), marker: index == Self.count - 1)
        }
    }

    @Test(
        "a frame that arrives at once is sent in bursts of 5 ms within 200 ms, without delaying audio")
    func pacesFramesInBursts() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher(audio: true)
        let viewers = try (0..<3).map { _ in try network.scriptViewer() }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        for viewer in viewers {
            viewer.report { $0.receiverReport(ssrc: 9) }
            network.deliverAll(viewer)
        }
        network.run(for: .milliseconds(100))
        sayLargeFrame(from: publisher, sequence: 1000, timestamp: 90_000)
        let began = network.now
        network.deliverAll(publisher)
        network.run(for: .milliseconds(40))
        publisher.say(.audio, sequence: 1, timestamp: 960, payload: [0xFC, 1, 2, 3])
        let said = network.now
        network.deliverAll(publisher)
        network.run(for: .milliseconds(400))
        for viewer in viewers {
            let video = viewer.packets.filter { $0.payload.count > 1_000 }
            #expect(video.count == Self.count)
            let times = video.map { $0.arrival - began }
            #expect(times[Self.count - 1] < .milliseconds(20 + 210))
            #expect(times[Self.count - 1] > .milliseconds(20 + 50))
            // The first packets leave at the rate that sends the frame within 200 ms, in bursts of 5 ms. The last ones
            // are no more than a usual frame and leave together, which takes 16 ms.
            let burst = times.indices.map { first in
                times[first...].prefix { $0 - times[first] < .microseconds(100) }.count
            }
            #expect((burst.dropLast(10).max() ?? 0) <= 5)
            #expect((burst.max() ?? 0) <= 10)
            let audio = viewer.packets.first { $0.payload.count < 10 }
            #expect(audio.map { $0.arrival - said == .milliseconds(20) } == true)
        }
        // No viewer waits for another.
        let last = viewers.map { $0.packets.filter { $0.payload.count > 1_000 }.last?.arrival }
        #expect(Set(last).count == 1)
    }

    /// Sends a frame of packets of equal size. The SFU receives all of them before it may send.
    private func give(
        _ count: Int, of size: Int, from publisher: ScriptedPeer, to network: VirtualNetwork, sequence: UInt16,
        timestamp: UInt32, isKeyFrame: Bool
    ) {
        for index in 0..<count {
            let start: [UInt8] =
                index == 0
                ? isKeyFrame
                    ? [0x10, 0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0xE0, 0x01] : [0x10, 0x11] : [0x00]
            publisher.say(
                .video, sequence: sequence &+ UInt16(index), timestamp: timestamp,
                payload: start + [UInt8](repeating: 7, count: size - start.count), marker: index == count - 1)
        }
        network.injectUnpolled(publisher.takeQueue(), from: publisher)
        network.settleRelay()
    }

    @Test("packets of a frame that arrive together are sent to each viewer consecutively and in order")
    func sideBySide() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher()
        let viewers = try (0..<3).map { _ in try network.scriptViewer() }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        for viewer in viewers {
            // The first report ends the initial pace.
            viewer.report { $0.receiverReport(ssrc: 9) }
            network.deliverAll(viewer)
        }
        give(2, of: 1_000, from: publisher, to: network, sequence: 1_000, timestamp: 90_000, isKeyFrame: true)
        network.run(for: .milliseconds(500))
        var sent: [(remote: TransportAddress, sequence: UInt16, size: Int)] = []
        network.onSending = { bytes, path in
            guard DatagramKind(bytes.span) == .rtp, let header = RTPHeader.parseProtected(bytes.span),
                bytes.count > 1_000
            else { return }
            sent.append((path.remote, header.sequenceNumber, bytes.count))
        }
        // With the bandwidth that is assumed for a path, 12.5 kB may leave at once.
        for (frame, count) in [2, 9, 4].enumerated() {
            sent = []
            let number = 1_010 + 10 * UInt16(frame)
            give(
                count, of: 1_100, from: publisher, to: network, sequence: number,
                timestamp: 180_000 + 3_000 * UInt32(frame), isKeyFrame: false)
            #expect(sent.count == 3 * count, "at once")
            for index in sent.indices where index % count != 0 {
                #expect(sent[index].remote == sent[index - 1].remote)
                #expect(sent[index].sequence == sent[index - 1].sequence &+ 1)
            }
            #expect(Set(sent.map(\.remote)).count == 3)
            #expect(Set(sent.map(\.size)).count == 1)
            network.run(for: .milliseconds(33))
        }
        // Larger frames leave in bursts.
        sent = []
        give(12, of: 1_100, from: publisher, to: network, sequence: 1_050, timestamp: 200_000, isKeyFrame: false)
        #expect(sent.count == 3 * 3)
        network.run(for: .milliseconds(200))
        #expect(sent.count == 3 * 12)
    }

    @Test("`expect` prefetches state and changes nothing, for unknown sources, publishers and many viewers")
    func expectation() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher()
        let viewers = try (0..<18).map { _ in try network.scriptViewer() }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        let peers = [publisher] + viewers
        var paths = peers.map { NetworkPath(local: VirtualNetwork.relayAddress, remote: $0.addresses[0]) }
        paths.insert(NetworkPath(local: paths[0].local, remote: TransportAddress("203.0.113.9:9")!), at: 3)
        let deadline = network.sfu.deadline
        paths.withUnsafeBufferPointer { network.sfu.expect(from: Span(_unsafeElements: $0)) }
        #expect(network.sfu.forwarder.expectedViewers.count == 18)
        #expect(network.sfu.deadline == deadline)
        // Reports are processed in the same way after the prefetch.
        for viewer in viewers {
            viewer.report { $0.receiverReport(ssrc: 9) }
            network.deliverAll(viewer)
        }
        give(2, of: 1_000, from: publisher, to: network, sequence: 1_000, timestamp: 90_000, isKeyFrame: true)
        #expect(network.sfu.unknownSourceDatagrams == 0)
    }

    @Test("a large number of retransmissions is paced and does not delay audio")
    func pacesRetransmissions() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher(audio: true)
        let viewer = try network.scriptViewer()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        // The first report ends the initial pace.
        viewer.report { $0.receiverReport(ssrc: 9) }
        network.deliverAll(viewer)
        network.run(for: .milliseconds(100))
        sayLargeFrame(from: publisher, sequence: 1000, timestamp: 90_000)
        network.deliverAll(publisher)
        network.run(for: .milliseconds(600))
        let source = try #require(viewer.media(.video).remoteSources.first)
        let numbers = viewer.packets(source.ssrc).map(\.header.sequenceNumber).suffix(60)
        try #require(numbers.count == 60)
        // The same packets are requested repeatedly, as an attacker would do.
        for _ in 0..<10 {
            viewer.report {
                _ = $0.negativeAcknowledgement(senderSSRC: 9, mediaSSRC: source.ssrc, lost: Array(numbers).span)
            }
        }
        let asked = network.now
        network.deliverAll(viewer)
        network.run(for: .milliseconds(15))
        publisher.say(.audio, sequence: 1, timestamp: 960, payload: [0xFC, 1, 2, 3])
        let said = network.now
        network.deliverAll(publisher)
        network.run(for: .milliseconds(500))
        let repairs = viewer.packets(source.rtxSSRC)
        #expect(repairs.count == 60, "each packet once")
        let times = repairs.map { $0.arrival - asked }
        let burst = times.indices.map { first in
            times[first...].prefix { $0 - times[first] < .microseconds(100) }.count
        }
        #expect((burst.max() ?? 0) <= 5)
        // These are 60 packets of 1.15 kB at two and a half times the assumed bandwidth.
        #expect(times[59] - times[0] >= .milliseconds(70))
        let audio = viewer.packets.first { $0.payload.count < 10 }
        #expect(audio.map { $0.arrival - said == .milliseconds(20) } == true)
    }

    @Test("audio, video, retransmissions and probes share one transport-wide sequence without gaps")
    func transportWideSequence() throws {
        let network = VirtualNetwork(seed: 5)
        network.link.loss = 3
        let publisher = try network.publish(.h264)
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var map = RTPHeaderExtensionMap()
        map[3] = .transportSequenceNumber
        var numbers: [UInt16] = []
        var sources: Set<UInt32> = []
        network.onSending = { bytes, path in
            guard path.remote == viewer.addresses[0], DatagramKind(bytes.span) == .rtp,
                let header = RTPHeader.parse(bytes.span),
                let number = header.extensions.transportSequenceNumber(in: bytes.span, by: map)
            else { return }
            numbers.append(number)
            sources.insert(header.ssrc)
        }
        var broadcast = Broadcast(.h264)
        broadcast.send(200, from: publisher, by: network)
        #expect(numbers.count > 500)
        // There are at least audio, video and the retransmissions of video.
        #expect(sources.count >= 3)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
    }

    @Test("a viewer that does not report arrivals is not probed")
    func noProbesWithoutFeedback() throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8)
        let viewer = try network.scriptViewer()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(300, from: publisher, by: network)
        let source = try #require(viewer.media(.video).remoteSources.first)
        #expect(viewer.packets(source.rtxSSRC).isEmpty)
    }

    @Test("a publisher and a viewer on a good network receive a high estimate")
    func estimates() throws {
        let network = VirtualNetwork(seed: 3)
        let publisher = try network.publish(.h264)
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.h264)
        broadcast.send(300, from: publisher, by: network)
        let found = publisher.connection.estimate
        let estimate = try #require(found)
        #expect(estimate.target >= .kilobits(2_500))
        #expect(!estimate.isLimited)
        #expect(estimate.lossRate == 0)
        #expect(estimate.queueDelay.map { $0 < .milliseconds(10) } == true)
        #expect(estimate.acknowledged != nil)
        let peerIndex = network.sfu.peers[viewer.id]
        guard case .viewer(let index)? = peerIndex else {
            Issue.record("the viewer does not exist")
            return
        }
        let viewed = network.sfu.forwarder.viewers[index].sender.estimate
        #expect(viewed.target >= .kilobits(2_500))
        #expect(viewed.acknowledged != nil)
    }
}
