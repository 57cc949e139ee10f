import PCastCore
import PCastRTMP
import PCastSRT
import PCastTestSupport
import Testing

/// MPEG-TS of encoders, also cut, damaged and with wrong times.
@Suite("MPEG transport streams")
struct TransportStreamTests {
    private typealias Builder = TransportStreamBuilder

    /// The events of a stream, and the demuxer after it.
    private func events(
        _ bytes: [UInt8], size: Int = 1_316, finishes: Bool = true
    ) -> (events: [RTMPServerEvent], demuxer: TransportStreamDemuxer) {
        var demuxer = TransportStreamDemuxer()
        var events: [RTMPServerEvent] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            demuxer.receive(bytes.span.extracting(start..<min(start + size, bytes.count))) { events.append($0) }
        }
        if finishes { demuxer.finish { events.append($0) } }
        return (events, demuxer)
    }

    private func units(_ events: [RTMPServerEvent], _ type: MediaType) -> [RTMPAccessUnit] {
        events.compactMap { event in
            if case .accessUnit(let unit) = event, unit.track.mediaType == type { unit } else { nil }
        }
    }

    private func warnings(_ events: [RTMPServerEvent]) -> [RTMPWarning] {
        events.compactMap { if case .warning(let warning) = $0 { warning } else { nil } }
    }

    /// A second of video with 25 frames per second, and of AAC in packets of two frames.
    private func example(from start: UInt64 = 90_000) -> Builder {
        var builder = Builder()
        builder.program([.h264, .aac])
        for index in 0..<25 as Range<UInt64> {
            let frame = index == 0 ? Builder.keyFrame(size: 2_000) : Builder.interFrame(size: 500)
            builder.media(.h264, frame, presentation: start &+ index * 3_600)
            let audio = Builder.adts([1, 2, UInt8(index)]) + Builder.adts([3, 4, UInt8(index)])
            builder.media(.aac, audio, presentation: start &+ index * 3_840, hasLength: true)
        }
        return builder
    }

    @Test(
        "video and audio are found with their times, in pieces of any size", arguments: [1, 187, 188, 1_316, 100_000])
    func media(size: Int) throws {
        let (events, demuxer) = events(example().bytes, size: size)
        let video = units(events, .video)
        let audio = units(events, .audio)
        #expect(video.count == 25)
        #expect(audio.count == 50)
        #expect(video.map(\.isKeyFrame) == [true] + [Bool](repeating: false, count: 24))
        #expect(video[1].presentationTime - video[0].presentationTime == .milliseconds(40))
        #expect(audio[1].bytes == [3, 4, 0])
        let step = audio[1].presentationTime - audio[0].presentationTime
        #expect((step - .nanoseconds(21_333_333)).magnitude < .microseconds(1))
        #expect(warnings(events) == [])
        #expect(demuxer.statistics.gaps == 0)
        let first = try #require(events.first)
        #expect(first == .metadata(RTMPStreamMetadata(videoTrackCount: 1, audioTrackCount: 1)))
    }

    @Test("audio tracks have the language and the purpose of their descriptors")
    func languages() throws {
        let descriptors: [[UInt8]] = [
            [0x0A, 4] + Array("ger".utf8) + [0],
            // Another descriptor precedes, and a second language follows.
            [0x52, 1, 7, 0x0A, 8] + Array("eng".utf8) + [3] + Array("fre".utf8) + [0],
            // Too short, and none.
            [0x0A, 3] + Array("ita".utf8), [],
        ]
        var builder = Builder()
        builder.program(
            [.h264]
                + descriptors.enumerated().map {
                    Builder.Stream(pid: 300 + UInt16($0), type: 0x0F, descriptors: $1)
                })
        let (events, _) = events(builder.bytes)
        guard case .metadata(let metadata)? = events.first else {
            Issue.record("no metadata")
            return
        }
        let tracks = (0..<4 as Range<UInt8>).compactMap { metadata.audioTracks[$0] }
        #expect(metadata.audioTracks.count == 4)
        #expect(tracks.map(\.language) == ["ger", "eng", nil, nil])
        #expect(tracks.map(\.describesVideo) == [false, true, false, false])
    }

    @Test("an access unit has its parameter sets, without delimiters")
    func parameterSets() throws {
        var builder = Builder()
        builder.program([.h264])
        builder.media(.h264, Builder.keyFrame(), presentation: 0)
        // A later key frame without parameter sets receives the known ones.
        builder.media(.h264, [0, 0, 1, 9, 0xF0, 0, 0, 1, 0x65, 0x88, 1], presentation: 3_600)
        let (events, _) = events(builder.bytes)
        let video = units(events, .video)
        #expect(video.count == 2)
        #expect(video.allSatisfy { $0.isKeyFrame && $0.bytes[4] == 0x67 })
        let configurations = events.filter { if case .configuration = $0 { true } else { false } }
        #expect(configurations.count == 1)
    }

    @Test("a lost packet costs its frame only")
    func loss() {
        let bytes = example().bytes
        // The second packet of the first frame: the tables have two packets.
        let damaged = Array(bytes[..<(3 * 188)] + bytes[(4 * 188)...])
        let (events, demuxer) = events(damaged)
        #expect(units(events, .video).count == 0, "without the key frame there are no parameter sets")
        #expect(units(events, .audio).count == 50)
        #expect(demuxer.statistics.gaps == 1)
        #expect(demuxer.statistics.droppedPackets == 1)
    }

    @Test("a packet that is sent twice counts once")
    func duplicates() {
        let bytes = example().bytes
        var doubled: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 188) {
            doubled += bytes[start..<start + 188] + bytes[start..<start + 188]
        }
        let (events, demuxer) = events(doubled)
        #expect(units(events, .video).count == 25)
        #expect(demuxer.statistics.gaps == 0)
    }

    @Test("garbage between packets is skipped")
    func garbage() {
        var builder = Builder()
        builder.append([UInt8](repeating: 0x47, count: 3) + [1, 2, 3])
        builder.program([.h264])
        builder.media(.h264, Builder.keyFrame(), presentation: 0)
        builder.append([0x47, 0, 9, 9])
        builder.media(.h264, Builder.interFrame(), presentation: 3_600)
        builder.media(.h264, Builder.keyFrame(), presentation: 7_200)
        builder.media(.h264, Builder.interFrame(), presentation: 10_800)
        let (events, demuxer) = events(builder.bytes)
        #expect(units(events, .video).map(\.presentationTime) == [.milliseconds(80), .milliseconds(120)])
        #expect(demuxer.statistics.synchronizationLosses >= 1)
    }

    @Test("times that wrap continue")
    func wrap() throws {
        let (events, _) = events(example(from: (1 << 33) - 40_000).bytes)
        let video = units(events, .video)
        #expect(video.count == 25)
        let last = try #require(video.last)
        #expect((last.presentationTime - video[0].presentationTime - .milliseconds(960)).magnitude < .microseconds(1))
        #expect(warnings(events) == [])
    }

    @Test("times that go back or jump ten hours are reported", arguments: [90_000 * 36_000, 0] as [UInt64])
    func jump(to time: UInt64) {
        var builder = example(from: 900_000)
        builder.media(.h264, Builder.interFrame(), presentation: time)
        let (events, _) = events(builder.bytes)
        let video = units(events, .video)
        #expect(video.last?.isDiscontinuity == true)
        #expect(warnings(events) == [.discontinuity(RTMPTrackID(.video))])
    }

    @Test("audio without a configuration in its headers is left out")
    func missingConfiguration() {
        var builder = Builder()
        builder.program([.aac])
        var frame = Builder.adts([1, 2, 3])
        // The channels are zero: only the frame itself describes them.
        frame[3] &= 0x3F
        builder.media(.aac, frame, presentation: 0, hasLength: true)
        builder.media(.aac, Builder.adts([4]), presentation: 3_600, hasLength: true)
        let (events, demuxer) = events(builder.bytes)
        #expect(units(events, .audio).map(\.bytes) == [[4]])
        #expect(warnings(events) == [.malformedConfiguration(RTMPTrackID(.audio))])
        #expect(demuxer.droppedCount == 1)
    }

    @Test("a frame of AAC may continue in the next packet")
    func dividedAudio() {
        var builder = Builder()
        builder.program([.aac])
        let frame = Builder.adts([UInt8](repeating: 7, count: 50))
        builder.media(.aac, Array(frame[..<20]), presentation: 90_000, hasLength: true)
        builder.media(.aac, Array(frame[20...]) + frame, presentation: 91_920, hasLength: true)
        let audio = units(events(builder.bytes).events, .audio)
        #expect(audio.map(\.bytes.count) == [50, 50])
        #expect(audio.map(\.presentationTime) == [.seconds(1), .nanoseconds(1_021_333_333)])
    }

    @Test("Opus is divided into its packets")
    func opus() {
        var builder = Builder()
        builder.program([.opus])
        let packets = Builder.opus([1, 2]) + Builder.opus([UInt8](repeating: 3, count: 600))
        builder.media(.opus, packets, presentation: 90_000, hasLength: true)
        let audio = units(events(builder.bytes).events, .audio)
        #expect(audio.map(\.bytes.count) == [3, 601])
        #expect(audio.map(\.presentationTime) == [.seconds(1), .milliseconds(1_020)])
    }

    @Test("codecs of video that cannot be forwarded are reported and left out")
    func unsupportedVideo() {
        var builder = Builder()
        let mpeg2 = Builder.Stream(pid: 259, type: 0x02)
        builder.program([mpeg2, .aac])
        builder.media(mpeg2, [0, 0, 1, 0xB3, 1], presentation: 0)
        builder.media(.aac, Builder.adts([4]), presentation: 0, hasLength: true)
        let (events, demuxer) = events(builder.bytes)
        #expect(units(events, .video) == [])
        #expect(units(events, .audio).count == 1)
        #expect(warnings(events) == [.unsupportedCodec(.video, "MPEG-2")])
        #expect(demuxer.droppedCount == 1)
    }

    @Test("the program may change")
    func change() {
        var builder = Builder()
        builder.program([.h264])
        builder.media(.h264, Builder.keyFrame(), presentation: 0)
        builder.program([.h264, .opus], version: 1)
        builder.media(.opus, Builder.opus([1]), presentation: 3_600, hasLength: true)
        builder.program([.opus], version: 2)
        builder.media(.opus, Builder.opus([2]), presentation: 7_200, hasLength: true)
        let (events, _) = events(builder.bytes)
        #expect(units(events, .video).count == 1)
        #expect(units(events, .audio).count == 2)
        #expect(events.contains(.trackEnded(RTMPTrackID(.video))))
    }

    @Test("a table with a wrong checksum is ignored")
    func checksum() {
        var bytes = example().bytes
        bytes[2 * 188 - 1] ^= 1
        let (events, demuxer) = events(bytes)
        #expect(events.isEmpty)
        #expect(demuxer.statistics.malformed == 1)
    }

    @Test("a frame without an end is dropped at a limit")
    func endless() {
        var builder = Builder()
        builder.program([.h264])
        builder.media(.h264, [UInt8](repeating: 0x5A, count: 5 << 20), presentation: 0)
        builder.media(.h264, Builder.keyFrame(), presentation: 3_600)
        let (events, demuxer) = events(builder.bytes)
        #expect(units(events, .video).count == 1)
        #expect(demuxer.statistics.droppedPackets == 1)
    }
}

