import ArgumentParser
import Foundation
import PCastCore
import PCastJSON

/// `pcast-bench render` compares the cost of showing a film in a window with that of `ffplay`.
struct RenderCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "render",
        abstract: "Measure a file in a window: dropped frames, CPU time compared with ffplay, and audio-video skew.",
        discussion: """
            Both decode the same file of 1280x720 at 60 frames per second with audio and render it on an X server in \
            memory, in alternating rounds. “display” is the CPU time of that server in seconds. Then pcast plays a \
            file with flashes and beeps, while another program records the screen and the audio. “skew” is the delay \
            of the flash.
            """)

    @Option(help: "Duration of the file in seconds.")
    var seconds = 20

    @Option(help: "Number of alternating rounds.")
    var count = 2

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard seconds >= 1, count >= 1 else { throw ValidationError("--seconds and --count must be at least 1.") }
    }

    func run() async throws {
        var report = Report(options)
        let path = "/dev/shm/pcast-bench-\(getpid()).mp4"
        defer { unlink(path) }
        try makeFilm(path)
        let display = try MemoryDisplay(size: "1280x800")
        defer { display.end() }
        for (name, value) in [("DISPLAY", display.name), ("SDL_AUDIODRIVER", "dummy"), ("XDG_RUNTIME_DIR", "/tmp")] {
            setenv(name, value, 1)
        }
        unsetenv("WAYLAND_DISPLAY")
        var (ownTime, ffplayTime, framesDropped, frames) = (0.0, 0.0, 0.0, 0.0)
        for round in 1...count {
            let own = try measured(display) { try ChildCost.run("/proc/self/exe", ["render-worker", "--file", path]) }
            let parsed = try Self.parsed(own.cost.output)
            ownTime += own.cost.processor.seconds
            frames += parsed.frames
            framesDropped += parsed.frames - parsed.shown
            report.row(
                "pcast, turn \(round)",
                [
                    "processor": own.cost.processor.seconds, "display": own.display, "frames": parsed.frames,
                    "leftOut": parsed.frames - parsed.shown,
                ])
            let other = try measured(display) {
                try ChildCost.run("ffplay", ["-hide_banner", "-loglevel", "error", "-autoexit", path])
            }
            ffplayTime += other.cost.processor.seconds
            report.row(
                "ffplay, turn \(round)",
                [
                    "processor": other.cost.processor.seconds, "display": other.display, "frames": parsed.frames,
                    "leftOut": nil,
                ])
        }
        let flashes = try await SkewMeasurement.run(seconds: seconds)
        let skews = flashes.compactMap { $0 }
        let worst = skews.max { abs($0) < abs($1) }
        report.row(
            "audio-video skew",
            [
                "skew": Percentile.of(skews, 0.5), "worst": worst, "flashes": Double(flashes.count),
                "unheard": Double(flashes.count - skews.count),
            ])
        try report.finish(
            [
                "processor": ownTime / Double(count * seconds), "ffplayProcessor": ffplayTime / Double(count * seconds),
                "ratioToFFplay": ffplayTime > 0 ? ownTime / ffplayTime : nil, "frames": frames,
                "framesDropped": framesDropped,
                "skewP50": Percentile.of(skews, 0.5), "skewWorst": worst,
                "unheard": Double(flashes.count - skews.count),
            ],
            targets: [
                Target("ratioToFFplay", .atMost(1.2)), Target("framesDropped", .exactly(0)),
                Target("skewWorst", .within(20)), Target("unheard", .exactly(0)),
            ])
    }

    private func measured(
        _ display: MemoryDisplay, _ body: () throws -> ChildCost
    ) throws -> (cost: ChildCost, display: Double?) {
        let before = display.processor
        let cost = try body()
        let after = display.processor
        return (cost, before.flatMap { before in after.map { $0 - before } })
    }

    private static func parsed(_ output: String) throws -> (frames: Double, shown: Double) {
        guard let object = JSONObject(text: output.trimmingCharacters(in: .whitespacesAndNewlines)),
            let frames = object["frames"]?.number, let shown = object["shown"]?.number
        else { throw BenchFailure("the worker reported no result") }
        return (frames, shown)
    }

    private func makeFilm(_ path: String) throws {
        _ = try ChildCost.run(
            "ffmpeg",
            [
                "-hide_banner", "-loglevel", "error", "-nostdin", "-y", "-f", "lavfi", "-i",
                "testsrc2=size=1280x720:rate=60:duration=\(seconds)", "-f", "lavfi", "-i",
                "sine=frequency=440:sample_rate=48000:duration=\(seconds)", "-c:v", "libx264", "-preset", "veryfast",
                "-b:v", "4M", "-pix_fmt", "yuv420p", "-c:a", "aac", path,
            ])
    }
}
