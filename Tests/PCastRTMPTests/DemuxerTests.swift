import PCastCore
import PCastRTMP
import Testing

@Suite struct DemuxerTests {
    private var demuxer = RTMPMediaDemuxer(codecs: [.h264, .hevc, .av1, .vp9, .vp8, .aac, .opus])

    private mutating func video(_ payload: [UInt8], _ timestamp: UInt32 = 0) -> [RTMPMediaDemuxer.Output] {
        var outputs: [RTMPMediaDemuxer.Output] = []
        demuxer.handle(payload, .video, timestamp: timestamp) { outputs.append($0) }
        return outputs
    }

    private mutating func audio(_ payload: [UInt8], _ timestamp: UInt32 = 0) -> [RTMPMediaDemuxer.Output] {
        var outputs: [RTMPMediaDemuxer.Output] = []
        demuxer.handle(payload, .audio, timestamp: timestamp) { outputs.append($0) }
        return outputs
    }

    private func unit(_ outputs: [RTMPMediaDemuxer.Output]) -> RTMPAccessUnit? {
        for case .accessUnit(let unit) in outputs { return unit }
        return nil
    }

    private static let fourCCs: [String: [UInt8]] = [
        "avc1": Array("avc1".utf8), "hvc1": Array("hvc1".utf8), "av01": Array("av01".utf8),
        "vp09": Array("vp09".utf8), "vp08": Array("vp08".utf8), "Opus": Array("Opus".utf8),
        "mp4a": Array("mp4a".utf8),
    ]
    private static func code(_ name: String) -> [UInt8] { fourCCs[name]! }

    // MARK: H.264

    @Test("H.264 becomes Annex B, with the parameter sets of the header before key frames")
    mutating func h264() throws {
        let outputs = video(Media.h264Configuration)
        guard case .configuration(let track, .h264(let configuration))? = outputs.first else {
            Issue.record("\(outputs)")
            return
        }
        #expect(track == RTMPTrackID(.video))
        #expect(configuration.parameterSets == Media.parameterSets)
        let key = try #require(unit(video(Media.h264([Media.idr], isKeyFrame: true), 40)))
        #expect(key.bytes == Media.parameterSets + Media.annexB([Media.idr]))
        #expect(key.isKeyFrame && !key.isDiscontinuity)
        let other = try #require(unit(video(Media.h264([Media.slice, Media.slice], isKeyFrame: false), 80)))
        #expect(other.bytes == Media.annexB([Media.slice, Media.slice]))
        #expect(!other.isKeyFrame)
    }

