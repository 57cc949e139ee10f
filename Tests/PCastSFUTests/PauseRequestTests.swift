import PCastCore
import PCastRTP
import PCastSFU
import PCastWebRTC
import Testing

/// The pause requests that scripted publishers receive, and their absence.
struct PauseRequestTests {
    private func ssrc(_ publisher: ScriptedPeer, _ type: MediaType) -> UInt32? { publisher.media(type).localSSRC }

    /// Sends video and audio every 33 ms.
    private func send(
        _ count: Int, _ video: inout ScriptedVideo, from publisher: ScriptedPeer, _ network: VirtualNetwork
    ) {
        for _ in 0..<count {
            publisher.say(.audio, sequence: video.sequence, timestamp: video.timestamp, payload: [0xFC, 1, 2, 3])
            video.send(isKeyFrame: true, from: publisher, by: network)
        }
    }

    private func publisher(_ network: VirtualNetwork, _ feedback: RTCPFeedback = .all) throws -> ScriptedPeer {
        let publisher = try network.scriptPublisher(audio: true, feedback: feedback)
        #expect(network.run { publisher.isConnected })
        return publisher
    }

    private func say(_ kind: PauseResume.Kind, _ pauseID: UInt16, of type: MediaType, _ publisher: ScriptedPeer) {
        guard let ssrc = ssrc(publisher, type) else { return }
        publisher.report { writer in
            writer.receiverReport(ssrc: ssrc)
            writer.pauseResume(senderSSRC: ssrc, PauseResume.Message(ssrc: ssrc, kind: kind, pauseID: pauseID))
        }
    }

    @Test("a publisher that did not negotiate pause requests receives none")
    func notAgreed() throws {
        let network = VirtualNetwork()
        let publisher = try publisher(network, RTCPFeedback.all.subtracting([.pause, .pauseWithoutWait]))
        var video = ScriptedVideo()
        send(200, &video, from: publisher, network)
        #expect(publisher.pauseMessages.isEmpty)
        let viewer = try network.view()
        send(20, &video, from: publisher, network)
        #expect(publisher.pauseMessages.isEmpty && !viewer.video.isEmpty)
    }

    @Test("video without feedback for key frames is not paused, because it could not be resumed at a key frame")
    func noKeyFrames() throws {
        let network = VirtualNetwork()
        let publisher = try publisher(network, [.nack, .pause, .pauseWithoutWait])
        var video = ScriptedVideo()
        send(100, &video, from: publisher, network)
        #expect(!publisher.pauseMessages.isEmpty)
        #expect(publisher.pauseMessages.allSatisfy { $0.message.ssrc == ssrc(publisher, .audio) })
    }

    @Test("the first request to resume is accompanied by a request for a key frame")
    func resumesWithKeyFrame() throws {
        let network = VirtualNetwork()
        let publisher = try publisher(network)
        var video = ScriptedVideo()
        send(63, &video, from: publisher, network)
        let pauses = publisher.pauseMessages.map(\.message)
        #expect(Set(pauses.map(\.ssrc)) == Set([ssrc(publisher, .video), ssrc(publisher, .audio)].compactMap { $0 }))
        #expect(pauses.allSatisfy { $0.kind == .pause && $0.pauseID == 0 })
        for type in MediaType.allCases {
            say(.paused(lastSequenceNumber: UInt32(video.sequence) - 1), 0, of: type, publisher)
        }
        network.deliverAll(publisher)
        network.run(for: .seconds(5 as Int64))
        #expect(publisher.pauseMessages.count == pauses.count && publisher.pictureLossIndications == 0)

        let joined = network.now
        _ = try network.view()
        network.run(for: .seconds(3 as Int64))
        let asked = publisher.pauseMessages.dropFirst(pauses.count)
        let videoFrames = asked.filter { $0.message.ssrc == ssrc(publisher, .video) }
        #expect(asked.allSatisfy { $0.message.kind == .resume } && videoFrames.count * 2 == asked.count)
        #expect(asked.first.map { $0.arrival - joined } == .milliseconds(10))
        // A slow source is not asked for more key frames than it sends anyway.
        #expect(videoFrames.count > 10 && publisher.pictureLossIndications == 1)
    }

    @Test("a source that resumes without a key frame is asked for one")
    func resumesWithoutKeyFrame() throws {
        let network = VirtualNetwork()
        let publisher = try publisher(network)
        var video = ScriptedVideo()
        send(63, &video, from: publisher, network)
        say(.paused(lastSequenceNumber: UInt32(video.sequence) - 1), 0, of: .video, publisher)
        network.deliverAll(publisher)
        network.run(for: .seconds(1 as Int64))
        let viewer = try network.view()
        network.run(for: .milliseconds(100))
        for _ in 0..<20 { video.send(from: publisher, by: network) }
        #expect((2...6).contains(publisher.pictureLossIndications))
        video.send(isKeyFrame: true, from: publisher, by: network)
        video.send(from: publisher, by: network)
        #expect(viewer.video.count == 2)
    }

