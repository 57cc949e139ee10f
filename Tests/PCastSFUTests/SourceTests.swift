import PCastCore
import PCastRTP
import PCastSFU
import PCastWebRTC
import Testing

/// Sources whose sequence numbers wrap around or jump, or whose SSRC is unknown.
struct SourceTests {
    private struct InMemoryHarness {
        let network = VirtualNetwork()
        let publisher: ScriptedPeer
        let viewer: CallPeer
        let recorder: ScriptedPeer

        init() throws {
            publisher = try network.scriptPublisher()
            viewer = try network.view()
            recorder = try network.scriptViewer()
            let peers = (publisher, viewer, recorder)
            #expect(network.run { peers.0.isConnected && peers.1.isConnected && peers.2.isConnected })
        }

        var seen: [[UInt8]] { viewer.video.map(\.frame.bytes) }

        /// The video packets that the witness received, without retransmissions.
        var packets: [ScriptedPeer.Packet] { recorder.packets(recorder.media(.video).remoteSources.first?.ssrc) }

        /// Expects sequence numbers without gaps and increasing timestamps.
        func expectContinuity() {
            let steps = zip(packets, packets.dropFirst()).map { ($0.header, $1.header) }
            #expect(steps.allSatisfy { $1.sequenceNumber == $0.sequenceNumber &+ 1 })
            #expect(steps.allSatisfy { Int32(bitPattern: $1.timestamp &- $0.timestamp) > 0 })
        }
    }

