import PCastCodecs
import PCastCore
import PCastHLS
import PCastPackaging
import Testing

@Suite("Video codecs in CMAF files that FFmpeg reads")
struct VideoCodecTests {
    /// Encodes frames with a key frame each half second.
    private static func encode(_ codec: Codec, _ numbers: Range<Int>, size: Dimensions) throws -> [EncodedFrame] {
        let encoder = try VideoEncoders.open(
            .software, codec: codec, dimensions: size, frameRate: 30, bitrate: .kilobits(800))
        return try numbers.flatMap { number in
            try encoder.encode(MediaSamples.frame(number, size: size), forceKeyFrame: number % 15 == 0)
        }
    }

    /// Packages frames, and returns the packager at its end.
    private static func package(_ frames: [EncodedFrame]) -> StreamPackager {
        var configuration = PackagerConfiguration(instance: "i1")
        configuration.segmentDuration = .milliseconds(500)
        configuration.partDuration = .milliseconds(200)
        var packager = StreamPackager(
            configuration,
            renditions: [RenditionDescription(name: "video", source: .video, bitrate: .kilobits(800))])
        let start = WallTime(millisecondsSinceEpoch: 1_767_225_600_000)
        for (index, frame) in frames.enumerated() {
            let ticks = Int64(index) * 3_000
            packager.append(
                AccessUnit(
                    codec: frame.codec, bytes: frame.bytes, timestamp: ticks,
                    captureTime: start + ClockRate.video.span(ofTicks: ticks)), to: "video")
        }
        packager.finish()
        return packager
    }

    @Test("each frame is read with its content at its time", arguments: [Codec.h264, .vp9, .av1])
    func frames(codec: Codec) throws {
        let encoded = try Self.encode(codec, 0..<45, size: MediaSamples.size)
        #expect(encoded.count == 45)
        let packager = Self.package(encoded)
        let playlist = try #require(packager.mediaPlaylist(of: "video"))
        let variant = try #require(packager.multivariantPlaylist?.variants.first)
        #expect(variant.resolution == MediaSamples.size)
        let prefix = [Codec.h264: "avc1.", .vp9: "vp09.00.", .av1: "av01.0."][codec] ?? ""
        #expect(variant.codecs.count == 1 && variant.codecs[0].hasPrefix(prefix), "\(variant.codecs)")
        let demuxed = try DemuxedFile(try Self.bytes(of: playlist, packager))
        #expect(demuxed.packets.count == 45)
        #expect(demuxed.packets.filter(\.isKeyFrame).count == 3)
        #expect(demuxed.frames.count == 45)
        let first = try #require(demuxed.frames.first?.time)
        for (index, frame) in demuxed.frames.enumerated() {
            let expected = first + ClockRate.video.span(ofTicks: Int64(index) * 3_000)
            #expect((frame.time - expected).magnitude <= .microseconds(25), "frame \(index)")
            let difference = MediaSamples.difference(frame.frame, MediaSamples.frame(index))
            #expect(difference < 12, "frame \(index) differs by \(difference)")
        }
    }

    /// A video, a sequence and a picture parameter set of x265 with 64x64 and two reordered frames, in Annex B format.
    private static let setsOfH265: [UInt8] =
        [0, 0, 0, 1, 0x40, 0x01, 0x0C, 0x01, 0xFF, 0xFF, 0x01, 0x60, 0, 0, 0x03, 0, 0x90, 0, 0, 0x03, 0, 0, 0x03]
        + [0, 0x1E, 0x95, 0x90, 0x09]
        + [0, 0, 0, 1, 0x42, 0x01, 0x01, 0x01, 0x60, 0, 0, 0x03, 0, 0x90, 0, 0, 0x03, 0, 0, 0x03, 0, 0x1E, 0xA0, 0x20]
        + [0x81, 0x05, 0x96, 0x56, 0x44, 0xA4, 0xC2, 0xF0, 0x16, 0x80, 0x80, 0, 0, 0x03, 0, 0x80, 0, 0, 0x0F, 0x04]
        + [0, 0, 0, 1, 0x44, 0x01, 0xC0, 0x73, 0xC0, 0x89]

    /// Returns an open group of H.265 with 12 frames in decoding order, as x265 makes it: the frame with which decoding
    /// can start, two leading frames that refer to frames before it (RASL), and others. Slices have no content.
    private static func openGroup(_ number: Int64) -> [AccessUnit] {
        let frames: [(type: UInt8, place: Int64)] = [
            (21, 2), (9, 1), (8, 0), (1, 5), (1, 4), (0, 3), (1, 8), (1, 7), (0, 6), (1, 11), (1, 10), (0, 9),
        ]
        let start = WallTime(millisecondsSinceEpoch: 1_767_225_600_000)
        return frames.map { type, place in
            let ticks = (number * 12 + place) * 3_000
            return AccessUnit(
                codec: .h265,
                bytes: (type == 21 ? setsOfH265 : []) + [0, 0, 0, 1, type << 1, 1, 0xAF, UInt8(place + 1)],
                isKeyFrame: type == 21, timestamp: ticks, captureTime: start + ClockRate.video.span(ofTicks: ticks))
        }
    }

