import ArgumentParser
import Foundation
import PCastCore
import PCastJSON

/// `pcast-bench capture` compares the CPU time of capture and encoding with that of the `ffmpeg` program.
struct CaptureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capture",
        abstract: "Compare the CPU time of capture and encoding with that of the program ffmpeg.",
        discussion: """
            Both read the same raw YUYV frames from memory at their frame rate, or from the same camera, convert \
            them, and encode them by libx264 with the same settings, in alternating rounds. The cost of drawing the \
            test pattern is listed separately. With --camera-size, the frames have this larger size, and both scale them to \
            --size. “handover” is the time from dequeuing a frame to the beginning of its \
            encoding, in milliseconds.
            """)

    @Option(help: "Total seconds of each of the two.")
    var seconds = 30

    @Option(help: "Number of alternating rounds.")
    var count = 3

    @Option(help: "Frame size.")
    var size = "1280x720"

    @Option(help: ArgumentHelp("Only size of the camera, from which frames are scaled.", valueName: "size"))
    var cameraSize: String?

    @Option(help: "Frames per second.")
    var rate = 30

    @Option(help: "Target bit rate of the encoder in kbit/s.")
    var bitrate: Int64 = 1_600

    @Option(help: ArgumentHelp("ID of a camera, instead of frames in memory.", valueName: "id"))
    var camera: String?

    @Option(help: ArgumentHelp("Device file of the same camera, for ffmpeg.", valueName: "path"))
    var node = "/dev/video0"

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard count >= 1, seconds >= count, rate >= 1, let dimensions, let captured else {
            throw ValidationError(
                "--seconds must be at least --count, and --size and --camera-size must be WIDTHxHEIGHT.")
        }
        guard captured.width >= dimensions.width, captured.height >= dimensions.height else {
            throw ValidationError("--camera-size \(captured): it must be at least --size \(dimensions).")
        }
    }

    private var dimensions: Dimensions? { Self.dimensions(size) }

    /// The size in which frames are captured.
    private var captured: Dimensions? { Self.dimensions(cameraSize ?? size) }

    private static func dimensions(_ text: String) -> Dimensions? {
        let sides = text.split(separator: "x").compactMap { Int($0) }
        return sides.count == 2 ? Dimensions(width: sides[0], height: sides[1]) : nil
    }

    func run() async throws {
        var report = Report(options)
        let path = "/dev/shm/pcast-bench-\(getpid()).yuyv"
        defer { unlink(path) }
        if camera == nil { try makeFrames(path) }
        let span = seconds / count
        var ownResults = CombinedResults()
        var ffmpegResults = CombinedResults()
        for index in 1...count {
            let own = try worker(camera == nil ? .memory : .camera, path, seconds: span)
            ownResults.add(own)
            report.row(
                "pcast, turn \(index)",
                ["processor": own.cost.milliseconds, "frames": own.encoded, "handoverP99": own.handoverP99])
            let other = try ffmpeg(path, seconds: span)
            ffmpegResults.add(other)
            report.row(
                "ffmpeg, turn \(index)",
                ["processor": other.cost.milliseconds, "frames": other.encoded, "handoverP99": nil])
        }
        let drawing = try worker(.drawing, path, seconds: min(span, 5))
        report.row("drawing the test pattern", ["processor": drawing.cost.milliseconds, "frames": drawing.captured])
        let ratio = ownResults.perFrame / ffmpegResults.perFrame
        var targets = [
            Target("ratioToFFmpeg", .atMost(cameraSize == nil ? 1.02 : 1.05)), Target("framesLost", .exactly(0)),
        ]
        if camera == nil { targets.append(Target("handoverP99", .atMost(2))) }
        try report.finish(
            [
                "processorPerFrame": ownResults.perFrame, "ffmpegPerFrame": ffmpegResults.perFrame,
                "ratioToFFmpeg": ratio,
                "drawingPerFrame": drawing.cost.milliseconds / max(1, drawing.captured),
                "handoverP50": ownResults.last?.handoverP50, "handoverP99": ownResults.handoverP99,
                "handoverMaximum": ownResults.handoverMaximum, "framesCaptured": ownResults.captured,
                "framesLost": camera == nil
                    ? Double(span * rate * count) - ownResults.encoded : ownResults.captured - ownResults.encoded,
            ], targets: targets)
    }

    // MARK: Processes

    private func worker(_ kind: CaptureWorkerCommand.Kind, _ path: String, seconds: Int) throws -> ProcessResult {
        guard let dimensions else { throw BenchFailure("\(size) is not a size: write WIDTHxHEIGHT") }
        var arguments = [
            "capture-worker", "--kind", kind.rawValue, "--frames", path, "--width", "\(dimensions.width)", "--height",
            "\(dimensions.height)", "--rate", "\(rate)", "--bitrate", "\(bitrate)", "--seconds", "\(seconds)",
        ]
        if let camera { arguments += ["--camera", camera] }
        if let captured, cameraSize != nil {
            arguments += ["--camera-width", "\(captured.width)", "--camera-height", "\(captured.height)"]
        }
        let cost = try ChildCost.run("/proc/self/exe", arguments)
        guard let output = JSONObject(text: cost.output.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw BenchFailure("the worker reported no result")
        }
        let metric = { (name: String) -> Double in
            output[name]?.number ?? 0
        }
        return ProcessResult(
            cost: cost.processor, captured: metric("captured"), encoded: metric("encoded"),
            handoverP50: metric("handoverP50"), handoverP99: metric("handoverP99"),
            handoverMaximum: metric("handoverMaximum"))
    }

    private func ffmpeg(_ path: String, seconds: Int) throws -> ProcessResult {
        let captured = cameraSize ?? size
        let input =
            camera == nil
            ? [
                "-re", "-stream_loop", "-1", "-f", "rawvideo", "-pixel_format", "yuyv422", "-video_size", captured,
                "-framerate", "\(rate)", "-i", path,
            ]
            : [
                "-f", "v4l2", "-input_format", "yuyv422", "-video_size", captured, "-framerate", "\(rate)", "-i", node,
            ]
        // Frames are averaged, as by PCast.
        let scaling = cameraSize == nil ? [] : ["-vf", "scale=\(size.replacing("x", with: ":")):flags=area"]
        let arguments =
            ["-hide_banner", "-loglevel", "error", "-nostdin"] + input + scaling + [
                "-frames:v", "\(seconds * rate)", "-pix_fmt", "yuv420p", "-threads", "1", "-c:v", "libx264", "-preset",
                "superfast", "-tune", "zerolatency", "-profile:v", "baseline", "-b:v", "\(bitrate)k", "-maxrate",
                "\(bitrate)k", "-bufsize", "\(bitrate / 2)k", "-g", "\(rate * 3_600)", "-bf", "0", "-x264-params",
                "scenecut=0:repeat-headers=1:annexb=1:aud=0:sliced-threads=0", "-f", "null", "-",
            ]
        let cost = try ChildCost.run("ffmpeg", arguments)
        return ProcessResult(cost: cost.processor, captured: Double(seconds * rate), encoded: Double(seconds * rate))
    }

    /// Generates two seconds of moving frames with camera noise.
    private func makeFrames(_ path: String) throws {
        _ = try ChildCost.run(
            "ffmpeg",
            [
                "-hide_banner", "-loglevel", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
                "testsrc2=size=\(cameraSize ?? size):rate=\(rate),noise=alls=6:allf=t:all_seed=1", "-frames:v",
                "\(rate * 2)",
                "-pix_fmt", "yuyv422", "-f", "rawvideo", path,
            ])
    }

    /// The results of one process.
    struct ProcessResult {
        var cost: TimeSpan
        var captured: Double
        var encoded: Double
        var handoverP50: Double?
        var handoverP99: Double?
        var handoverMaximum: Double?
    }

    /// The combined results of one of the two programs.
    private struct CombinedResults {
        var last: ProcessResult?
        var captured = 0.0
        var encoded = 0.0
        var handoverP99: Double?
        var handoverMaximum: Double?
        private var milliseconds = 0.0

        /// The CPU time per frame, in milliseconds.
        var perFrame: Double { milliseconds / max(1, encoded) }

        mutating func add(_ span: ProcessResult) {
            last = span
            captured += span.captured
            encoded += span.encoded
            milliseconds += span.cost.milliseconds
            handoverP99 = [handoverP99, span.handoverP99].compactMap { $0 }.max()
            handoverMaximum = [handoverMaximum, span.handoverMaximum].compactMap { $0 }.max()
        }
    }
}