    @Test("after a BYE for one of its streams, a publisher receives requests for the other only")
    func goodbye() throws {
        let network = VirtualNetwork()
        let publisher = try publisher(network)
        let audio = try #require(ssrc(publisher, .audio))
        var video = ScriptedVideo()
        send(5, &video, from: publisher, network)
        publisher.report { writer in
            writer.receiverReport(ssrc: audio)
            writer.goodbye(ssrc: audio)
        }
        send(100, &video, from: publisher, network)
        #expect(!publisher.pauseMessages.isEmpty)
        #expect(publisher.pauseMessages.allSatisfy { $0.message.ssrc != audio })
        #expect(network.endedReason(of: publisher.id) == nil)
    }

    @Test("a publisher that never pauses is asked once per second, and its media are forwarded to new viewers")
    func neverPauses() throws {
        let network = VirtualNetwork()
        let publisher = try publisher(network)
        var video = ScriptedVideo()
        send(600, &video, from: publisher, network)
        let videoFrames = publisher.pauseMessages.filter { $0.message.ssrc == ssrc(publisher, .video) }
        #expect((20...30).contains(videoFrames.count))
        let viewer = try network.view()
        send(20, &video, from: publisher, network)
        #expect(viewer.video.count > 10)
    }

    @Test("packets from before a pause are no longer requested")
    func abandonsMissing() throws {
        let network = VirtualNetwork()
        let publisher = try publisher(network)
        var video = ScriptedVideo()
        for _ in 0..<59 { video.send(from: publisher, by: network) }
        video.sequence &+= 5
        video.send(from: publisher, by: network)
        func requests() -> Int { publisher.hears { if case .negativeAcknowledgement = $0 { true } else { false } } }
        let before = requests()
        say(.paused(lastSequenceNumber: UInt32(video.sequence) - 1), 0, of: .video, publisher)
        network.deliverAll(publisher)
        network.run(for: .milliseconds(20))
        let after = requests()
        network.run(for: .seconds(2 as Int64))
        #expect(before > 0 && requests() == after)
    }

    @Test("a key frame is requested even if a list of lost packets would fill the report")
    func roomForKeyFrameRequest() throws {
        let network = VirtualNetwork()
        let publisher = try publisher(network)
        let viewer = try network.scriptViewer()
        var video = ScriptedVideo()
        video.send(from: publisher, by: network)
        #expect(network.run { viewer.isConnected })
        let before = publisher.pictureLossIndications
        network.run(for: .milliseconds(400))
        for number in 0..<7200 {
            if number % 18 == 17 { video.sequence &+= 1 }
            video.say(from: publisher)
        }
        network.injectUnpolled(publisher.takeQueue(), from: publisher)
        network.settleRelay()
        network.run(for: .milliseconds(20))
        #expect(publisher.pictureLossIndications > before)
        #expect(publisher.control.allSatisfy { $0.bytes.count <= 1200 })
    }
}

/// VP8 frames of one packet each, with sequence numbers and timestamps that the test chooses.
struct ScriptedVideo {
    var sequence: UInt16
    var timestamp: UInt32
    var ssrc: UInt32?
    /// The frames without their payload descriptors.
    private(set) var frames: [[UInt8]] = []
    private var count: UInt32 = 0

    init(sequence: UInt16 = 1000, timestamp: UInt32 = 90_000) {
        self.sequence = sequence
        self.timestamp = timestamp
    }

    /// Sends a frame and lets it arrive at the SFU.
    mutating func send(
        isKeyFrame: Bool = false, from peer: ScriptedPeer, by network: VirtualNetwork,
        interval: TimeSpan = .milliseconds(33)
    ) {
        say(isKeyFrame: isKeyFrame, from: peer)
        network.deliverAll(peer)
        network.run(for: interval)
    }

    mutating func say(isKeyFrame: Bool = false, from peer: ScriptedPeer) {
        let number = withUnsafeBytes(of: count.bigEndian) { Array($0) }
        let start: [UInt8] = isKeyFrame ? [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0xE0, 0x01] : [0x11, 2, 0]
        let frame = start + number + [UInt8](repeating: 7, count: 40)
        peer.say(.video, sequence: sequence, timestamp: timestamp, payload: [0x10] + frame, ssrc: ssrc)
        frames.append(frame)
        sequence &+= 1
        timestamp &+= 3000
        count += 1
    }

    mutating func sendPadding(from peer: ScriptedPeer, by network: VirtualNetwork) {
        peer.say(
            .video, sequence: sequence, timestamp: timestamp &- 3000, payload: [], marker: false, ssrc: ssrc,
            paddingSize: 200)
        sequence &+= 1
        network.deliverAll(peer)
    }
}
