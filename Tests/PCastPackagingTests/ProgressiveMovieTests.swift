import PCastCodecs
import PCastCore
import Testing

@testable import PCastPackaging

@Suite("Progressive movies that FFmpeg reads")
struct ProgressiveMovieTests {
    /// A movie of one track that a test creates from fragments.
    private struct Movie {
        var track: ProgressiveTrack
        private var data: [UInt8] = []

        init(_ mediaType: MediaType, _ clockRate: ClockRate) {
            track = ProgressiveTrack(mediaType, clockRate: clockRate)
        }

        /// Appends samples as a fragment of the packager.
        mutating func append(_ samples: [CMAFSample], of format: CMAFFormat, at time: Int64) throws {
            let bytes = CMAFFragment.bytes(of: samples, sequence: 1, decodeTime: 77)
            let fragment = try #require(CMAFFragmentDescription(bytes, size: bytes.count))
            #expect(fragment.decodeTime == 77)
            let description = try #require(
                CMAFTrackDescription(initializationSegment: format.initializationSegment))
            track.append(fragment, of: description, at: time, offset: Int64(data.count))
            data += bytes[fragment.dataOffset...]
        }

        /// Returns the file that shows the track from a media time on.
        func file(from mediaTime: Int64 = 0, empty: Int64 = 0) throws -> [UInt8] {
            let (start, end) = try (#require(track.start), #require(track.end))
            let shown = track.clockRate.span(ofTicks: end - start - mediaTime)
            let edit = ProgressiveMovie.Edit(
                emptyDuration: empty, mediaTime: mediaTime, duration: ProgressiveMovie.clockRate.ticks(in: shown))
            let head = ProgressiveMovie.head(
                [(track, edit)], dataSize: Int64(data.count),
                created: WallTime(millisecondsSinceEpoch: 1_795_000_000_000))
            return head + data
        }
    }

    private static func samples(_ frames: [EncodedFrame]) -> [H264Sample] {
        frames.map { H264Sample(annexB: $0.bytes) }
    }

    private static func fragment(_ samples: some Sequence<H264Sample>) -> [CMAFSample] {
        samples.map { CMAFSample(bytes: $0.bytes, duration: 3_000, isSync: $0.isIDR) }
    }

    /// Returns the types of the boxes of a file.
    private static func boxes(_ file: [UInt8]) -> [String] {
        var types: [String] = []
        var offset = 0
        while offset + 16 <= file.count {
            types.append(String(decoding: file[offset + 4..<offset + 8], as: UTF8.self))
            let size = Int(BoxReader.number(file[...], offset, 4))
            offset += size == 1 ? Int(BoxReader.number(file[...], offset + 8, 8)) : size
        }
        return types + (offset == file.count ? [] : ["incomplete"])
    }

