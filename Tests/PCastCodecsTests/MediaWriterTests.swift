import Foundation
import PCastCodecs
import PCastCore
import PCastIO
import Testing

@Suite struct MediaWriterTests {
    private static let size = Dimensions(width: 320, height: 180)

    /// Records two seconds of video and audio. The frame size may change in the middle.
    private func record(_ path: String, _ codec: Codec, hasAudio: Bool = true, second: Dimensions = size) throws {
        let writer = try MediaWriter(path: path, tracks: hasAudio ? [codec, .opus] : [codec])
        let audio = try OpusEncoder(channels: 2, bitrate: .kilobits(64))
        var encoder = try VideoCodecTests.encoder(codec, size: Self.size)
        // Frames before a key frame are useless.
        _ = try encoder.encode(SampleFrame.moving(0, size: Self.size), forceKeyFrame: false)
        for frame in try encoder.encode(SampleFrame.moving(1, size: Self.size), forceKeyFrame: false) {
            try writer.write(frame, at: .zero)
        }
        for number in 0..<60 {
            if number == 30, second != Self.size { encoder = try VideoCodecTests.encoder(codec, size: second) }
            let videoFrame = SampleFrame.moving(number + 2, size: number < 30 ? Self.size : second)
            let time = ClockRate.video.span(ofTicks: Int64(number) * 3_000)
            for frame in try encoder.encode(videoFrame, forceKeyFrame: number == 0) {
                try writer.write(frame, at: time)
            }
            let samples = (0..<3_200).map { Int16(4_000 * sin(Double($0) / 20)) }
            let piece = AudioFrame(
                samples: samples, channels: 2, captureTime: nil,
                timestamp: MediaTime(ticks: Int64(number) * 1_600, rate: .opus))
            for packet in try audio.encode(piece) where hasAudio { try writer.write(packet, at: packet.timestamp.span) }
        }
        try writer.finish()
        try writer.finish()
    }

    private func probe(_ path: String, _ arguments: String) throws -> [String] {
        let words = arguments.split(separator: " ").map(String.init)
        let output = try Program.run("ffprobe", ["-v", "error", "-of", "csv=p=0"] + words + [path])
        return try #require(output).split(separator: "\n").map(String.init)
    }

