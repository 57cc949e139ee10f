import Foundation
import PCastCodecs
import PCastCore
import PCastIO
import PCastRendering
import PCastWindow
import Synchronization

/// A program with a window that its standard input controls. Each line is a command, and each is answered by a line.
/// The tests of windows run it, because a process's environment names the display.
///
/// Events of windows are written as they occur, in lines that begin with “event”.
@main
enum Windowing {
    static func main() async {
        var stage = WindowTestSetup()
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            guard let command = words.first else { continue }
            if command == "quit" { break }
            await notify(stage.perform(command, Array(words.dropFirst())))
        }
    }

    static func notify(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}

/// The implementation of the commands.
struct WindowTestSetup {
    private var window: VideoWindow?
    private var following: Task<Void, Never>?

    mutating func perform(_ command: String, _ words: [String]) async -> String {
        switch command {
        case "window": make(words)
        case "open": await open()
        case "close": with { $0.close() }
        case "show": show(words)
        case "run": run(words)
        case "arrange": arrange(words)
        case "fullscreen": with { $0.isFullscreen = words.first == "on" }
        case "statistics":
            window.map { "shown \($0.statistics.framesShown) left out \($0.statistics.framesLeftOut)" } ?? "none"
        case "drawing": window?.drawing ?? "none"
        case "libraries": libraries
        case "display": display(words)
        default: "what is \(command)?"
        }
    }

    /// Performs `window [WIDTH HEIGHT] [DRAWING]`.
    private mutating func make(_ words: [String]) -> String {
        var options = WindowOptions(arrangement: FrameArrangement(aspectRatioMode: .letterbox))
        let numbers = words.compactMap { Int($0) }
        if numbers.count == 2 { options.dimensions = Dimensions(width: numbers[0], height: numbers[1]) }
        for word in words { if let drawing = WindowOptions.Drawing(rawValue: word) { options.drawing = drawing } }
        let window = VideoWindow(options)
        let events = window.events
        following?.cancel()
        following = Task { for await event in events { Windowing.notify("event \(event)") } }
        self.window = window
        return "made"
    }

    private func open() async -> String {
        do throws(WindowError) {
            try await window?.open()
            return "open"
        } catch {
            return "refused \(error)"
        }
    }

    private func with(_ body: (VideoWindow) -> Void) -> String {
        guard let window else { return "none" }
        body(window)
        return "done"
    }

    /// Performs `show WIDTH HEIGHT COUNTER`: quarters of red, green, blue and white below the time strip.
    private func show(_ words: [String]) -> String {
        let numbers = words.compactMap { Int($0) }
        guard numbers.count == 3, let frame = Self.frame(numbers[0], numbers[1], counter: numbers[2]) else {
            return "no frame"
        }
        return with { $0.show(frame) }
    }

    /// Performs `run COUNT RATE`: this many frames at this frame rate. Returns the duration in milliseconds.
    private func run(_ words: [String]) -> String {
        let numbers = words.compactMap { Int($0) }
        guard numbers.count == 2, let window else { return "none" }
        let frames = (0..<8).compactMap { Self.frame(320, 180, counter: $0) }
        let start = MonotonicClock.now()
        for index in 0..<numbers[0] {
            FramePacing.sleep(until: start + TimeSpan.seconds(Int64(index)) / Int64(numbers[1]))
            window.show(frames[index % frames.count])
        }
        return "ran \(Int((MonotonicClock.now() - start).milliseconds))"
    }

    /// Performs `arrange MODE MIRRORING DEGREES`.
    private func arrange(_ words: [String]) -> String {
        guard words.count == 3, let mode = AspectRatioMode(rawValue: words[0]), let mirroring = UInt8(words[1]),
            let turn = Int(words[2]).flatMap({ FrameRotation(degrees: $0) })
        else { return "no arrangement" }
        return with {
            $0.arrangement = FrameArrangement(
                aspectRatioMode: mode, mirroring: FrameMirroring(rawValue: mirroring), rotation: turn)
        }
    }

    /// Performs `display NAME`: sets the display of windows that are opened later, by `DISPLAY` or `WAYLAND_DISPLAY`.
    private func display(_ words: [String]) -> String {
        guard let name = words.first else { return "no display" }
        setenv(name.hasPrefix(":") ? "DISPLAY" : "WAYLAND_DISPLAY", name, 1)
        return "done"
    }

    /// Whether SDL is loaded.
    private var libraries: String {
        dlopen("libSDL2-2.0.so.0", RTLD_NOW | RTLD_NOLOAD) == nil ? "no SDL" : "SDL"
    }

    private static func frame(_ width: Int, _ height: Int, counter: Int) -> VideoFrame? {
        var bytes: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                let isRight = x >= width / 2
                let colour: [UInt8] =
                    y < height / 2
                    ? (isRight ? [0, 255, 0] : [0, 0, 255]) : (isRight ? [255, 255, 255] : [255, 0, 0])
                bytes += colour + [255]
            }
        }
        let frame = bytes.withUnsafeBytes {
            try? RawFrameConverter().convert(
                $0, format: .bgra, dimensions: Dimensions(width: width, height: height), isFullRange: true,
                captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video))
        }
        guard let frame else { return nil }
        TestPatternStrip.draw(
            TestPatternStamp(counter: UInt16(truncatingIfNeeded: counter), captureTime: MonotonicClock.wallTime()),
            into: frame)
        return frame
    }
}
