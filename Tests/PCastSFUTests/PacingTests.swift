import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// How a viewer's packets leave the relay.
struct PacingTests {
    private static let count = 120

    /// Says a frame of many packets.
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
        "CC11: a frame that came at once leaves in bursts of 5 ms, whole within 200 ms, and sound does not wait for it")
    func cc11() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher(audio: true)
        let viewers = try (0..<3).map { _ in try network.scriptViewer() }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        for viewer in viewers {
            viewer.report { $0.receiverReport(ssrc: 9) }
            network.settle(viewer)
        }
        network.run(for: .milliseconds(100))
        sayLargeFrame(from: publisher, sequence: 1000, timestamp: 90_000)
        let began = network.now
        network.settle(publisher)
        network.run(for: .milliseconds(40))
        publisher.say(.audio, sequence: 1, timestamp: 960, payload: [0xFC, 1, 2, 3])
        let said = network.now
        network.settle(publisher)
        network.run(for: .milliseconds(400))
        for viewer in viewers {
            let video = viewer.packets.filter { $0.payload.count > 1_000 }
            #expect(video.count == Self.count)
            let times = video.map { $0.arrival - began }
            #expect(times[Self.count - 1] < .milliseconds(20 + 210))
            #expect(times[Self.count - 1] > .milliseconds(20 + 50))
            // The rate that takes the frame out within 200 ms, and 5 ms of it; the end, which is no more than other pictures
            // are, leaves together: 16 ms.
            let burst = times.indices.map { first in
                times[first...].prefix { $0 - times[first] < .microseconds(100) }.count
            }
            #expect((burst.dropLast(10).max() ?? 0) <= 5)
            #expect((burst.max() ?? 0) <= 10)
            let sound = viewer.packets.first { $0.payload.count < 10 }
            #expect(sound.map { $0.arrival - said == .milliseconds(20) } == true)
        }
        // Nobody waits for anybody.
        let last = viewers.map { $0.packets.filter { $0.payload.count > 1_000 }.last?.arrival }
        #expect(Set(last).count == 1)
    }

    /// Says a picture of packets of one size, and has the relay hear all of them before it may speak.
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

    @Test("IO2: the packets of a picture that came together leave side by side for each viewer, and in order")
    func sideBySide() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher()
        let viewers = try (0..<3).map { _ in try network.scriptViewer() }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        for viewer in viewers {
            // With the first report the pace of the beginning ends.
            viewer.report { $0.receiverReport(ssrc: 9) }
            network.settle(viewer)
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
        // Of what is taken for granted of a path 12.5 kB may leave at once.
        for (picture, count) in [2, 9, 4].enumerated() {
            sent = []
            let number = 1_010 + 10 * UInt16(picture)
            give(
                count, of: 1_100, from: publisher, to: network, sequence: number,
                timestamp: 180_000 + 3_000 * UInt32(picture), isKeyFrame: false)
            #expect(sent.count == 3 * count, "at once")
            for index in sent.indices where index % count != 0 {
                #expect(sent[index].remote == sent[index - 1].remote)
                #expect(sent[index].sequence == sent[index - 1].sequence &+ 1)
            }
            #expect(Set(sent.map(\.remote)).count == 3)
            #expect(Set(sent.map(\.size)).count == 1)
            network.run(for: .milliseconds(33))
        }
        // More leaves in bursts.
        sent = []
        give(12, of: 1_100, from: publisher, to: network, sequence: 1_050, timestamp: 200_000, isKeyFrame: false)
        #expect(sent.count == 3 * 3)
        network.run(for: .milliseconds(200))
        #expect(sent.count == 3 * 12)
    }

    @Test("who is heard of next is only thought of: strangers, publishers and many viewers may be expected")
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
        #expect(network.sfu.expectedViewers.count == 18)
        #expect(network.sfu.deadline == deadline)
        // With or without it a report is a report.
        for viewer in viewers {
            viewer.report { $0.receiverReport(ssrc: 9) }
            network.settle(viewer)
        }
        give(2, of: 1_000, from: publisher, to: network, sequence: 1_000, timestamp: 90_000, isKeyFrame: true)
        #expect(network.sfu.unknownSourceDatagrams == 0)
    }

    @Test("NACK3: what is asked for again in masses leaves at the pace, and sound does not wait for it")
    func nack3() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher(audio: true)
        let viewer = try network.scriptViewer()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        // With the first report the pace of the beginning ends.
        viewer.report { $0.receiverReport(ssrc: 9) }
        network.settle(viewer)
        network.run(for: .milliseconds(100))
        sayLargeFrame(from: publisher, sequence: 1000, timestamp: 90_000)
        network.settle(publisher)
        network.run(for: .milliseconds(600))
        let source = try #require(viewer.media(.video).remoteSources.first)
        let numbers = viewer.packets(source.ssrc).map(\.header.sequenceNumber).suffix(60)
        try #require(numbers.count == 60)
        // Again and again, as who means harm does.
        for _ in 0..<10 {
            viewer.report {
                _ = $0.negativeAcknowledgement(senderSSRC: 9, mediaSSRC: source.ssrc, lost: Array(numbers).span)
            }
        }
        let asked = network.now
        network.settle(viewer)
        network.run(for: .milliseconds(15))
        publisher.say(.audio, sequence: 1, timestamp: 960, payload: [0xFC, 1, 2, 3])
        let said = network.now
        network.settle(publisher)
        network.run(for: .milliseconds(500))
        let repairs = viewer.packets(source.rtxSSRC)
        #expect(repairs.count == 60, "each once")
        let times = repairs.map { $0.arrival - asked }
        let burst = times.indices.map { first in
            times[first...].prefix { $0 - times[first] < .microseconds(100) }.count
        }
        #expect((burst.max() ?? 0) <= 5)
        // 60 packets of 1.15 kB at two and a half times what is assumed of a path.
        #expect(times[59] - times[0] >= .milliseconds(70))
        let sound = viewer.packets.first { $0.payload.count < 10 }
        #expect(sound.map { $0.arrival - said == .milliseconds(20) } == true)
    }

    @Test("CC1: sound, pictures, repetitions and probes bear the numbers of one count, without a gap")
    func cc1() throws {
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
        // Sound, pictures, and the repetitions of pictures at least.
        #expect(sources.count >= 3)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
    }

    @Test("CC8: who reports no arrivals is not probed")
    func cc8() throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8)
        let viewer = try network.scriptViewer()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(300, from: publisher, by: network)
        let source = try #require(viewer.media(.video).remoteSources.first)
        #expect(viewer.packets(source.rtxSSRC).isEmpty)
    }

    @Test("a publisher and a viewer on a good network find that out, and are told")
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
        let place = network.sfu.places[viewer.id]
        guard case .viewer(let index)? = place else {
            Issue.record("no such viewer")
            return
        }
        let viewed = network.sfu.viewers[index].sender.estimate
        #expect(viewed.target >= .kilobits(2_500))
        #expect(viewed.acknowledged != nil)
    }
}