    @Test("leading frames whose references are missing are dropped, and the frames after them are not")
    func leadingFrames() throws {
        var configuration = PackagerConfiguration(instance: "i1")
        configuration.segmentDuration = .milliseconds(400)
        configuration.partDuration = .milliseconds(200)
        // Key frames are needed after losses only.
        configuration.answersKeyFrameRequests = false
        var packager = StreamPackager(
            configuration,
            renditions: [RenditionDescription(name: "video", source: .video, bitrate: .kilobits(800))])
        // Packaging begins with a group, and some frames of the third one are lost.
        for number in 0..<4 as Range<Int64> {
            for (index, unit) in Self.openGroup(number).enumerated() {
                if number == 2, index == 3 { packager.framesLost(in: "video") }
                packager.append(unit, to: "video")
                if number != 2 {
                    #expect(packager.takeUpdates().needsKeyFrame.isEmpty, "group \(number), frame \(index)")
                }
            }
            _ = packager.takeUpdates()
        }
        packager.finish()
        // Two frames of the first group, nine of the third one, and two of the fourth one.
        #expect(packager.droppedUnits(of: "video") == 13)
        var times: [Int64] = []
        for bytes in packager.takeParts().map(\.part.bytes) where !bytes.isEmpty {
            let fragment = try #require(CMAFFragmentDescription(bytes, size: bytes.count))
            var time = fragment.decodeTime
            for sample in fragment.samples {
                times.append(time + Int64(sample.compositionOffset))
                time += Int64(sample.duration)
            }
        }
        let first = try #require(times.first)
        #expect(
            times.map { ($0 - first + 1_500) / 3_000 } == [
                0, 3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10, 15, 14, 13, 18, 17, 16, 21, 20, 19, 24, 23, 22, 36, 39, 38,
                37, 42, 41, 40, 45, 44, 43,
            ])
    }

    @Test("a publisher that changes its codec begins a discontinuity with another initialization segment")
    func change() throws {
        let first = try Self.encode(.h264, 0..<30, size: MediaSamples.size)
        let second = try Self.encode(.vp9, 30..<60, size: MediaSamples.size)
        let third = try Self.encode(.av1, 60..<90, size: MediaSamples.size)
        let packager = Self.package(first + second + third)
        let playlist = try #require(packager.mediaPlaylist(of: "video"))
        #expect(playlist.segments.filter(\.isDiscontinuity).count == 2)
        #expect(Set(playlist.segments.compactMap { $0.initialization?.uri }).count == 3)
        #expect(packager.multivariantPlaylist?.variants.first?.codecs.first?.hasPrefix("av01.") == true)
    }

    @Test("frames that are malformed are dropped, and the next key frame continues", arguments: [Codec.vp9, .av1])
    func malformed(codec: Codec) throws {
        var encoded = try Self.encode(codec, 0..<45, size: MediaSamples.size)
        encoded[0].bytes = []
        encoded[15].bytes = [UInt8](repeating: 0xFF, count: 40)
        let packager = Self.package(encoded)
        let playlist = try #require(packager.mediaPlaylist(of: "video"))
        let demuxed = try DemuxedFile(try Self.bytes(of: playlist, packager))
        #expect(demuxed.packets.first?.isKeyFrame == true)
        #expect((15...30).contains(demuxed.packets.count), "\(demuxed.packets.count) frames")
    }

    @Test("a key frame whose format is unknown is reported", arguments: [Codec.h264, .h265, .vp9, .av1])
    func unreadable(codec: Codec) {
        var packager = StreamPackager(
            PackagerConfiguration(instance: "i1"),
            renditions: [RenditionDescription(name: "video", source: .video, bitrate: .kilobits(800))])
        // A slice without parameter sets, a frame of VP9 with an invalid header, and a temporal unit without a sequence header.
        let bytes: [Codec: [UInt8]] = [
            .h264: [0, 0, 0, 1, 0x65, 0x88, 0x84], .h265: [0, 0, 0, 1, 0x28, 1, 0xAF], .vp9: [0x82, 0x49, 0x83, 0x43],
            .av1: [0x12, 0x00, 0x32, 0x02, 0x10, 0x00],
        ]
        for isKeyFrame in [false, true] {
            packager.append(
                AccessUnit(
                    codec: codec, bytes: bytes[codec] ?? [], isKeyFrame: isKeyFrame, timestamp: 0,
                    captureTime: WallTime(millisecondsSinceEpoch: 1_767_225_600_000)), to: "video")
            #expect(packager.takeUpdates().hasUnreadableVideo == isKeyFrame)
        }
        #expect(packager.droppedUnits(of: "video") == 2)
    }

    /// Returns an initialization segment with all segments that follow it.
    private static func bytes(of playlist: MediaPlaylist, _ packager: StreamPackager) throws -> [UInt8] {
        func file(_ uri: String) throws -> [UInt8] {
            let name = String(try #require(uri.split(separator: "/").last))
            let file = try #require(PackagedFile(name: name, instance: "i1", isText: false))
            return try #require(packager.file(file, of: "video"))
        }
        let map = try #require(playlist.segments.first?.initialization?.uri)
        return try file(map) + playlist.segments.filter { !$0.isGap }.flatMap { try file(try #require($0.uri)) }
    }
}
