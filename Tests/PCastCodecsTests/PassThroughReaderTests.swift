import Foundation
import Glibc
import PCastCodecs
import PCastCore
import PCastIO
import PCastTestSupport
import Testing

@Suite(.enabled(if: Program.hasFFmpeg)) struct PassThroughReaderTests {
    private struct Content {
        var coded: [EncodedFrame] = []
        var frames: [VideoFrame] = []
        var sampleCount = 0
    }

    private func read(_ reader: MediaReader) throws -> Content {
        var content = Content()
        while let sample = try reader.nextSample() {
            switch sample {
            case .coded(let frame): content.coded.append(frame)
            case .frame(let videoFrame): content.frames.append(videoFrame)
            case .audio(let audio): content.sampleCount += audio.sampleCount
            }
        }
        return content
    }

    private func with(_ file: String, _ arguments: String, _ body: (String) throws -> Void) throws {
        try TemporaryFolder.with { folder in
            let path = "\(folder)/\(file)"
            try Program.makeMedia(path, arguments)
            try body(path)
        }
    }

    private static let frames = "-f lavfi -i testsrc2=s=320x180:r=25:d=2"
    private static let sources = "\(frames) -f lavfi -i sine=f=440:r=44100:d=2"

    @Test(
        "H.264 of every container is passed through with its times, with decoded audio, and again",
        arguments: ["film.mp4", "film.mkv", "film.ts", "film.flv", "film.mov"],
        [("baseline", "constrained baseline"), ("main", "main"), ("high", "high")])
    func containers(_ file: String, _ profile: (String, String)) throws {
        let options = "-c:v libx264 -bf 0 -g 10 -profile:v \(profile.0) -c:a aac -shortest"
        try with(file, "\(Self.sources) \(options)") { path in
            let decoded = try read(try MediaReader(uri: path))
            #expect(decoded.frames.count == 50)
            let reader = try MediaReader(uri: path, passesThrough: true)
            #expect(reader.dimensions == Dimensions(width: 320, height: 180))
            #expect(reader.frameRate == 25)
            #expect(reader.profile?.description == profile.1)
            for _ in 0..<2 {
                let content = try read(reader)
                #expect(reader.transcodeReason == nil)
                #expect(reader.droppedCount == 0)
                #expect(content.frames.isEmpty)
                #expect(content.sampleCount == decoded.sampleCount)
                #expect(content.coded.count == 50)
                let decoder = try H264Decoder()
                for (number, frame) in content.coded.enumerated() {
                    #expect(frame.isKeyFrame == (number % 10 == 0))
                    let types = AnnexB.types(frame.bytes).filter { $0 != 6 && $0 != 9 }
                    #expect(types == (frame.isKeyFrame ? [7, 8, 5] : [1]))
                    #expect(frame.timestamp == decoded.frames[number].timestamp)
                    let videoFrame = try #require(try decoder.decode(frame).first)
                    #expect(SampleFrame.peakSignalToNoiseRatio(videoFrame, decoded.frames[number]) == .infinity)
                }
                try reader.rewind()
            }
        }
    }

    @Test(
        "H.265 is passed through if it is the codec of the stream, and decoded otherwise",
        arguments: ["film.mp4", "film.mkv", "film.ts"])
    func h265(_ file: String) throws {
        let options =
            "-c:v libx265 -preset ultrafast -x265-params bframes=0:keyint=10:min-keyint=10:scenecut=0:log-level=none"
        try with(file, "\(Self.sources) \(options) -c:a aac -shortest") { path in
            let reader = try MediaReader(uri: path, passesThrough: true, codecs: [.h264, .h265])
            let content = try read(reader)
            #expect(reader.passedCodec == .h265 && reader.transcodeReason == nil)
            #expect(content.frames.isEmpty && content.coded.count == 50)
            #expect(content.sampleCount > 0)
            let decoder = try VideoDecoders.open(.h265)
            for (number, frame) in content.coded.enumerated() {
                #expect(frame.codec == .h265 && frame.isKeyFrame == (number % 10 == 0))
                let pictures = try decoder.decode(frame)
                #expect(pictures.count == 1)
            }
            let other = try MediaReader(uri: path, passesThrough: true)
            #expect(other.transcodeReason == .codec("hevc") && other.passedCodec == nil)
            let decoded = try read(other)
            #expect(decoded.frames.count == 50 && decoded.coded.isEmpty)
        }
    }

    @Test(
        "B-frames are detected, and the video is decoded",
        arguments: ["film.mp4", "film.mkv", "film.ts", "film.flv"])
    func detectsBFrames(_ file: String) throws {
        try with(file, "\(Self.sources) -c:v libx264 -bf 2 -g 25 -c:a aac -shortest") { path in
            let decoded = try read(try MediaReader(uri: path))
            let reader = try MediaReader(uri: path, passesThrough: true)
            #expect(reader.transcodeReason == .hasReordering)
            let content = try read(reader)
            #expect(content.coded.isEmpty)
            #expect(content.frames.map(\.timestamp) == decoded.frames.map(\.timestamp))
        }
    }

    @Test(
        "video that WebRTC receivers cannot decode is not passed through, with the reason",
        arguments: [
            ("film.mkv", "-c:v libvpx -deadline realtime", TranscodeReason.codec("vp8")),
            ("film.mkv", "-pix_fmt yuv422p -c:v libx264 -bf 0", .profile(H264ProfileIDC(number: 122, constraints: 0))),
            ("film.ts", "-c:v libx264 -bf 0 -flags +ilme+ildct -x264-params tff=1", .interlaced),
            ("film.mp4", "-c:v mjpeg", .codec("mjpeg")),
        ])
    func obstacles(_ file: String, _ options: String, _ obstacle: TranscodeReason) throws {
        try with(file, "\(Self.frames) \(options)") { path in
            let reader = try MediaReader(uri: path, passesThrough: true)
            #expect(reader.transcodeReason == obstacle)
            let content = try read(reader)
            #expect(content.coded.isEmpty)
            #expect(content.frames.count == 50)
        }
    }

    @Test("B-frames that begin later are detected, and video is decoded from the next key frame on")
    func later() throws {
        try TemporaryFolder.with { folder in
            let plain = "\(folder)/plain.ts"
            try Program.makeMedia(plain, "\(Self.frames) -c:v libx264 -bf 0 -g 25")
            let later = "-c:v libx264 -bf 2 -g 10 -output_ts_offset 2"
            try Program.makeMedia("\(folder)/later.ts", "\(Self.frames) \(later)")
            var bytes = try Data(contentsOf: URL(fileURLWithPath: plain))
            bytes += try Data(contentsOf: URL(fileURLWithPath: "\(folder)/later.ts"))
            try bytes.write(to: URL(fileURLWithPath: "\(folder)/both.ts"))
            let reader = try MediaReader(uri: "\(folder)/both.ts", passesThrough: true)
            #expect(reader.transcodeReason == nil)
            let content = try read(reader)
            #expect(reader.transcodeReason == .hasReordering)
            #expect(content.coded.count >= 50)
            #expect(content.coded.count < 60)
            #expect(content.coded.allSatisfy { !H264AccessUnit($0.bytes).hasBidirectionalSlices })
            #expect(content.frames.count >= 40)
            let times = content.coded.map(\.timestamp.ticks) + content.frames.map(\.timestamp.ticks)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
            // After rewinding, video is decoded at once.
            try reader.rewind()
            #expect(try read(reader).coded.isEmpty)
        }
    }

    @Test("frames with wrong lengths are dropped until the next key frame, and counted") func lengths() throws {
        try with("film.mp4", "\(Self.frames) -c:v libx264 -bf 0 -g 10") { path in
            let whole = try read(try MediaReader(uri: path, passesThrough: true)).coded
            var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            // The unit of the thirteenth frame, found by its content.
            let unit = try #require(AnnexB.units(whole[12].bytes).first)
            let place = try #require(bytes.indices.first { bytes[$0...].starts(with: unit) })
            bytes[place - 3] = 0x7F
            let broken = path + ".broken.mp4"
            try Data(bytes).write(to: URL(fileURLWithPath: broken))
            let reader = try MediaReader(uri: broken, passesThrough: true)
            let content = try read(reader)
            #expect(content.coded.map(\.timestamp) == (whole[..<12] + whole[20...]).map(\.timestamp))
            #expect(reader.droppedCount == 8)
        }
    }

    @Test("live H.264 by SRT is passed through, and its B-frames are detected", arguments: [0, 2])
    func live(_ frames: Int) throws {
        let encoding = "-c:v libx264 -bf \(frames) -g 25 -preset veryfast -c:a aac -shortest -f mpegts"
        let encoder = try Self.startEncoder { "-v error -re \(Self.sources) \(encoding) \($0)?mode=listener" }
        defer { encoder.end() }
        let opened = encoder.reader
        var content = Content()
        // A closed connection is the end and not a failure.
        while let sample = try opened.nextSample() {
            switch sample {
            case .coded(let frame): content.coded.append(frame)
            case .frame(let videoFrame): content.frames.append(videoFrame)
            case .audio(let audio): content.sampleCount += audio.sampleCount
            }
        }
        #expect(content.sampleCount > 40_000)
        if frames > 0 {
            #expect(opened.transcodeReason == .hasReordering)
            #expect(content.frames.count > 20)
        } else {
            #expect(opened.transcodeReason == nil)
            #expect(content.coded.count > 20)
            #expect(content.coded.first?.isKeyFrame == true)
            let decoder = try H264Decoder()
            for frame in content.coded { #expect(try decoder.decode(frame).count == 1) }
        }
    }

    /// An encoder that listens, and a reader that is connected to it.
    private struct LiveEncoder {
        let process: SpawnedProcess
        let reader: MediaReader

        func end() {
            process.send(SIGTERM)
            _ = process.wait()
        }
    }

    /// Starts ffmpeg as a listener and connects to it.
    ///
    /// ffmpeg does not print the port that the kernel gives it, so the test chooses one, outside of the range from which
    /// the kernel gives ports to others. If the port is in use, ffmpeg ends, and another port is chosen.
    private static func startEncoder(_ arguments: (_ address: String) -> String) throws -> LiveEncoder {
        let program = try #require(Program.path("ffmpeg"))
        let null = try Descriptor.null()
        for _ in 0..<20 {
            let address = "srt://127.0.0.1:\(Int.random(in: 20_000..<32_000))"
            let process = try SpawnedProcess(
                program, arguments(address).split(separator: " ").map(String.init),
                environment: ProcessInfo.processInfo.environment, isApart: false, input: null, output: null,
                messages: null)
            // It listens a little later than it starts; each attempt waits for it.
            for _ in 0..<20 where !hasEnded(process) {
                guard let reader = try? MediaReader(uri: address, passesThrough: true) else { continue }
                return LiveEncoder(process: process, reader: reader)
            }
            let isPortInUse = hasEnded(process)
            process.send(SIGTERM)
            _ = process.wait()
            try #require(isPortInUse, "ffmpeg runs, but no connection to \(address) is possible")
        }
        throw POSIXError(.EADDRINUSE)
    }

    /// Whether a process has ended. It still has to be waited for.
    private static func hasEnded(_ process: SpawnedProcess) -> Bool {
        guard let number = process.processID else { return true }
        var information = siginfo_t()
        let result = waitid(P_PID, id_t(number), &information, WEXITED | WNOWAIT | WNOHANG)
        return result == 0 && information.si_signo == SIGCHLD
    }

    @Test("mutated files end or throw", arguments: ["film.mp4", "film.ts", "film.flv", "film.mkv"])
    func mutations(_ file: String) throws {
        try with(file, "\(Self.sources) -c:v libx264 -bf 0 -g 10 -c:a aac -shortest") { path in
            let whole = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            var generator = SeededGenerator(seed: 29)
            var count = 0
            for _ in 0..<60 {
                var bytes = whole
                for _ in 0..<Int.random(in: 1...60, using: &generator) {
                    bytes[.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
                }
                let mutated = path + ".mutated"
                try Data(bytes).write(to: URL(fileURLWithPath: mutated))
                guard let reader = try? MediaReader(uri: mutated, passesThrough: true) else { continue }
                while let sample = try? reader.nextSample() {
                    if case .coded(let frame) = sample, H264AccessUnit(frame.bytes).hasSlice { count += 1 }
                }
            }
            #expect(count > 300)
        }
    }
}
