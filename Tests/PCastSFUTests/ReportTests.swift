import PCastCore
import PCastRTP
import PCastWebRTC
import Testing

@testable import PCastSFU

/// Sender reports, retransmissions and counters.
struct ReportTests {
    @Test("if a publisher's clock is an hour off, audio and video are synchronized by the SFU's clock")
    func publisherClockOffset() throws {
        let network = VirtualNetwork()
        let hour = TimeSpan.seconds(3600 as Int64)
        let publisher = try network.publish(.h264, clockOffset: hour)
        let viewer = try network.view()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.h264)
        broadcast.videoFrames.timestampInterval = 1800
        broadcast.send(150, from: publisher, by: network, clockOffset: hour)
        network.run(for: .milliseconds(200))
        let videoFrames = viewer.video.map(\.frame).suffix(100)
        let audioFrames = viewer.audio.suffix(100)
        #expect(videoFrames.count == 100 && audioFrames.count == 100)
        for frame in Array(videoFrames) + Array(audioFrames) {
            let number = try #require(broadcast.number(of: frame))
            let said = try #require(broadcast.sent[number].captureTime)
            let captured = try #require(frame.captureTime)
            // It is late by the delay from the publisher to the SFU, which is unknown.
            let error = captured - (said - hour) - .milliseconds(10)
            #expect(abs(error.nanoseconds) < 2_000_000)
        }
    }

    @Test("the clock of a viewer's video has capture times of the platform's clock if the publisher's is an hour off")
    func videoClock() throws {
        let network = VirtualNetwork()
        let hour = TimeSpan.seconds(3600 as Int64)
        let publisher = try network.publish(.vp8, clockOffset: hour)
        let viewer = try network.scriptViewer()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        let early = [viewer.id, publisher.id].map { network.sfu.videoClock(viewedBy: $0, at: network.now) }
        #expect(early == [nil, nil])
        var broadcast = Broadcast(.vp8)
        broadcast.send(150, from: publisher, by: network, clockOffset: hour)
        network.run(for: .milliseconds(200))
        let received = network.sfu.videoClock(viewedBy: viewer.id, at: network.now)
        let clock = try #require(received)
        let source = try #require(viewer.media(.video).remoteSources.first)
        let newest = try #require(viewer.packets(source.ssrc).last)
        let said = try #require(broadcast.sent.last?.captureTime)
        let error = clock.wallTime(of: newest.header.timestamp) - (said - hour)
        #expect(abs(error.nanoseconds) < 2_000_000, "\(error)")
    }

    @Test("the first sender report of each track comes with its first packets, also for a late viewer")
    func rtcp1() throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8)
        #expect(network.run { publisher.isConnected })
        var broadcast = Broadcast(.vp8, keyFrameInterval: 10)
        broadcast.send(40, from: publisher, by: network)
        let viewer = try network.scriptViewer()
        broadcast.send(40, from: publisher, by: network)
        for type in [MediaType.video, .audio] {
            let ssrc = try #require(viewer.media(type).remoteSources.first?.ssrc)
            let first = try #require(viewer.packets(ssrc).first)
            let report = try #require(viewer.firstReport(of: ssrc))
            #expect(abs((report - first.arrival).nanoseconds) < 1_000_000)
        }
    }

    @Test("reports are sent with packets, and alone if there are none")
    func reportsAccompanyPackets() throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8)
        let viewer = try network.scriptViewer()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        // The intervals do not match those of reports.
        for _ in 0..<300 {
            broadcast.send(1, from: publisher, by: network)
            network.run(for: .milliseconds(13))
        }
        let source = try #require(viewer.media(.video).remoteSources.first)
        let packets = Set(viewer.packets(source.ssrc).map(\.arrival))
        let reports = viewer.reports(of: source.ssrc)
        #expect(reports.count > 10)
        #expect(reports.allSatisfy(packets.contains))
        network.run(for: .milliseconds(2_500))
        let alone = viewer.reports(of: source.ssrc).dropFirst(reports.count)
        #expect((2...3).contains(alone.count))
    }

    @Test("a retransmission is scheduled for its viewer alone")
    func ownTurn() throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8)
        let viewers = try (0..<3).map { _ in try network.scriptViewer() }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        var broadcast = Broadcast(.vp8)
        broadcast.send(20, from: publisher, by: network)
        let viewer = viewers[1]
        let source = try #require(viewer.media(.video).remoteSources.first)
        let lost = [viewer.packets(source.ssrc)[5].header.sequenceNumber]
        viewer.report { writer in
            writer.receiverReport(ssrc: 9)
            _ = writer.negativeAcknowledgement(senderSSRC: 9, mediaSSRC: source.ssrc, lost: lost.span)
        }
        network.injectUnpolled(viewer.takeQueue(), from: viewer)
        let busy = (streams: network.sfu.forwarder.busyStreams.count, viewers: network.sfu.forwarder.busyViewers.count)
        #expect(busy == (0, 1))
        network.settleRelay()
        network.run(for: .milliseconds(100))
        #expect(viewer.packets(source.rtxSSRC).count == 1)
    }

    @Test("a NACK is answered with RTX's own SSRC and sequence numbers, at most once per round trip")
    func nack() throws {
        let network = VirtualNetwork()
        let publisher = try network.publish(.vp8)
        let viewer = try network.scriptViewer()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        var broadcast = Broadcast(.vp8)
        broadcast.send(20, from: publisher, by: network)
        let source = try #require(viewer.media(.video).remoteSources.first)
        let original = viewer.packets(source.ssrc)[5]
        func ask() {
            let lost = [original.header.sequenceNumber]
            viewer.report { writer in
                writer.receiverReport(ssrc: 9)
                _ = writer.negativeAcknowledgement(senderSSRC: 9, mediaSSRC: source.ssrc, lost: lost.span)
            }
            network.deliverAll(viewer)
        }
        ask()
        network.run(for: .milliseconds(5))
        ask()
        network.run(for: .milliseconds(100))
        #expect(viewer.packets(source.rtxSSRC).count == 1)
        ask()
        network.run(for: .milliseconds(100))
        let repeated = viewer.packets(source.rtxSSRC)
        #expect(repeated.count == 2)
        for packet in repeated {
            let number = packet.payload[0..<2].reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
            #expect(number == original.header.sequenceNumber)
            #expect(Array(packet.payload[2...]) == original.payload)
            #expect(packet.header.timestamp == original.header.timestamp)
            #expect(packet.header.marker == original.header.marker)
            #expect(packet.header.payloadType == viewer.media(.video).rtxPayloadType)
        }
        #expect(repeated[1].header.sequenceNumber == repeated[0].header.sequenceNumber &+ 1)
        #expect(network.sfu.statistics(of: viewer.id)?.nackCount == 3)
    }

    @Test("no sequence number is sent twice, whatever viewers request and the publisher repeats")
    func uniqueSequenceNumbers() throws {
        let network = VirtualNetwork(seed: 5)
        network.link.loss = 4
        network.link.duplication = 10
        network.link.jitter = .milliseconds(20)
        let publisher = try network.publish(.vp8)
        let viewers = try (0..<3).map { _ in try network.view() }
        #expect(network.run { publisher.isConnected && viewers.allSatisfy(\.isConnected) })
        var seen: Set<[UInt8]> = []
        var repetitions = 0
        var sent = 0
        network.onSending = { bytes, path in
            guard bytes.count > 12, (128...191).contains(bytes[0]), !(192...223).contains(bytes[1]) else { return }
            sent += 1
            if !seen.insert(Array(bytes[2..<4] + bytes[8..<12]) + "\(path.remote)".utf8).inserted { repetitions += 1 }
        }
        var broadcast = Broadcast(.vp8)
        broadcast.send(150, from: publisher, by: network)
        #expect(repetitions == 0)
        #expect(sent > 3 * 2 * 150)
    }
}

extension ScriptedPeer {
    /// The arrival of the first sender report of an SSRC; nil if there is none.
    func firstReport(of ssrc: UInt32) -> Instant? { reports(of: ssrc).first }

    /// The arrivals of the sender reports of an SSRC.
    func reports(of ssrc: UInt32) -> [Instant] {
        control.filter { compound in
            var reader = RTCPReader()
            while let packet = reader.next(in: compound.bytes.span) {
                if case .senderReport(let information, _) = packet, information.ssrc == ssrc { return true }
            }
            return false
        }.map(\.arrival)
    }
}