    @Test("parameter sets are not repeated, and follow an access unit delimiter")
    mutating func parameterSetOrder() {
        _ = video(Media.h264Configuration)
        let own = [Media.sequenceSet, Media.pictureSet, Media.idr]
        #expect(unit(video(Media.h264(own, isKeyFrame: true)))?.bytes == Media.annexB(own))
        let delimited = [Media.delimiter, Media.idr]
        #expect(
            unit(video(Media.h264(delimited, isKeyFrame: true)))?.bytes
                == Media.annexB([Media.delimiter]) + Media.parameterSets + Media.annexB([Media.idr]))
    }

    @Test("a key frame is one with an IDR slice, whatever the encoder marks")
    mutating func keyFrames() {
        _ = video(Media.h264Configuration)
        #expect(unit(video(Media.h264([Media.slice], isKeyFrame: true)))?.isKeyFrame == false)
        #expect(unit(video(Media.h264([Media.idr], isKeyFrame: false)))?.isKeyFrame == true)
    }

    @Test(
        "the presentation time is the decoding time with the composition offset",
        arguments: [0, 80, -40, -8_388_608])
    mutating func compositionOffset(offset: Int) throws {
        _ = video(Media.h264Configuration)
        let frame = try #require(unit(video(Media.h264([Media.slice], isKeyFrame: false, offset: offset), 100)))
        #expect(frame.decodingTime == .milliseconds(100))
        #expect(frame.presentationTime == .milliseconds(100 + Int64(offset)))
    }

    @Test("start codes in place of lengths are accepted")
    mutating func startCodes() {
        _ = video(Media.h264Configuration)
        for startCode: [UInt8] in [[0, 0, 0, 1], [0, 0, 1]] {
            let frame = unit(video([0x17, 1, 0, 0, 0] + startCode + Media.idr))
            #expect(frame?.bytes == Media.parameterSets + Media.annexB([Media.idr]))
        }
    }

    @Test("a configuration is reported once, and again when it changes")
    mutating func changes() {
        #expect(video(Media.h264Configuration).count == 1)
        #expect(video(Media.h264Configuration).isEmpty)
        var other = Media.h264Configuration
        other[other.count - 1] = 0x90
        #expect(video(other).count == 1)
    }

    // MARK: Bad video

    @Test("frames without a configuration are dropped, and this is reported once")
    mutating func missingConfiguration() {
        let frame = Media.h264([Media.idr], isKeyFrame: true)
        #expect(video(frame) == [.warning(.missingConfiguration(RTMPTrackID(.video)))])
        #expect(video(frame).isEmpty)
        #expect(audio(Media.aac([1])) == [.warning(.missingConfiguration(RTMPTrackID(.audio)))])
        #expect(demuxer.droppedCount == 3)
    }

    @Test(
        "a malformed configuration is reported, and the previous one stays valid",
        arguments: [[], [2, 0, 0, 0, 0, 0, 0], [1, 0x42, 0, 0x1F, 0xFF, 0xE0, 0]] as [[UInt8]])
    mutating func malformedConfiguration(record: [UInt8]) {
        _ = video(Media.h264Configuration)
        #expect(
            video([0x17, 0, 0, 0, 0] + record) == [.warning(.malformedConfiguration(RTMPTrackID(.video)))])
        #expect(unit(video(Media.h264([Media.idr], isKeyFrame: true))) != nil)
    }

    @Test(
        "a frame whose lengths exceed it is dropped",
        arguments: [[0, 0, 0, 9, 0x65], [0, 0, 0], [0, 0, 0, 1, 0x65, 0xFF]] as [[UInt8]])
    mutating func malformedFrame(data: [UInt8]) {
        _ = video(Media.h264Configuration)
        // The last example begins with a start code by chance.
        let isAnnexB = data.starts(with: [0, 0, 0, 1])
        let outputs = video([0x17, 1, 0, 0, 0] + data)
        #expect(isAnnexB == (unit(outputs) != nil))
        if !isAnnexB { #expect(outputs == [.warning(.malformedFrame(RTMPTrackID(.video)))]) }
    }

    @Test("empty messages, empty frames and commands for seeking have no effect")
    mutating func withoutMedia() {
        _ = video(Media.h264Configuration)
        for payload: [UInt8] in [[], [0x57, 0], [0xD0, 0], [0x17, 1, 0, 0, 0]] { #expect(video(payload).isEmpty) }
        #expect(audio([]).isEmpty)
        #expect(demuxer.droppedCount == 0)
    }

    @Test("unsupported codecs are named", arguments: [(0x12, "Sorenson H.263"), (0x14, "VP6")] as [(UInt8, String)])
    mutating func unsupportedVideo(first: UInt8, name: String) {
        #expect(video([first, 0, 0, 0, 0]) == [.warning(.unsupportedCodec(.video, name))])
    }

    @Test("a codec that the configuration excludes is unsupported")
    mutating func excludedCodec() {
        demuxer = RTMPMediaDemuxer(codecs: [.h264])
        #expect(audio(Media.aacConfiguration) == [.warning(.unsupportedCodec(.audio, "mp4a"))])
    }

    // MARK: Audio

    @Test("AAC has a configuration and frames")
    mutating func aac() throws {
        guard case .configuration(let track, .aac(let configuration))? = audio(Media.aacConfiguration).first else {
            Issue.record("no configuration")
            return
        }
        #expect(track == RTMPTrackID(.audio))
        #expect(configuration.sampleRate == 48_000 && configuration.channels == 2)
        let frame = try #require(unit(audio(Media.aac([1, 2, 3]), 21)))
        #expect(frame.bytes == [1, 2, 3] && frame.isKeyFrame && frame.decodingTime == .milliseconds(21))
        #expect(frame.encodedFrame(captureTime: nil) == nil)
    }

    @Test("Opus has a header, which may be empty or missing")
    mutating func opus() throws {
        let header = Array("OpusHead".utf8) + [1, 1, 0x38, 1, 0x80, 0xBB, 0, 0, 0, 0, 0]
        guard case .configuration(_, .opus(let configuration))? = audio([0x90] + Self.code("Opus") + header).first
        else {
            Issue.record("no configuration")
            return
        }
        #expect(configuration.channels == 1 && configuration.preSkip == 312)
        let frame = try #require(unit(audio([0x91] + Self.code("Opus") + [0xFC, 1], 20)))
        #expect(frame.bytes == [0xFC, 1])
        let encoded = try #require(frame.encodedFrame(captureTime: nil))
        #expect(encoded.codec == .opus && encoded.timestamp == MediaTime(ticks: 960, rate: .opus))
        var other = DemuxerTests()
        #expect(
            other.audio([0x91] + Self.code("Opus") + [0xFC, 1]).first
                == .configuration(RTMPTrackID(.audio), .opus(.stereo)))
        #expect(audio([0x90] + Self.code("Opus") + [1, 2]) == [.warning(.malformedConfiguration(RTMPTrackID(.audio)))])
    }

    @Test("unsupported audio is named", arguments: [(0xB2, "Speex"), (0x72, "G.711")] as [(UInt8, String)])
    mutating func unsupportedAudio(first: UInt8, name: String) {
        #expect(audio([first, 0]) == [.warning(.unsupportedCodec(.audio, name))])
    }

    // MARK: Enhanced RTMP

    @Test("H.264 by its four characters has a composition offset only in CodedFrames")
    mutating func enhancedH264() throws {
        _ = video([0x90] + Self.code("avc1") + Media.record)
        let coded = try #require(
            unit(video([0x91] + Self.code("avc1") + [0, 0, 80] + Media.units([Media.idr]), 40)))
        #expect(coded.presentationTime == .milliseconds(120))
        #expect(coded.bytes == Media.parameterSets + Media.annexB([Media.idr]))
        let codedX = try #require(unit(video([0xA3] + Self.code("avc1") + Media.units([Media.slice]), 80)))
        #expect(codedX.presentationTime == .milliseconds(80) && !codedX.isKeyFrame)
    }

    @Test("VP8 and VP9 have no composition offset", arguments: ["vp08", "vp09"])
    mutating func vpx(code: String) throws {
        #expect(video([0x90] + Self.code(code) + [1, 2]).count == 1)
        let frame = try #require(unit(video([0x91] + Self.code(code) + [0x82, 0, 1], 40)))
        #expect(frame.bytes == [0x82, 0, 1] && frame.isKeyFrame && frame.presentationTime == .milliseconds(40))
        #expect(frame.encodedFrame(captureTime: nil)?.codec == (code == "vp08" ? .vp8 : .vp9))
    }

    @Test(
        "a key frame of VP9 is one by its header, whatever the encoder marks",
        arguments: [
            // The profiles 0, 2, 1 and 3: key frames, frames that depend on others, and frames that are shown again.
            (0x82, true), (0x86, false), (0x8A, false), (0x92, true), (0x96, false), (0xA2, true), (0xA6, false),
            (0xB1, true), (0xB3, false), (0xB5, false),
        ] as [(UInt8, Bool)])
    mutating func keyFramesOfVP9(first: UInt8, isKeyFrame: Bool) throws {
        for mark: UInt8 in [0x91, 0xA1] {
            let frame = try #require(unit(video([mark] + Self.code("vp09") + [first, 1], 0)))
            #expect(frame.isKeyFrame == isKeyFrame)
        }
    }

    @Test("a frame of VP9 without its marker is malformed")
    mutating func malformedVP9() {
        #expect(
            video([0x91] + Self.code("vp09") + [0x42, 1]).contains(.warning(.malformedFrame(RTMPTrackID(.video)))))
        #expect(demuxer.droppedCount == 1)
    }

    // MARK: AV1

    /// A sequence header of 64x48, as SVT-AV1 writes it, and one of another color description.
    private static let header: [UInt8] = [0x0A, 11, 2, 0, 0, 4, 0x95, 0x7F, 0xBC, 2, 0xF8, 0, 0x40]
    private static let otherHeader: [UInt8] = [0x0A, 11, 2, 0, 0, 4, 0x95, 0x7F, 0xBC, 0x4A, 0xF9, 0, 0x40]
    private static let record: [UInt8] = [0x81, 0, 0x0C, 0] + header
    private static let delimiter: [UInt8] = [0x12, 0]
    private static let keyFrame: [UInt8] = [0x32, 3, 0x10, 1, 2]
    private static let interFrame: [UInt8] = [0x32, 2, 0x30, 1]

    @Test("a key frame of AV1 has the sequence header of the record, if it has none of its own")
    mutating func av1() throws {
        #expect(video([0x90] + Self.code("av01") + Self.record).count == 1)
        let first = try #require(unit(video([0xA1] + Self.code("av01") + Self.delimiter + Self.keyFrame, 40)))
        #expect(first.bytes == Self.header + Self.keyFrame && first.isKeyFrame)
        #expect(first.presentationTime == .milliseconds(40))
        #expect(first.encodedFrame(captureTime: nil)?.codec == .av1)
        let second = try #require(
            unit(video([0x93] + Self.code("av01") + Self.otherHeader + Self.keyFrame + Self.interFrame, 80)))
        #expect(second.bytes == Self.otherHeader + Self.keyFrame + Self.interFrame && second.isKeyFrame)
        // The mark of the encoder does not count, nor do frames that are not shown or are shown again.
        for contents: UInt8 in [0x30, 0x00, 0x90, 0x50] {
            let frame = try #require(unit(video([0x91] + Self.code("av01") + [0x1A, 1, contents], 120)))
            #expect(frame.bytes == [0x1A, 1, contents] && !frame.isKeyFrame)
        }
        // The last unit may have no size.
        let last = try #require(unit(video([0x91] + Self.code("av01") + [0x30, 0x10, 1, 2], 160)))
        #expect(last.bytes == Self.header + [0x30, 0x10, 1, 2] && last.isKeyFrame)
    }

    @Test("a record of AV1 may have no sequence header, and metadata beside it")
    mutating func recordsOfAV1() throws {
        #expect(video([0x90] + Self.code("av01") + [0x81, 0, 0x0C, 0]).count == 1)
        let frame = try #require(unit(video([0x91] + Self.code("av01") + Self.keyFrame)))
        #expect(frame.bytes == Self.keyFrame && frame.isKeyFrame)
        #expect(video([0x90] + Self.code("av01") + [0x81, 0, 0x0C, 0, 0x2A, 1, 9] + Self.header).count == 1)
        let other = try #require(unit(video([0x91] + Self.code("av01") + Self.keyFrame)))
        #expect(other.bytes == Self.header + Self.keyFrame)
    }

    @Test(
        "a malformed record of AV1 is reported",
        arguments: [[], [0x81, 0, 0x0C], [0x01, 0, 0x0C, 0], [0x82, 0, 0x0C, 0], [0x81, 0, 0x0C, 0, 0x0A, 11, 2]]
            as [[UInt8]])
    mutating func malformedRecordOfAV1(record: [UInt8]) {
        #expect(
            video([0x90] + Self.code("av01") + record) == [.warning(.malformedConfiguration(RTMPTrackID(.video)))])
    }

    @Test(
        "a malformed frame of AV1 is dropped",
        arguments: [
            // Only a delimiter, a size beyond the data, one that never ends, the forbidden bit, no extension.
            [0x12, 0], [0x32, 4, 0x10, 1, 2], [0x32] + [UInt8](repeating: 0x80, count: 9), [0xB2, 1, 0x10], [0x36],
        ] as [[UInt8]])
    mutating func malformedFrameOfAV1(data: [UInt8]) {
        #expect(video([0x90] + Self.code("av01") + Self.record).count == 1)
        #expect(
            video([0x91] + Self.code("av01") + data) == [.warning(.malformedFrame(RTMPTrackID(.video)))])
        #expect(demuxer.droppedCount == 1)
    }

    @Test("one message may contain several tracks, with one codec or with several")
    mutating func tracks() {
        func size(_ data: [UInt8]) -> [UInt8] { [0, 0, UInt8(data.count)] }
        let body: [UInt8] = [0, 0, 0] + Media.units([Media.idr])
        // Multitrack (6), one track (0), sequence start (0).
        #expect(video([0x96, 0x00] + Self.code("avc1") + [2] + Media.record).count == 1)
        #expect(
            video(
                [0x96, 0x10] + Self.code("avc1") + [0] + size(Media.record) + Media.record + [1] + size(Media.record)
                    + Media.record
            ).count == 2)
        let frames = video(
            [0x96, 0x11] + Self.code("avc1") + [0] + size(body) + body + [2] + size(body) + body, 40)
        #expect(
            frames.compactMap { unit([$0])?.track } == [RTMPTrackID(.video, 0), RTMPTrackID(.video, 2)])
        let mixed = video(
            [0x96, 0x21] + Self.code("avc1") + [1] + size(body) + body + Self.code("vp08") + [5] + size([1]) + [1])
        #expect(mixed.compactMap { unit([$0])?.codec } == [.h264, .vp8])
        let audioBody: [UInt8] = [0xFC]
        let packets = audio(
            [0x95, 0x11] + Self.code("Opus") + [0] + size(audioBody) + audioBody + [1] + size(audioBody) + audioBody)
        #expect(packets.compactMap { unit([$0])?.track } == [RTMPTrackID(.audio, 0), RTMPTrackID(.audio, 1)])
    }

    @Test("ModEx adds nanoseconds to the timestamp, and other modifications are skipped")
    mutating func modifications() throws {
        let nanoseconds: [UInt8] = [2, 0x07, 0xA1, 0x20, 0x01]
        let frame = try #require(unit(video([0x97] + nanoseconds + Self.code("vp08") + [1], 10)))
        #expect(frame.decodingTime == .milliseconds(10) + .nanoseconds(500_000))
        // An unknown modification of 256 bytes, whose size has 16 more bits, before the nanoseconds.
        let unknown: [UInt8] = [0xFF, 0, 0xFF] + [UInt8](repeating: 9, count: 256) + [0x17]
        let other = try #require(unit(video([0x97] + unknown + nanoseconds + Self.code("vp08") + [1], 10)))
        #expect(other.decodingTime == frame.decodingTime)
        // A millisecond or more is invalid, and ignored.
        let tooLong = try #require(unit(video([0x97, 2, 0x0F, 0x42, 0x40, 1] + Self.code("vp08") + [1], 10)))
        #expect(tooLong.decodingTime == .milliseconds(10))
    }

    @Test("color metadata and channel layouts are ignored, and the end of a track is reported")
    mutating func otherPackets() {
        _ = video([0x90] + Self.code("av01") + [1])
        #expect(video([0x94] + Self.code("av01") + [2, 0, 0]).isEmpty)
        #expect(video([0xD4] + Self.code("av01") + [2, 0, 0]).isEmpty)
        #expect(audio([0x94] + Self.code("Opus") + [1, 2, 0, 0, 0, 3]).isEmpty)
        #expect(video([0x92] + Self.code("av01")) == [.ended(RTMPTrackID(.video))])
        #expect(video([0x17, 2, 0, 0, 0]) == [.ended(RTMPTrackID(.video))])
    }

    @Test(
        "malformed messages are dropped",
        arguments: [
            [0x17], [0x17, 1, 0], [0x17, 9, 0, 0, 0], [0x91], [0x91, 0x61, 0x76], [0x9F, 0, 0, 0, 0],
            // Truncated modifications, and tracks within tracks.
            [0x97], [0x97, 0xFF, 0], [0x97, 3, 1], [0x96, 0x06, 0, 0, 0, 0, 0], [0x96, 0x31, 0, 0, 0, 0, 0],
            // A track that is larger than its message.
            [0x96, 0x11, 0x61, 0x76, 0x63, 0x31, 0, 0, 0, 9, 1],
        ] as [[UInt8]])
    mutating func malformed(payload: [UInt8]) {
        #expect(video(payload) == [.warning(.malformedMessage(.video))])
    }

    @Test("the number of tracks is limited")
    mutating func trackLimit() {
        var outputs: [RTMPMediaDemuxer.Output] = []
        for track in 0..<UInt8(20) { outputs += video([0x96, 0x01] + Self.code("vp08") + [track, 1]) }
        #expect(outputs.count { if case .accessUnit = $0 { true } else { false } } == 16)
        #expect(outputs.count { $0 == .warning(.tooManyTracks(.video)) } == 1)
        #expect(demuxer.droppedCount == 4)
    }

    // MARK: Timestamps

    @Test("timestamps are unwrapped, and audio may be behind video")
    mutating func wrapping() {
        let times: [UInt32] = [0xFFFF_FF00, 0xFFFF_FFF0, 0x10, 0x20]
        let units = times.compactMap { unit(video([0x91] + Self.code("vp08") + [1], $0)) }
        #expect(
            units.map(\.decodingTime)
                == [0xFFFF_FF00, 0xFFFF_FFF0, 0x1_0000_0010, 0x1_0000_0020].map {
                    TimeSpan.milliseconds($0)
                })
        #expect(units.allSatisfy { !$0.isDiscontinuity })
        let late = unit(audio([0x91] + Self.code("Opus") + [1], 0xFFFF_FFFF))
        #expect(late?.decodingTime == .milliseconds(0xFFFF_FFFF) && late?.isDiscontinuity == false)
    }

    @Test("a timestamp that goes back or jumps is a discontinuity", arguments: [4_999, 36_005_000, 0] as [UInt32])
    mutating func discontinuity(next: UInt32) throws {
        let frame = [0x91] + Self.code("vp08") + [1]
        _ = video(frame, 5_000)
        let outputs = video(frame, next)
        let jumped = try #require(unit(outputs))
        #expect(jumped.isDiscontinuity && jumped.decodingTime == .milliseconds(Int64(next)))
        #expect(outputs.contains(.warning(.discontinuity(RTMPTrackID(.video)))))
        #expect(unit(video(frame, next + 40))?.isDiscontinuity == false)
    }

    @Test("timestamps that always jump as far as possible never overflow")
    mutating func endlessJumps() {
        let frame = [0x91] + Self.code("vp08") + [1]
        var timestamp: UInt32 = 0
        for _ in 0..<10_000 {
            timestamp &+= 0x7FFF_FFFF
            let time = unit(video(frame, timestamp))?.decodingTime ?? .seconds(Int64.max / 2_000_000_000)
            #expect(time.magnitude <= .milliseconds(1 << 40))
        }
    }
}
