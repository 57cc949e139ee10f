import Foundation
import PCastCore
import PCastTestSupport
import Testing

@testable import PCastCodecs

@Suite(.enabled(if: Program.hasFFmpeg)) struct MediaReaderTests {
    private struct Content {
        var frames: [VideoFrame] = []
        var audioFrames: [AudioFrame] = []

        var frameTimes: [Int64] { frames.map(\.timestamp.ticks) }
        var sampleCount: Int { audioFrames.reduce(0) { $0 + $1.sampleCount } }
        var isGrowing: Bool { zip(frameTimes, frameTimes.dropFirst()).allSatisfy { $0 < $1 } }
    }

    private func read(_ reader: MediaReader) throws -> Content {
        var content = Content()
        while let item = try reader.next() {
            switch item {
            case .video(let frame): content.frames.append(frame)
            case .audio(let audio): content.audioFrames.append(audio)
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

    private static let sources = "-f lavfi -i testsrc2=s=320x180:r=25:d=2 -f lavfi -i sine=f=440:r=44100:d=2"

    @Test(
        "every frame is read once, in the order of presentation, with all audio; and again after rewinding",
        arguments: ["film.mp4", "film.mkv", "film.ts", "film.mov"])
    func film(_ file: String) throws {
        try with(file, "\(Self.sources) -c:v libx264 -bf 3 -g 25 -c:a aac -ac 1 -shortest") { path in
            let reader = try MediaReader(uri: path)
            #expect(reader.dimensions == Dimensions(width: 320, height: 180))
            #expect(reader.frameRate == 25)
            #expect(reader.channels == 2)
            #expect(abs(try #require(reader.duration).seconds - 2) < 0.2)
            let first = try read(reader)
            #expect(first.frames.count == 50)
            #expect(first.isGrowing)
            let steps = zip(first.frameTimes, first.frameTimes.dropFirst()).map { $1 - $0 }
            #expect(steps.allSatisfy { abs($0 - 3_600) <= 90 })
            #expect(abs(first.sampleCount - 96_000) < 4_000)
            for (left, right) in zip(first.audioFrames, first.audioFrames.dropFirst()) {
                #expect(right.timestamp.ticks == left.timestamp.ticks + Int64(left.sampleCount))
            }
            #expect(try reader.next() == nil)
            try reader.rewind()
            let second = try read(reader)
            #expect(second.frameTimes == first.frameTimes)
            #expect(second.sampleCount == first.sampleCount)
            for (left, right) in zip(first.frames, second.frames) {
                #expect(SampleFrame.peakSignalToNoiseRatio(left, right) == .infinity)
            }
        }
    }

    @Test("one medium alone can be requested, and can exist alone") func oneMedium() throws {
        try with("film.mp4", "\(Self.sources) -c:v libx264 -c:a aac -shortest") { path in
            let frames = try read(try MediaReader(uri: path, select: [.video]))
            #expect(frames.frames.count == 50)
            #expect(frames.audioFrames.isEmpty)
            let reader = try MediaReader(uri: path, select: [.audio])
            #expect(reader.dimensions == nil)
            #expect(try read(reader).frames.isEmpty)
        }
        try with("tone.wav", "-f lavfi -i sine=r=8000:d=1") { path in
            let reader = try MediaReader(uri: path)
            #expect(reader.dimensions == nil)
            #expect(abs(try read(reader).sampleCount - 48_000) < 100)
            try reader.rewind()
            #expect(abs(try read(reader).sampleCount - 48_000) < 100)
            #expect(throws: CodecError.self) { try MediaReader(uri: path, select: [.video]) }
        }
    }

    @Test("the volume is unchanged, in both channels of a mono file", arguments: [1, 2])
    func loudness(_ channels: Int) throws {
        let source = "-f lavfi -i aevalsrc=exprs=\(channels == 1 ? "0.5" : "0.5|0.5")*sin(2*PI*440*t):s=44100:d=1"
        try with("tone.wav", source.replacingOccurrences(of: "0.5|0.5*", with: "0.5*sin(2*PI*440*t)|0.5*")) { path in
            let samples = try read(try MediaReader(uri: path)).audioFrames.flatMap(\.samples)
            for channel in [0, 1] {
                let loudest = stride(from: channel, to: samples.count, by: 2).map { abs(Int(samples[$0])) }.max()
                #expect(abs(try #require(loudest) - 16_384) < 200)
            }
        }
    }

    @Test("frames keep their irregular timestamps") func variableRate() throws {
        let select = "-f lavfi -i testsrc2=s=160x120:r=30:d=2 -vf select='not(mod(n\\,7))+not(mod(n\\,5))' -vsync vfr"
        try with("film.mkv", "\(select) -c:v libx264 -bf 2") { path in
            let content = try read(try MediaReader(uri: path))
            let numbers: [Int] = (0..<60).filter { $0 % 7 == 0 || $0 % 5 == 0 }
            let expected: [Int64] = numbers.map { Int64($0) * 3_000 }
            #expect(content.frames.count == expected.count)
            for (time, wanted) in zip(content.frameTimes, expected) { #expect(abs(time - wanted) <= 90) }
        }
    }

    @Test("frames without times are spaced by the rate, and can be read again") func withoutTimes() throws {
        try with("film.h264", "-f lavfi -i testsrc2=s=160x120:r=25:d=1 -c:v libx264 -bf 2") { path in
            let reader = try MediaReader(uri: path)
            for _ in 0..<2 {
                let content = try read(reader)
                #expect(content.frames.count == 25)
                #expect(content.isGrowing)
                try reader.rewind()
            }
        }
    }

    @Test(
        "odd sizes are cut to even ones in every pixel format",
        arguments: ["yuv420p", "yuv444p", "rgb24", "yuvj420p", "gbrp"])
    func oddSizes(_ pixels: String) throws {
        let source = "-f lavfi -i testsrc2=s=65x37:r=5:d=1 -pix_fmt \(pixels) -c:v ffv1"
        let codec = pixels == "rgb24" ? source.replacingOccurrences(of: "ffv1", with: "png") : source
        let made = pixels == "yuvj420p" ? codec.replacingOccurrences(of: "ffv1", with: "mjpeg -q:v 2") : codec
        try with("film.mkv", made) { path in
            let reader = try MediaReader(uri: path)
            #expect(reader.dimensions == Dimensions(width: 64, height: 36))
            let content = try read(reader)
            #expect(content.frames.count == 5)
            #expect(content.frames.allSatisfy { $0.dimensions == Dimensions(width: 64, height: 36) })
        }
    }

    @Test("a still image with transparency is a repeated frame") func image() throws {
        try with("still.png", "-f lavfi -i testsrc2=s=64x48:r=1:d=1 -frames:v 1 -pix_fmt rgba") { path in
            let reader = try MediaReader(uri: path)
            for _ in 0..<3 {
                #expect(try read(reader).frames.count == 1)
                try reader.rewind()
            }
        }
    }

    @Test("the cover of a song is no video") func cover() throws {
        try TemporaryFolder.with { folder in
            try Program.makeMedia("\(folder)/cover.png", "-f lavfi -i testsrc2=s=64x48:r=1:d=1 -frames:v 1")
            let arguments =
                "-f lavfi -i sine=d=1 -i \(folder)/cover.png -map 0 -map 1 -disposition:v attached_pic -c:a aac"
            try Program.makeMedia("\(folder)/song.m4a", arguments + " -c:v png")
            let reader = try MediaReader(uri: "\(folder)/song.m4a")
            #expect(reader.dimensions == nil)
            #expect(reader.channels == 2)
        }
    }

    @Test("missing, empty, invalid or truncated files throw or end") func broken() throws {
        #expect(throws: CodecError.self) { try MediaReader(uri: "/nowhere/film.mp4") }
        try with("film.mp4", "\(Self.sources) -c:v libx264 -c:a aac -shortest") { path in
            let whole = try Data(contentsOf: URL(fileURLWithPath: path))
            var generator = SeededGenerator(seed: 11)
            for name in ["empty.mp4", "garbage.mp4", "cut.mp4"] {
                let garbage = Data((0..<50_000).map { _ in UInt8.random(in: 0...255, using: &generator) })
                let bytes = name == "empty.mp4" ? Data() : name == "cut.mp4" ? whole.prefix(whole.count / 2) : garbage
                let broken = URL(fileURLWithPath: path + name)
                try bytes.write(to: broken)
                #expect(throws: CodecError.self) { try MediaReader(uri: broken.path) }
            }
            for round in 0..<20 {
                var bytes = whole
                for _ in 0..<50 { bytes[Int.random(in: 48..<bytes.count, using: &generator)] = UInt8(round) }
                let broken = URL(fileURLWithPath: path + "mutated.mp4")
                try bytes.write(to: broken)
                if let reader = try? MediaReader(uri: broken.path) { _ = try? read(reader) }
            }
        }
    }

    @Test("a cancelled reader ends at once") func cancel() throws {
        try with("film.mp4", "\(Self.sources) -c:v libx264 -c:a aac -shortest") { path in
            let reader = try MediaReader(uri: path)
            _ = try reader.next()
            reader.cancel()
            #expect(try read(reader).frames.count < 50)
            #expect(throws: CodecError.self) { try MediaReader(uri: "rtsp://user:secret@127.0.0.1:9/live?token=abc") }
        }
    }

    @Test("errors contain an address without its secrets") func secrets() {
        do {
            _ = try MediaReader(uri: "http://user:secret@127.0.0.1:9/live.m3u8?token=abc")
            Issue.record("a connection to a closed port succeeded")
        } catch {
            #expect("\(error)".contains("http://127.0.0.1:9/live.m3u8"))
            #expect(!"\(error)".contains("secret"))
            #expect(!"\(error)".contains("abc"))
        }
    }

    @Test(
        "a path is a path, whatever it looks like",
        arguments: [
            "50%.mp4", "a%20b.mp4", "a#1.mp4", "what?.mp4", "a b.mp4", "12:30.mp4", "file:x.mp4", "größe.mp4",
            "http:.mp4",
        ])
    func names(_ name: String) throws {
        try with("film.mp4", "-f lavfi -i testsrc2=s=64x64:r=5:d=1 -c:v libx264") { path in
            let folder = String(path.dropLast("film.mp4".count))
            try FileManager.default.copyItem(atPath: path, toPath: folder + name)
            #expect(try read(try MediaReader(uri: folder + name)).frames.count == 5)
            let coded =
                "file://"
                + (folder + name).utf8.map {
                    ($0 >= 0x30 && $0 <= 0x7A && $0 != 0x3A && $0 != 0x3F) || $0 == 0x2F || $0 == 0x2E || $0 == 0x2D
                        ? String(UnicodeScalar($0)) : "%" + String($0 >> 4, radix: 16) + String($0 & 15, radix: 16)
                }.joined()
            #expect(try read(try MediaReader(uri: coded)).frames.count == 5, "\(coded)")
        }
    }

    @Test(
        "a relative name with a colon is a path, and a scheme with slashes is not",
        arguments: [
            ("12:30.mp4", "file:12:30.mp4"), ("rtsp://h/x", "rtsp://h/x"), ("a.mp4", "a.mp4"), ("file:a:b", "file:a:b"),
            ("file:///a%20b", "file:/a b"), ("film:x", "file:film:x"),
            ("srt://h:1?mode=caller", "srt://h:1?mode=caller"),
            ("what:?x", "file:what:?x"), ("data:video/mp4;base64,AA==", "data:video/mp4;base64,AA=="),
        ])
    func locations(_ text: String, _ location: String) { #expect(MediaName.location(text) == location) }

    @Test("video and audio are from one program of a transport stream", arguments: [0, 1])
    func programs(_ best: Int) throws {
        // The program with the better video has the quieter, simpler audio.
        let sizes = best == 0 ? ["640x360", "160x90"] : ["160x90", "640x360"]
        let inputs = zip(sizes, [440, 880]).map { size, tone in
            "-f lavfi -i testsrc2=s=\(size):r=25:d=3 -f lavfi -i sine=f=\(tone):r=48000:d=3"
        }.joined(separator: " ")
        let maps =
            "-map 0:v -map 1:a -map 2:v -map 3:a -program program_num=1:st=0:st=1 -program program_num=2:st=2:st=3"
        let channels = best == 0 ? "-ac:a:0 1 -ac:a:1 2 -b:a:1 256k" : "-ac:a:0 2 -b:a:0 256k -ac:a:1 1"
        try with("two.ts", "\(inputs) \(maps) -c:v libx264 -preset ultrafast -c:a aac \(channels)") { path in
            let content = try read(try MediaReader(uri: path))
            let isSecond = content.frames.first?.dimensions.width == (best == 0 ? 160 : 640)
            let samples = content.audioFrames.flatMap(\.samples)
            let left = stride(from: 0, to: samples.count, by: 2).map { samples[$0] }.dropFirst(9_600).prefix(48_000)
            let crossings = zip(left, left.dropFirst()).count { $0 < 0 && $1 >= 0 }
            #expect(
                abs(crossings - (isSecond ? 880 : 440)) < 20,
                "\(crossings) in the audio with the frames of \(isSecond ? 2 : 1)")
        }
    }

    @Test(
        "a program without audio, or without video, is not preferred to one with both",
        arguments: [[0, 1, 2], [2, 1, 0]])
    func incompletePrograms(_ order: [Int]) throws {
        let inputs =
            "-f lavfi -i testsrc2=s=320x180:r=25:d=2 -f lavfi -i sine=f=880:r=48000:d=2 "
            + "-f lavfi -i testsrc2=s=160x90:r=25:d=2 -f lavfi -i sine=f=440:r=48000:d=2"
        // A program of both, one of video, and one of audio.
        let streams = [["0:v", "1:a"], ["2:v"], ["3:a"]]
        var (maps, programs, count) = ("", "", 0)
        for (number, kind) in order.enumerated() {
            programs += " -program program_num=\(number + 1)"
            for stream in streams[kind] {
                maps += " -map \(stream)"
                programs += ":st=\(count)"
                count += 1
            }
        }
        let codecs = "-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac"
        try with("three.ts", "\(inputs)\(maps)\(programs) \(codecs)") { path in
            let both = try read(try MediaReader(uri: path))
            #expect(both.frames.first?.dimensions.width == 320 && !both.audioFrames.isEmpty)
            let audio = try read(try MediaReader(uri: path, select: [.audio]))
            for audioFrames in [both.audioFrames, audio.audioFrames] {
                let samples = audioFrames.flatMap(\.samples)
                let left = stride(from: 0, to: samples.count, by: 2).map { samples[$0] }.dropFirst(9_600).prefix(48_000)
                let crossings = zip(left, left.dropFirst()).count { $0 < 0 && $1 >= 0 }
                #expect(abs(crossings - 880) < 20, "\(crossings)")
            }
        }
    }
}
