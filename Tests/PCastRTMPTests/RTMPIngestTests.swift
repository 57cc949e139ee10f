import PCastCore
import PCastRTMP
import Testing

@Suite struct RTMPIngestTests {
    private var ingest = RTMPIngest(
        clock: WallClockReference(instant: at(0), wallTime: WallTime(millisecondsSinceEpoch: 1_790_000_000_000)))
    private var tracks: [RTMPIngest.Tracks] = []
    private var frames: [(frame: EncodedFrame, layer: Int)] = []
    private var aac: [(bytes: [UInt8], track: Int, time: TimeSpan, captureTime: WallTime)] = []
    private var findings: [IngestFinding] = []
    private var uplinks: [Bool] = []
    /// The tracks whose configurations changed.
    private var configurationChanges: [Int] = []

    private mutating func collect() {
        while let output = ingest.poll() {
            switch output {
            case .tracks(let tracks): self.tracks.append(tracks)
            case .frame(let frame, let layer): frames.append((frame, layer))
            case .aac(let bytes, let track, let time, let captureTime):
                aac.append((bytes, track, time, captureTime))
            case .aacConfiguration(_, let track): configurationChanges.append(track)
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
    private let opus = [RTMPIngest.AudioTrack(id: RTMPTrackID(.audio), audio: .opus)]

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

    @Test("FFmpeg: H.265 and Opus are forwarded, and B-frames are reported")
    mutating func enhanced() {
        pass(.enhanced)
        #expect(tracks.first == RTMPIngest.Tracks(video: .h265, layers: [video], audioTracks: opus))
        #expect(frames.count { $0.frame.codec == .h265 } == 10 && frames.count { $0.frame.codec == .opus } == 21)
        #expect(findings == [.reorderedFrames])
        #expect(ingest.droppedCount == 0)
    }

    @Test("FFmpeg: AV1 is forwarded, and its key frames have a sequence header")
    mutating func av1() {
        pass(.av1)
        #expect(tracks.first == RTMPIngest.Tracks(video: .av1, layers: [video], audioTracks: opus))
        let units = frames.map(\.frame).filter { $0.codec == .av1 }
        #expect(units.map(\.isKeyFrame) == [true, false, false, false, false, true, false, false])
        #expect(units.filter(\.isKeyFrame).allSatisfy { $0.bytes.starts(with: [0x0A, 11]) })
        // The encoder writes temporal delimiters, which RTP does not have.
        #expect(units.allSatisfy { !$0.bytes.starts(with: [0x12, 0]) })
        #expect(findings.isEmpty && ingest.droppedCount == 0)
    }

    @Test("FFmpeg: VP9 is forwarded beside AAC")
    mutating func vp9() {
        pass(.vp9)
        #expect(tracks.first?.video == .vp9 && tracks.first?.layers == [video])
        #expect(frames.map(\.frame.isKeyFrame) == [true, false, false, false, false, true, false, false])
        #expect(frames.allSatisfy { $0.frame.codec == .vp9 } && aac.count >= 10)
        #expect(findings.isEmpty && ingest.droppedCount == 0)
    }

    @Test("FFmpeg: two tracks of H.265 are two layers, whose key frames have the parameter sets of their track")
    mutating func layersOfH265() {
        pass(.hevcTracks)
        #expect(
            tracks.first
                == RTMPIngest.Tracks(video: .h265, layers: [video, RTMPTrackID(.video, 1)], audioTracks: opus))
        var sets: [[UInt8]] = []
        for layer in 0..<2 {
            let units = frames.filter { $0.layer == layer && $0.frame.codec == .h265 }.map(\.frame)
            #expect(units.map(\.isKeyFrame) == [true, false, false, false, true, false, false, false])
            #expect(units.filter(\.isKeyFrame).allSatisfy { $0.bytes.starts(with: [0, 0, 0, 1, 0x40, 1]) })
            sets.append(Array(units[0].bytes.prefix(80)))
        }
        #expect(sets[0] != sets[1], "the layers have different sizes")
        #expect(findings.isEmpty && ingest.droppedCount == 0)
    }

    @Test("tracks with another codec than the first one are left out")
    mutating func mixedCodecs() {
        let (second, third) = (RTMPTrackID(.video, 1), RTMPTrackID(.video, 2))
        for track in [third, second] { handle(.configuration(track, .other(.vp8, []))) }
        handle(.configuration(video, .other(.vp9, [])))
        handle(unit(video, .vp9, 0, bytes: [0x82]))
        handle(unit(second, .vp8, 0))
        ingest.advance(to: at(3))
        collect()
        #expect(
            tracks == [RTMPIngest.Tracks(video: .vp9, layers: [video], omitted: [second, third], audioTracks: [])])
        #expect(frames.map(\.frame.codec) == [.vp9] && ingest.droppedCount == 1)
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
        #expect(tracks == [RTMPIngest.Tracks(video: .vp8, layers: [video], audioTracks: [])])
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
        #expect(tracks == [RTMPIngest.Tracks(video: .vp8, layers: [video, second], audioTracks: [])])
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
        handle(.configuration(audio, .other(.mp3, [])))
        for step in 0..<Int64(100) { handle(unit(audio, .mp3, step * 40), at: 1 + Double(step) / 25) }
        ingest.advance(to: at(10))
        collect()
        #expect(tracks.isEmpty && frames.isEmpty && ingest.droppedCount == 100 && ingest.deadline == nil)
    }

    @Test("another configuration of the AAC is reported to the transcoder")
    mutating func configurationChange() {
        handle(.configuration(video, .other(.vp8, [])))
        handle(.configuration(audio, Self.aacConfiguration))
        handle(unit(audio, .aac, 0))
        #expect(tracks.count == 1 && configurationChanges.isEmpty)
        handle(.configuration(audio, Self.otherAACConfiguration))
        #expect(configurationChanges == [0])
    }

    // MARK: Audio tracks

    private func audioTrack(_ number: UInt8) -> RTMPTrackID { RTMPTrackID(.audio, number) }

    @Test("each audio track has its language, its own configuration and its own frames, on one clock")
    mutating func languages() throws {
        handle(
            .metadata(
                RTMPStreamMetadata(
                    videoTrackCount: 1,
                    audio: [
                        .init(language: "eng"), .init(language: "ger"), .init(language: "eng", describesVideo: true),
                    ])))
        handle(.configuration(video, .other(.vp8, [])))
        handle(unit(video, .vp8, 0))
        handle(.configuration(audioTrack(0), Self.aacConfiguration))
        handle(.configuration(audioTrack(2), .opus(.stereo)))
        handle(.configuration(audioTrack(1), Self.otherAACConfiguration))
        #expect(tracks.isEmpty)
        handle(unit(audioTrack(0), .aac, 20))
        handle(unit(audioTrack(1), .aac, 20))
        handle(unit(audioTrack(2), .opus, 20))
        let found = try #require(tracks.first).audioTracks
        #expect(found.map(\.id) == [audioTrack(0), audioTrack(1), audioTrack(2)])
        #expect(found.map(\.description.language?.description) == ["en", "de", "en"])
        #expect(found.map(\.description.describesVideo) == [false, false, true])
        #expect(found[2].audio == .opus && tracks.first?.audio == found[0].audio)
        #expect(aac.map(\.track) == [0, 1] && Set(aac.map(\.captureTime)).count == 1)
        let packets = frames.filter { $0.frame.codec == .opus }
        #expect(packets.map(\.layer) == [2])
        #expect(packets.first?.frame.captureTime == aac.first?.captureTime)
        handle(.configuration(audioTrack(1), Self.aacConfiguration))
        #expect(configurationChanges == [1])
    }

    @Test("the metadata of Enhanced RTMP states the languages of its tracks")
    mutating func multitrackLanguages() throws {
        var client = try RTMPTestClient.publishing()
        let object: AMF0Object = [
            "audiosamplerate": .number(48_000), "language": .string("en-gb"),
            "audioTrackIdInfoMap": .object([
                "1": .object(["language": .string("de")]), "2": .object(["language": .string("a language")]),
            ]),
        ]
        try client.send(
            RTMPMessage(
                type: .data, streamID: 1, payload: AMF0Writer.bytes([.string("onMetaData"), .object(object)])))
        for event in client.events { handle(event) }
        for number in 0..<3 as Range<UInt8> { handle(.configuration(audioTrack(number), Self.aacConfiguration)) }
        handle(unit(audioTrack(2), .aac, 0))
        let found = try #require(tracks.first).audioTracks
        #expect(found.map(\.description.language?.description) == ["en-GB", "de", nil])
    }

    @Test("the frames of audio tracks beyond the eighth are dropped")
    mutating func manyAudioTracks() {
        handle(.metadata(RTMPStreamMetadata(videoTrackCount: 0, audioTrackCount: 10)))
        for number in 0..<10 as Range<UInt8> { handle(.configuration(audioTrack(number), Self.aacConfiguration)) }
        for number in 0..<10 as Range<UInt8> { handle(unit(audioTrack(number), .aac, 0)) }
        #expect(tracks.map(\.audioTracks.count) == [8])
        #expect(aac.map(\.track) == Array(0..<8) && ingest.droppedCount == 2)
    }
}