    @Test("the description precedes the media data, and the frames are those of the fragments, at their times")
    func video() throws {
        let encoded = try MediaSamples.video(0..<24, keyFrames: [0, 12])
        let samples = Self.samples(encoded)
        let format = CMAFFormat.h264(try #require(samples[0].format))
        var movie = Movie(.video, .video)
        for start in stride(from: 0, to: 24, by: 6) {
            try movie.append(Self.fragment(samples[start..<start + 6]), of: format, at: 900_000 + Int64(start) * 3_000)
        }
        let file = try movie.file()
        #expect(Self.boxes(file) == ["ftyp", "moov", "mdat"])
        let demuxed = try DemuxedFile(file)
        #expect(demuxed.packets.map(\.size) == samples.map(\.bytes.count))
        let decoded = try MediaSamples.decode(encoded)
        #expect(demuxed.frames.count == 24)
        for (index, (frame, time)) in demuxed.frames.enumerated() {
            #expect(MediaSamples.isSame(frame, decoded[index]), "frame \(index)")
            #expect((time - ClockRate.video.span(ofTicks: Int64(index) * 3_000)).magnitude <= .microseconds(25))
            #expect(demuxed.packets[index].isKeyFrame == [0, 12].contains(index))
        }
    }

    @Test("a frame before absent media is shown until the next one")
    func gap() throws {
        let samples = Self.samples(try MediaSamples.video(0..<4, keyFrames: [0, 2]))
        let format = CMAFFormat.h264(try #require(samples[0].format))
        var movie = Movie(.video, .video)
        try movie.append(Self.fragment(samples[..<2]), of: format, at: 0)
        try movie.append(Self.fragment(samples[2...]), of: format, at: 180_000)
        let times = try DemuxedFile(try movie.file()).packets.map(\.presentationTime)
        let expected: [Int64] = [0, 3_000, 180_000, 183_000]
        for (time, ticks) in zip(times, expected) {
            #expect((try #require(time) - ClockRate.video.span(ofTicks: ticks)).magnitude <= .microseconds(25))
        }
        #expect(movie.track.end == 186_000)
    }

    @Test("frames of another size have their own sample entry, and all are decoded")
    func sizes() throws {
        let small = Self.samples(try MediaSamples.video(0..<4, keyFrames: [0]))
        let large = Self.samples(
            try MediaSamples.video(0..<4, keyFrames: [0], size: Dimensions(width: 640, height: 360)))
        var movie = Movie(.video, .video)
        for (index, samples) in [small, large, small].enumerated() {
            let format = CMAFFormat.h264(try #require(samples[0].format))
            try movie.append(Self.fragment(samples), of: format, at: Int64(index) * 12_000)
        }
        let frames = try DemuxedFile(try movie.file()).frames
        #expect(frames.map(\.frame.dimensions.width) == [320, 640, 320].flatMap { Array(repeating: $0, count: 4) })
    }

    @Test("frames that are not in presentation order keep both of their times")
    func compositionOffsets() throws {
        let units = Self.samples(try MediaSamples.video(0..<4, keyFrames: [0]))
        let offsets: [Int32] = [0, 6_000, -3_000, -3_000]
        let samples = zip(units, offsets).map { unit, offset in
            CMAFSample(bytes: unit.bytes, duration: 3_000, compositionOffset: offset, isSync: unit.isIDR)
        }
        var movie = Movie(.video, .video)
        try movie.append(samples, of: .h264(try #require(units[0].format)), at: 0)
        let packets = try DemuxedFile(try movie.file()).packets
        let times = try packets.map { ClockRate.video.ticks(in: try #require($0.presentationTime)) }
        #expect(times.map { $0 - times[0] } == [0, 9_000, 3_000, 6_000])
    }

    @Test("the edit list hides the priming of AAC: a click is heard where it was")
    func priming() throws {
        let encoder = try AACEncoder()
        var input = [Int16](repeating: 0, count: 48_000 * 2)
        let click = 24_000
        for index in 0..<48 { (input[(click + index) * 2], input[(click + index) * 2 + 1]) = (20_000, 20_000) }
        let packets = try encoder.encode(
            AudioFrame(samples: input, channels: 2, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .opus)))
        let priming = -(try #require(packets.first).sample)
        let format = CMAFFormat.aac(
            try #require(AACFormat(configuration: encoder.configuration, priming: Int(priming))))
        let samples = packets.map { CMAFSample(bytes: $0.bytes, duration: 1_024, isSync: true) }
        var movie = Movie(.audio, .opus)
        try movie.append(Array(samples[..<20]), of: format, at: -priming)
        try movie.append(Array(samples[20...]), of: format, at: -priming + 20 * 1_024)
        let audio = try #require(try DemuxedFile(try movie.file(from: priming)).audio)
        let loudest = try #require(
            audio.samples.indices.max { audio.samples[$0].magnitude < audio.samples[$1].magnitude })
        let time = audio.start + ClockRate.opus.span(ofTicks: Int64(loudest / 2))
        #expect((time - ClockRate.opus.span(ofTicks: Int64(click))).magnitude <= .milliseconds(2), "\(time)")
    }

    @Test("a track that begins later than the movie has an empty edit before it")
    func lateTrack() throws {
        let silence = AudioFrame(
            samples: [Int16](repeating: 0, count: 48_000 * 2), channels: 2, captureTime: nil,
            timestamp: MediaTime(ticks: 0, rate: .opus))
        let samples = try OpusEncoder(channels: 2, bitrate: .kilobits(64)).encode(silence).map {
            CMAFSample(bytes: $0.bytes, duration: 960, isSync: true)
        }
        var movie = Movie(.audio, .opus)
        try movie.append(samples, of: .opus(channels: 2), at: 48_000)
        let packets = try DemuxedFile(try movie.file(empty: 90_000)).packets
        #expect(packets.count == 50)
        #expect(packets.first?.presentationTime == .seconds(1 as Int64))
    }

    @Test("bytes that are not a complete description of a fragment are refused")
    func damage() {
        let bytes = CMAFFragment.bytes(
            of: [CMAFSample(bytes: Array(1...100), duration: 960, isSync: true)], sequence: 1, decodeTime: 5)
        let head = CMAFFragmentDescription.headSize(bytes) ?? 0
        #expect(head > 0 && CMAFFragmentDescription(Array(bytes[..<head]), size: bytes.count) != nil)
        for count in 0..<head { #expect(CMAFFragmentDescription(Array(bytes[..<count]), size: bytes.count) == nil) }
        #expect(CMAFFragmentDescription(bytes, size: bytes.count - 1) == nil)
        #expect(CMAFFragmentDescription(bytes, size: bytes.count + 1) == nil)
        // A changed byte is refused or changes a value, and never traps.
        var refusedCount = 0
        for index in 0..<head {
            for value: UInt8 in [0, 0x7F, 0xFF] {
                var changed = bytes
                changed[index] = value
                if CMAFFragmentDescription(changed, size: changed.count) == nil { refusedCount += 1 }
            }
        }
        #expect(refusedCount > head)
        let initialization = CMAFFormat.opus(channels: 2).initializationSegment
        #expect(CMAFTrackDescription(initializationSegment: initialization)?.clockRate == .opus)
        for count in 0..<initialization.count {
            // The last box is not needed for the description.
            let isCut = CMAFTrackDescription(initializationSegment: Array(initialization[..<count])) == nil
            #expect(isCut, "\(count) bytes")
        }
    }
}
