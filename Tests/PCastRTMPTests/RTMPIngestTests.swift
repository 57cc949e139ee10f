import PCastCore
import PCastRTMP
import Testing

@Suite struct RTMPIngestTests {
    private var ingest = RTMPIngest(
        clock: WallClockReference(instant: at(0), wallTime: WallTime(millisecondsSinceEpoch: 1_790_000_000_000)))
    private var tracks: [RTMPIngest.Tracks] = []
    private var frames: [(frame: EncodedFrame, layer: Int)] = []
    private var aac: [(bytes: [UInt8], time: TimeSpan, captureTime: WallTime)] = []
    private var findings: [IngestFinding] = []
    private var uplinks: [Bool] = []
    private var configurationChanges = 0

    private mutating func collect() {
        while let output = ingest.poll() {
            switch output {
            case .tracks(let tracks): self.tracks.append(tracks)
            case .frame(let frame, let layer): frames.append((frame, layer))
            case .aac(let bytes, let time, let captureTime): aac.append((bytes, time, captureTime))
            case .aacConfiguration: configurationChanges += 1
            case .finding(_, let finding): findings.append(finding)
            case .uplink(let isWeak): uplinks.append(isWeak)
            }
        }
    }

    /// Passes the events of a capture, in which each frame arrives at its decoding time.
    private mutating func pass(_ capture: Capture) {
        var session = RTMPServerSession(seed: 1, at: at(0))
        session.receive((RTMPTestClient.handshake + capture.bytes).span, at: at(0))
        var now = at(1)
        while let event = session.poll() {
            if case .publishRequested = event { session.acceptPublishing(at: at(0)) }
            if case .accessUnit(let unit) = event { now = max(now, at(1) + unit.decodingTime) }
            ingest.handle(event, at: now)
        }
        ingest.advance(to: now + .seconds(2))
        collect()
    }

    private mutating func handle(_ event: RTMPServerEvent, at seconds: Double = 1) {
        ingest.handle(event, at: at(seconds))
        collect()
    }

    private func unit(
        _ track: RTMPTrackID, _ codec: FourCC, _ milliseconds: Int64, bytes: [UInt8] = [1]
    ) -> RTMPServerEvent {
        var demuxer = RTMPMediaDemuxer(codecs: [codec])
        let isVideo = track.mediaType == .video
        let text = Array(codec.description.utf8)
        // Multitrack, one track; the record of AAC precedes its frames.
        let head: [UInt8] = [isVideo ? 0x96 : 0x95]
        var result: RTMPServerEvent?
        if codec == .aac {
            demuxer.handle(head + [0] + text + [track.number, 0x11, 0x90], track.mediaType, timestamp: 0) { _ in }
        }
        demuxer.handle(
            head + [1] + text + [track.number] + bytes, track.mediaType,
            timestamp: UInt32(milliseconds)
        ) { output in
            if case .accessUnit(let unit) = output { result = .accessUnit(unit) }
        }
        return result!
    }

    private static let aacConfiguration = RTMPCodecConfiguration.aac(AudioSpecificConfiguration([0x11, 0x90])!)
    private static let otherAACConfiguration = RTMPCodecConfiguration.aac(AudioSpecificConfiguration([0x12, 0x10])!)
    private let video = RTMPTrackID(.video)
    private let audio = RTMPTrackID(.audio)

    // MARK: Encoders

    @Test("FFmpeg: a layer of H.264 with AAC, in the order and with the distances of the encoder")
    mutating func ffmpeg() throws {
        pass(.ffmpeg)
        #expect(tracks.count == 1)
        #expect(tracks.first?.video == .h264 && tracks.first?.layers == [video])
        guard case .aac(let configuration)? = tracks.first?.audio else {
            Issue.record("no AAC")
            return
        }
        #expect(configuration.sampleRate == 48_000)
        #expect(frames.count == 10 && aac.count == 20)
        #expect(frames.first?.frame.isKeyFrame == true)
        #expect(findings == [.reorderedFrames])
        // Audio and video are on one clock: a frame has the same difference of media time and capture time.
        let origins =
            frames.map { $0.frame.captureTime! - $0.frame.timestamp.span } + aac.map { $0.captureTime - $0.time }
        let range = origins.map(\.nanosecondsSinceEpoch)
        #expect(range.max()! - range.min()! < 2_000_000)
        #expect(ingest.droppedCount == 0)
    }

    @Test("FFmpeg: two H.264 tracks are two layers")
    mutating func multitrack() {
        pass(.multitrack)
        #expect(tracks.first?.layers == [video, RTMPTrackID(.video, 1)])
        #expect(frames.count { $0.layer == 0 } == 8 && frames.count { $0.layer == 1 } == 8)
        #expect(findings.isEmpty)
    }