    @Test(
        "unsupported content of a format is rejected before writing",
        arguments: [("film.mp4", Codec.vp8), ("film.webm", .h264)])
    func refusedTracks(_ file: String, _ codec: Codec) throws {
        try TemporaryFolder.with { folder in
            let path = "\(folder)/\(file)"
            let error = try #require(
                throws: CodecError.self, performing: { _ = try MediaWriter(path: path, tracks: [codec, .opus]) })
            #expect("\(error)".contains("record to a .mkv file"))
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test(
        "a recording is complete", .enabled(if: Program.hasFFmpeg),
        arguments: [("film.mp4", Codec.h264), ("film.mkv", .h264), ("film.mkv", .vp8), ("film.webm", .vp8)])
    func whole(_ file: String, _ codec: Codec) throws {
        try TemporaryFolder.with { folder in
            let path = "\(folder)/\(file)"
            try record(path, codec)
            let tracks = try probe(path, "-show_entries stream=codec_name,width,height")
            #expect(tracks == ["\(codec == .vp8 ? "vp8" : "h264"),320,180", "opus"])
            #expect(try probe(path, "-count_frames -select_streams v -show_entries stream=nb_read_frames") == ["60"])
            #expect(try probe(path, "-count_packets -select_streams a -show_entries stream=nb_read_packets") == ["100"])
            let length = try probe(path, "-show_entries format=duration").first.flatMap(Double.init)
            #expect(abs(try #require(length) - 2) < 0.06)
            let errors = try Program.run("ffmpeg", ["-v", "error", "-xerror", "-i", path, "-f", "null", "-"])
            #expect(errors != nil)
        }
    }

    @Test("a recording is read back unchanged, with video and audio from the same start") func readBack() throws {
        try TemporaryFolder.with { folder in
            try record("\(folder)/film.mp4", .h264)
            let reader = try MediaReader(uri: "\(folder)/film.mp4")
            var number = 0
            var firstAudio: Int64?
            while let item = try reader.next() {
                switch item {
                case .audio(let audio): firstAudio = firstAudio ?? audio.timestamp.ticks
                case .video(let videoFrame):
                    #expect(abs(videoFrame.timestamp.ticks - Int64(number) * 3_000) <= 90)
                    let original = SampleFrame.moving(number + 2, size: Self.size)
                    #expect(SampleFrame.peakSignalToNoiseRatio(videoFrame, original) > 28)
                    number += 1
                }
            }
            #expect(number == 60)
            #expect(abs(try #require(firstAudio)) < 480)
        }
    }

    @Test("a change of size is kept in the stream", .enabled(if: Program.hasFFmpeg))
    func otherSize() throws {
        try TemporaryFolder.with { folder in
            let path = "\(folder)/film.mkv"
            try record(path, .h264, second: Dimensions(width: 640, height: 360))
            let sizes = try probe(path, "-select_streams v -show_entries frame=width,height")
            #expect(sizes.count == 60)
            #expect(sizes.first?.hasPrefix("320,180") == true)
            #expect(sizes.last?.hasPrefix("640,360") == true)
        }
    }

    @Test("unsupported recordings throw") func errors() throws {
        #expect(throws: CodecError.self) { try MediaWriter(path: "film.avi", tracks: [.h264]) }
        try TemporaryFolder.with { folder in
            #expect(throws: CodecError.self) { try MediaWriter(path: "\(folder)/missing/film.mp4", tracks: [.h264]) }
            let empty = try MediaWriter(path: "\(folder)/film.mp4", tracks: [.h264, .opus])
            #expect(throws: CodecError.self) { try empty.finish() }
        }
    }

    @Test("a damaged first key frame does not end the recording") func damagedBeginning() throws {
        try TemporaryFolder.with { folder in
            let writer = try MediaWriter(path: "\(folder)/film.mp4", tracks: [.h264])
            let encoder = try VideoCodecTests.encoder(.h264, size: Self.size)
            for number in 0..<10 {
                let videoFrame = SampleFrame.moving(number, size: Self.size)
                var frame = try #require(try encoder.encode(videoFrame, forceKeyFrame: number == 5).first)
                if number == 0 { frame.bytes.removeLast(frame.bytes.count / 2) }
                try writer.write(frame, at: ClockRate.video.span(ofTicks: Int64(number) * 3_000))
            }
            try writer.finish()
            let reader = try MediaReader(uri: "\(folder)/film.mp4")
            var count = 0
            while try reader.next() != nil { count += 1 }
            #expect(count == 5)
        }
    }
}

/// Temporary files of one test, and the programs that create and check them.
enum TemporaryFolder {
    static func with<Result>(_ body: (String) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        return try body(folder.path)
    }
}

/// A program of the system.
enum Program {
    static func path(_ name: String) -> String? {
        ["/usr/bin", "/usr/local/bin", "/bin"].map { "\($0)/\(name)" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }

    static let hasFFmpeg: Bool = {
        let isInstalled = path("ffmpeg") != nil && path("ffprobe") != nil
        if !isInstalled { print("left out: files of other encoders: ffmpeg and ffprobe are not installed") }
        return isInstalled
    }()

    /// Runs the program and returns its output; nil if it failed.
    static func run(_ name: String, _ arguments: [String]) throws -> String? {
        let process = try FinishedProcess(
            running: path(name) ?? "/nonexistent", arguments, environment: ProcessInfo.processInfo.environment)
        return process.hasSucceeded ? process.text : nil
    }

    /// Creates a file with FFmpeg's own programs.
    static func makeMedia(_ path: String, _ arguments: String) throws {
        let words = arguments.split(separator: " ").map(String.init)
        guard try run("ffmpeg", ["-v", "error", "-y"] + words + [path]) != nil else {
            throw CocoaError(.fileWriteUnknown)
        }
    }
}