/// The stream IDs of SRT clients.
@Suite("SRT stream IDs")
struct SRTStreamIDTests {
    @Test(
        "a plain text is the key of a publisher",
        arguments: ["key-1", "ingest/key-1", "/ingest/key-1", "publish:key-1"])
    func plain(_ text: String) throws {
        let id = try SRTStreamID(text)
        #expect(id.mode == .publish)
        #expect(id.credential == "key-1")
    }

    @Test("capabilities follow a plain key")
    func capabilities() throws {
        let id = try SRTStreamID("ingest/key-1;capabilities=audio-only,prefer-h264")
        #expect(id.credential == "key-1")
        #expect(id.capabilities == ["audio-only", "prefer-h264"])
    }

    @Test("the standard form has the key as the session, or else as the resource")
    func fields() throws {
        let id = try SRTStreamID("#!::r=studio,m=publish,u=me,s=DIGEST:eyJh=,capabilities=a;b")
        #expect(id.mode == .publish)
        #expect(id.resource == "studio")
        #expect(id.user == "me")
        #expect(id.credential == "DIGEST:eyJh=")
        #expect(id.capabilities == ["a", "b"])
        #expect(try SRTStreamID("#!::m=publish,r=ingest/key-1").credential == "key-1")
    }

    @Test("a client without a mode, or with “read”, receives")
    func request() throws {
        #expect(try SRTStreamID("#!::r=stream-1").mode == .request)
        let id = try SRTStreamID("read:stream-1")
        #expect(id.mode == .request)
        #expect(id.resource == "stream-1")
        #expect(id.credential == "")
    }

    @Test("other texts are rejected with their reason")
    func malformed() {
        #expect(throws: SRTStreamID.ParsingError.unsupportedMode) { try SRTStreamID("#!::m=bidirectional,r=a") }
        #expect(throws: SRTStreamID.ParsingError.unsupportedType) { try SRTStreamID("#!::t=file,m=publish,r=a") }
        for text in ["#!::r", "#!::=a", "#!::r=a,r=b", "#!:{r=a}", "a\u{1}", String(repeating: "a", count: 513)] {
            #expect(throws: SRTStreamID.ParsingError.malformed) { try SRTStreamID(text) }
        }
    }

    @Test("no secret is described")
    func description() throws {
        #expect(!"\(try SRTStreamID("key-secret"))".contains("secret"))
    }
}