    @Test("FFmpeg: Opus is forwarded beside video that cannot be")
    mutating func enhanced() {
        pass(.enhanced)
        #expect(tracks.first == RTMPIngest.Tracks(video: nil, layers: [], audio: .opus))
        #expect(frames.count == 21 && frames.allSatisfy { $0.frame.codec == .opus })
        #expect(ingest.droppedCount == 10)
    }

    @Test("GStreamer and OBS: no frame is lost", arguments: [Capture.gstreamer, .obs])
    mutating func others(capture: Capture) {
        pass(capture)
        #expect(tracks.first?.video == .h264)
        #expect(frames.count >= 7 && frames[0].frame.isKeyFrame && aac.count >= 10)
        #expect(ingest.droppedCount == 0)
    }

    // MARK: Announcement

    @Test("frames are held until audio and video are known")
    mutating func held() {
        handle(.configuration(video, .other(.vp8, [])))
        handle(unit(video, .vp8, 0))
        handle(unit(video, .vp8, 40))
        #expect(tracks.isEmpty && frames.isEmpty)
        handle(.configuration(audio, Self.aacConfiguration))
        handle(unit(audio, .aac, 40))
        #expect(tracks.count == 1 && frames.count == 2 && aac.count == 1)
    }

    @Test("a stream without audio begins after a second, or at once if its publisher declared so")
    mutating func withoutAudio() throws {
        handle(.configuration(video, .other(.vp8, [])))
        handle(unit(video, .vp8, 0), at: 1)
        #expect(ingest.deadline == at(2))
        ingest.advance(to: at(1.9))
        collect()
        #expect(tracks.isEmpty)
        ingest.advance(to: at(2))
        collect()
        #expect(tracks == [RTMPIngest.Tracks(video: .vp8, layers: [video], audio: nil)])
        #expect(frames.count == 1 && ingest.deadline == nil)
        // Audio that begins later does not belong to the stream.
        handle(.configuration(audio, Self.aacConfiguration))
        handle(unit(audio, .aac, 3_000), at: 4)
        #expect(aac.isEmpty && tracks.count == 1 && ingest.droppedCount == 1)
    }

    @Test("a declared stream begins when all of its tracks are known")
    mutating func declared() throws {
        var client = try RTMPTestClient.publishing()
        let object: AMF0Object = [
            "width": .number(640), "videoTrackIdInfoMap": .object(["1": .object(["width": .number(320)])]),
        ]
        try client.send(
            RTMPMessage(
                type: .data, streamID: 1, payload: AMF0Writer.bytes([.string("onMetaData"), .object(object)])))
        for event in client.events { handle(event) }
        handle(.configuration(video, .other(.vp8, [])))
        handle(unit(video, .vp8, 0))
        #expect(tracks.isEmpty)
        let second = RTMPTrackID(.video, 1)
        handle(.configuration(second, .other(.vp8, [])))
        handle(unit(second, .vp8, 0))
        #expect(tracks == [RTMPIngest.Tracks(video: .vp8, layers: [video, second], audio: nil)])
        #expect(frames.map(\.layer) == [0, 1])
    }

    @Test("the size of the frames that are held is limited")
    mutating func heldSize() {
        handle(.configuration(video, .other(.vp8, [])))
        let large = [UInt8](repeating: 1, count: 1_024 * 1_024)
        for step in 0..<Int64(8) { handle(unit(video, .vp8, step, bytes: large)) }
        #expect(tracks.isEmpty)
        handle(unit(video, .vp8, 9))
        #expect(tracks.count == 1 && frames.count == 9)
    }

    @Test("a stream of which nothing can be forwarded does not begin, and keeps nothing")
    mutating func nothingUsable() {
        handle(.configuration(video, .other(.av1, [])))
        for step in 0..<Int64(100) { handle(unit(video, .vp9, step * 40), at: 1 + Double(step) / 25) }
        ingest.advance(to: at(10))
        collect()
        #expect(tracks.isEmpty && frames.isEmpty && ingest.droppedCount == 100 && ingest.deadline == nil)
    }

    @Test("another configuration of the AAC is reported to the transcoder")
    mutating func configurationChange() {
        handle(.configuration(video, .other(.vp8, [])))
        handle(.configuration(audio, Self.aacConfiguration))
        handle(unit(audio, .aac, 0))
        #expect(tracks.count == 1 && configurationChanges == 0)
        handle(.configuration(audio, Self.otherAACConfiguration))
        #expect(configurationChanges == 1)
    }
}