    @Test("sequence numbers and timestamps may wrap around")
    func numbersWrapAround() throws {
        let stage = try InMemoryHarness()
        var video = ScriptedVideo(sequence: 65_530, timestamp: 0 &- 9000)
        video.send(isKeyFrame: true, from: stage.publisher, by: stage.network)
        for _ in 0..<40 { video.send(from: stage.publisher, by: stage.network) }
        stage.network.run(for: .milliseconds(200))
        #expect(stage.seen == video.frames)
        let times = stage.viewer.video.map(\.frame.timestamp.ticks)
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 3000 })
        stage.expectContinuity()
    }

    @Test("a source that restarts with the same SSRC resumes at its next key frame with continuous numbers")
    func sourceRestart() throws {
        let stage = try InMemoryHarness()
        var video = ScriptedVideo()
        video.send(isKeyFrame: true, from: stage.publisher, by: stage.network)
        for _ in 0..<5 { video.send(from: stage.publisher, by: stage.network) }
        let old = video.frames
        let asked = stage.publisher.pictureLossIndications
        video.sequence = 40_000
        video.timestamp = 4_000_000_000
        for _ in 0..<10 { video.send(from: stage.publisher, by: stage.network) }
        #expect(stage.publisher.pictureLossIndications > asked)
        #expect(stage.packets.count == old.count)
        video.send(isKeyFrame: true, from: stage.publisher, by: stage.network)
        for _ in 0..<10 { video.send(from: stage.publisher, by: stage.network) }
        stage.network.run(for: .milliseconds(200))
        #expect(stage.seen == old + video.frames.suffix(11))
        stage.expectContinuity()
        // The gap is the time that passed at the SFU: ten frames that were not sent, and the key frame.
        let gap = stage.packets[6].header.timestamp &- stage.packets[5].header.timestamp
        #expect((30_000...36_000).contains(gap))
    }

    @Test("a source that restarts with another SSRC resumes at its next key frame with continuous numbers")
    func otherSSRC() throws {
        let stage = try InMemoryHarness()
        var video = ScriptedVideo()
        video.send(isKeyFrame: true, from: stage.publisher, by: stage.network)
        for _ in 0..<5 { video.send(from: stage.publisher, by: stage.network) }
        let old = video.frames
        stage.network.run(for: .milliseconds(600))
        video.ssrc = 0xABCD
        video.sequence = 7
        video.timestamp = 5
        video.send(isKeyFrame: true, from: stage.publisher, by: stage.network)
        for _ in 0..<10 { video.send(from: stage.publisher, by: stage.network) }
        stage.network.run(for: .milliseconds(200))
        #expect(stage.seen == old + video.frames.suffix(11))
        stage.expectContinuity()
    }

    @Test("an SSRC whose packets have the MID takes over at once without loss, and numbers continue")
    func sourceTakeoverByMID() throws {
        let network = VirtualNetwork()
        let publisher = try network.scriptPublisher(audio: true)
        let viewer = try network.scriptViewer()
        #expect(network.run { publisher.isConnected && viewer.isConnected })
        func named(_ type: MediaType) -> RTPExtensionValues {
            var values = RTPExtensionValues()
            values.mid = publisher.media(type).mid.flatMap { RTPStreamIdentifier($0) }
            return values
        }
        let keyFrame: [UInt8] = [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0xE0, 0x01, 1, 2, 3]
        for index in 0..<100 as Range<UInt16> {
            let isOther = index >= 50
            publisher.say(
                .audio, sequence: (isOther ? 9_000 : 100) + index,
                timestamp: (isOther ? 3_333_333_333 : 0) &+ UInt32(index) * 960, payload: [0x78, UInt8(index)],
                marker: false, ssrc: isOther ? 0x2222 : 0x1111_0001, extensions: named(.audio))
            publisher.say(
                .video, sequence: (isOther ? 7_000 : 100) + index,
                timestamp: (isOther ? 2_222_222_222 : 0) &+ UInt32(index) * 1800,
                payload: index % 50 == 0 ? [0x10] + keyFrame : [0x10, 0x11, 2, UInt8(index)],
                ssrc: isOther ? 0x3333 : 0x1111, extensions: named(.video))
            network.deliverAll(publisher)
            network.run(for: .milliseconds(20))
        }
        for (type, step) in [(MediaType.audio, 960), (.video, 1800)] as [(MediaType, UInt32)] {
            let source = try #require(viewer.media(type).remoteSources.first)
            let packets = viewer.packets(source.ssrc)
            #expect(packets.count >= 99, "\(packets.count) of \(type)")
            for (earlier, later) in zip(packets, packets.dropFirst()) {
                #expect(later.header.sequenceNumber == earlier.header.sequenceNumber &+ 1)
                let ticks = later.header.timestamp &- earlier.header.timestamp
                #expect((step / 2...step * 2).contains(ticks), "\(ticks)")
                #expect(later.arrival - earlier.arrival < .milliseconds(30))
            }
        }
    }

    @Test("an SSRC that appears while the source still sends is not a restart")
    func secondSource() throws {
        let stage = try InMemoryHarness()
        var video = ScriptedVideo()
        var other = ScriptedVideo(sequence: 7)
        other.ssrc = 0xABCD
        video.send(isKeyFrame: true, from: stage.publisher, by: stage.network)
        for _ in 0..<20 {
            video.send(from: stage.publisher, by: stage.network)
            other.send(isKeyFrame: true, from: stage.publisher, by: stage.network, interval: .zero)
        }
        stage.network.run(for: .milliseconds(200))
        #expect(stage.seen == video.frames)
    }

    @Test("packets that contain only padding do not disturb viewers")
    func paddingOnlyPackets() throws {
        let stage = try InMemoryHarness()
        var video = ScriptedVideo()
        video.send(isKeyFrame: true, from: stage.publisher, by: stage.network)
        for _ in 0..<20 {
            video.sendPadding(from: stage.publisher, by: stage.network)
            video.send(from: stage.publisher, by: stage.network)
        }
        stage.network.run(for: .milliseconds(200))
        #expect(stage.seen == video.frames)
        #expect(stage.viewer.connection.statistics.packetsLost == 0)
    }

    @Test("packets of unknown types or with SSRC 0 are acknowledged by transport feedback, and not forwarded")
    func unknownPacketsAreAcknowledged() throws {
        let stage = try InMemoryHarness()
        for number in 0..<20 {
            stage.publisher.say(
                .video, sequence: UInt16(number), timestamp: 0, payload: [], ssrc: number % 2 == 0 ? 0 : 0x9999,
                payloadType: 120, paddingSize: 100, transportSequenceNumber: UInt16(100 + number))
        }
        stage.network.deliverAll(stage.publisher)
        stage.network.run(for: .milliseconds(300))
        #expect(stage.publisher.acknowledged == Set(100..<120))
        #expect(stage.packets.isEmpty)
    }

    @Test("a publisher that does not answer NACKs is asked for a key frame, at which video resumes")
    func unansweredNACKsCauseKeyFrameRequest() throws {
        let stage = try InMemoryHarness()
        var video = ScriptedVideo()
        video.send(isKeyFrame: true, from: stage.publisher, by: stage.network)
        for _ in 0..<5 { video.send(from: stage.publisher, by: stage.network) }
        let (whole, asked) = (video.frames, stage.publisher.pictureLossIndications)
        // This frame is never sent.
        video.sequence &+= 1
        var frames = 0
        while stage.publisher.pictureLossIndications == asked, frames < 60 {
            video.send(from: stage.publisher, by: stage.network)
            frames += 1
        }
        let requests = stage.publisher.hears { if case .negativeAcknowledgement = $0 { true } else { false } }
        #expect(requests > 1)
        #expect(frames <= 30, "within a second")
        #expect(stage.seen == whole, "no undecodable frame is shown")
        video.send(isKeyFrame: true, from: stage.publisher, by: stage.network)
        video.send(from: stage.publisher, by: stage.network)
        stage.network.run(for: .milliseconds(200))
        #expect(stage.seen == whole + video.frames.suffix(2))
    }

    @Test("a retransmission of a packet that is no longer in the log is not forwarded as a new one")
    func ancientRetransmission() throws {
        let stage = try InMemoryHarness()
        var video = ScriptedVideo()
        video.send(isKeyFrame: true, from: stage.publisher, by: stage.network)
        for _ in 0..<2500 { video.send(from: stage.publisher, by: stage.network, interval: .milliseconds(1)) }
        stage.network.run(for: .milliseconds(100))
        let count = stage.packets.count
        let rtx = stage.publisher.media(.video)
        stage.publisher.say(
            .video, sequence: 1, timestamp: 90_000, payload: [3, 233, 0x10, 0x11, 2, 0],
            ssrc: rtx.localRTXSSRC, payloadType: rtx.rtxPayloadType)
        stage.network.deliverAll(stage.publisher)
        stage.network.run(for: .milliseconds(100))
        #expect(stage.packets.count == count)
        stage.expectContinuity()
    }
}

extension ScriptedPeer {
    /// The transport-wide sequence numbers that feedback reports as received.
    var acknowledged: Set<UInt16> {
        var numbers: Set<UInt16> = []
        for compound in control {
            var reader = RTCPReader()
            while let packet = reader.next(in: compound.bytes.span) {
                guard case .transportFeedback(let feedback) = packet else { continue }
                var statuses = TransportFeedback.Reader(feedback)
                while let status = statuses.next(in: compound.bytes.span) {
                    if status.arrival != nil { numbers.insert(status.sequenceNumber) }
                }
            }
        }
        return numbers
    }
}
