import Foundation
import PCastCore
import Testing

@testable import PCastCodecs

/// Frames are upright, progressive and have square pixels, whatever a file declares of them.
@Suite("Rotation, pixels and fields", .enabled(if: Program.hasFFmpeg)) struct FrameGeometryTests {
    private func with(_ file: String, _ arguments: [String], _ body: (String) throws -> Void) throws {
        try TemporaryFolder.with { folder in
            let path = "\(folder)/\(file)"
            guard try Program.run("ffmpeg", ["-v", "error", "-y"] + arguments + [path]) != nil else {
                throw CocoaError(.fileWriteUnknown)
            }
            try body(path)
        }
    }

    private static let coder = [
        "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "5", "-pix_fmt", "yuv420p", "-threads", "1",
    ]

    private func frames(_ path: String) throws -> [VideoFrame] {
        let reader = try MediaReader(uri: path, select: [.video])
        var frames: [VideoFrame] = []
        while case .video(let frame)? = try reader.next() { frames.append(frame) }
        #expect(frames.allSatisfy { $0.dimensions == reader.dimensions }, "the reader reports the displayed size")
        return frames
    }

    /// Returns the luma at a relative position.
    private static func luma(_ frame: VideoFrame, _ x: Double, _ y: Double) -> Int {
        let (column, row) = (Int(x * Double(frame.dimensions.width)), Int(y * Double(frame.dimensions.height)))
        return Int(frame.planeY[row * frame.strideY + column])
    }

    @Test(
        "a display matrix is applied, and such H.264 is not passed through", arguments: [90, 180, 270],
        ["film.mp4", "film.mov"])
    func rotation(_ degrees: Int, _ file: String) throws {
        // Four quarters, each of another gray.
        let source =
            "color=c=black:s=160x96:r=10:d=1,format=yuv420p,geq=lum='if(lt(Y,H/2),if(lt(X,W/2),40,90),if(lt(X,W/2),140,200))'"
            + ":cb=128:cr=128"
        try with("raw.mp4", ["-f", "lavfi", "-i", source] + Self.coder) { raw in
            let turned = raw.replacing("raw.mp4", with: file)
            let arguments = [
                "-v", "error", "-y", "-i", raw, "-c", "copy", "-metadata:s:v:0", "rotate=\(degrees)", turned,
            ]
            #expect(try Program.run("ffmpeg", arguments) != nil)
            // The reference is FFmpeg's own rotation.
            let reference = raw.replacing("raw.mp4", with: "reference.mp4")
            #expect(try Program.run("ffmpeg", ["-v", "error", "-y", "-i", turned] + Self.coder + [reference]) != nil)
            let (frame, wanted) = (try #require(try frames(turned).first), try #require(try frames(reference).first))
            #expect(frame.dimensions == wanted.dimensions)
            #expect(
                frame.dimensions
                    == (degrees == 180 ? Dimensions(width: 160, height: 96) : Dimensions(width: 96, height: 160)))
            for (x, y) in [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)] {
                #expect(abs(Self.luma(frame, x, y) - Self.luma(wanted, x, y)) < 10)
            }
            #expect(try MediaReader(uri: turned, passesThrough: true).transcodeReason == .rotated)
        }
    }

    @Test(
        "non-square pixels become square, and such H.264 is not passed through",
        arguments: [
            ("720x576", "64/45", 1_024, 576, "film.mp4"), ("360x288", "64/45", 512, 288, "film.ts"),
            ("480x480", "2/3", 480, 720, "film.mkv"), ("640x360", "1/1", 640, 360, "film.mp4"),
            ("640x360", "1216/1215", 640, 360, "film.mp4"),
        ])
    func pixels(_ size: String, _ ratio: String, _ width: Int, _ height: Int, _ file: String) throws {
        let source = "testsrc2=s=\(size):r=10:d=1,setsar=\(ratio)"
        try with(file, ["-f", "lavfi", "-i", source] + Self.coder) { path in
            let wanted = Dimensions(width: width, height: height)
            #expect(try frames(path).first?.dimensions == wanted)
            let isSquare = size == "\(width)x\(height)"
            let reader = try MediaReader(uri: path, passesThrough: true)
            #expect(reader.transcodeReason == (isSquare ? nil : .anamorphic))
            #expect(reader.dimensions == wanted)
        }
    }

    /// Returns the worst comb artifact of a frame: the mean distance of a row from its neighbors, over the brightest
    /// moving part.
    private static func combing(_ frame: VideoFrame) -> Double {
        var (sum, count) = (0, 0)
        for row in 1..<frame.dimensions.height - 1 {
            for column in stride(from: 0, to: frame.dimensions.width, by: 3) {
                let place = row * frame.strideY + column
                let (above, here, below) = (
                    Int(frame.planeY[place - frame.strideY]), Int(frame.planeY[place]),
                    Int(frame.planeY[place + frame.strideY])
                )
                let comb = max(here - max(above, below), min(above, below) - here, 0)
                if comb > 24 { sum += comb }
                count += 1
            }
        }
        return Double(sum) / Double(count)
    }

    @Test(
        "interlaced video is shown progressive, and interlaced H.264 is not passed through",
        arguments: [("tff", "interleave_top"), ("bff", "interleave_bottom")],
        [["-c:v", "mpeg2video", "-q:v", "3"], ["-c:v", "libx264", "-preset", "ultrafast", "-bf", "0"]])
    func interlaced(_ order: (String, String), _ codec: [String]) throws {
        let field = order.0 == "tff" ? "top" : "bottom"
        let isH264 = codec[1] == "libx264"
        // A bar moves by many columns between fields.
        let source =
            "color=c=gray:s=320x240:r=50:d=1[g];color=c=white:s=24x240:r=50:d=1[w];[g][w]overlay=x=mod(n*9\\,296):y=0,"
            + "tinterlace=\(order.1)"
        let flags =
            ["-flags", "+ildct+ilme", "-top", order.0 == "tff" ? "1" : "0"]
            + (isH264 ? ["-x264opts", "\(order.0)=1"] : [])
        try with("film.ts", ["-filter_complex", source, "-pix_fmt", "yuv420p"] + codec + flags + ["-threads", "1"]) {
            path in
            let frames = try frames(path)
            #expect(frames.count >= 20)
            let worst = frames.dropFirst(2).map(Self.combing).max() ?? 0
            #expect(worst < 0.2, "a combing error of \(worst) with the \(field) field first")
            let reader = try MediaReader(uri: path, passesThrough: true)
            while try reader.nextSample() != nil {}
            #expect(isH264 ? reader.transcodeReason == .interlaced : reader.transcodeReason != nil)
        }
    }

    @Test("a moving part of an interlaced frame shows one instant, even if its fields differ little")
    func oneInstant() {
        let (deinterlacer, pool) = (Deinterlacer(), VideoFramePool())
        let (width, height) = (64, 16)
        /// A slope of one level per column, which moves by four columns from field to field.
        func woven(_ number: Int) -> VideoFrame {
            let frame = pool.frame(
                dimensions: Dimensions(width: width, height: height), captureTime: nil,
                timestamp: MediaTime(ticks: Int64(number), rate: .video))
            for row in 0..<height {
                let shift = number * 8 + row % 2 * 4
                for column in 0..<width { frame.planeY[row * frame.strideY + column] = UInt8(60 + column + shift) }
            }
            frame.planeU.update(repeating: 128, count: frame.strideUV * height / 2)
            frame.planeV.update(repeating: 128, count: frame.strideUV * height / 2)
            return frame
        }
        _ = deinterlacer.deinterlace(woven(0), keeping: .top)
        for number in 1..<4 {
            let frame = deinterlacer.deinterlace(woven(number), keeping: .top)
            for row in 0..<height {
                for column in 0..<width {
                    #expect(frame.planeY[row * frame.strideY + column] == UInt8(60 + column + number * 8))
                }
            }
        }
    }

    @Test("still parts keep every row of interlaced video")
    func stillInterlaced() throws {
        let source = "testsrc2=s=320x240:r=25:d=1,trim=end_frame=1,loop=loop=24:size=1,setpts=N/25/TB"
        let options = ["-flags", "+ildct+ilme", "-x264opts", "tff=1", "-crf", "4"]
        try with("film.ts", ["-f", "lavfi", "-i", source] + Self.coder + options) { path in
            let film = try frames(path)
            let plain = path.replacing("film.ts", with: "plain.mp4")
            #expect(
                try Program.run(
                    "ffmpeg", ["-v", "error", "-y", "-f", "lavfi", "-i", source] + Self.coder + ["-crf", "4", plain])
                    != nil)
            let wanted = try #require(try frames(plain).last)
            #expect(SampleFrame.peakSignalToNoiseRatio(try #require(film.last), wanted) > 36)
        }
    }

    @Test("viewers receive upright frames by the codec's own aspect ratio in the VUI")
    func receivedRatio() throws {
        let source = "testsrc2=s=320x240:r=10:d=1,setsar=4/3"
        try with("film.h264", ["-f", "lavfi", "-i", source] + Self.coder) { path in
            let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: path)))
            let units = AnnexB.units(bytes)
            let end = try #require(units.firstIndex { $0[0] & 31 == 5 })
            let first: [UInt8] = units[...end].flatMap { [0, 0, 0, 1] + Array($0) }
            let frame = EncodedFrame(
                codec: .h264, bytes: first, isKeyFrame: true, timestamp: MediaTime(ticks: 0, rate: .video),
                captureTime: nil)
            #expect(try H264Decoder().decode(frame).first?.dimensions == Dimensions(width: 426, height: 240))
            var through = H264PassThrough()
            #expect(throws: TranscodeReason.anamorphic) {
                try through.pass(first, timestamp: frame.timestamp, captureTime: nil)
            }
        }
    }

    @Test("a display orientation message is a rotation")
    func orientationMessage() {
        /// Returns a message; anticlockwise_rotation is in units of a turn by 65,536 (H.264, section D.1.27).
        func unit(_ flags: UInt8, _ angle: UInt16) -> [UInt8] {
            // cancel, hor_flip, ver_flip, 16 bits of angle, period ue(v) "1", extension 0.
            let bits = UInt32(flags) << 21 | UInt32(angle) << 5 | 1 << 4
            return [0, 0, 0, 1, 6, 47, 3, UInt8(bits >> 16 & 255), UInt8(bits >> 8 & 255), UInt8(bits & 255), 0x80]
        }
        #expect(H264AccessUnit(unit(0b000, 16_384)).isRotated)
        #expect(H264AccessUnit(unit(0b010, 0)).isRotated)
        #expect(!H264AccessUnit(unit(0b000, 0)).isRotated)
        #expect(!H264AccessUnit(unit(0b100, 16_384)).isRotated)
    }
}
