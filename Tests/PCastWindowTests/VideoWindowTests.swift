import Foundation
import PCastCore
import Testing

@testable import PCastWindow

/// These tests use their own X servers, and read the windows from their screens.
@Suite(
    "Windows",
    .enabled(if: DisplayServer.isInstalled, "left out: windows: Xvfb is not installed (apt-get install xvfb)"),
    .enabled(
        if: SDLLibrary.isInstalled, "left out: windows: SDL 2 is not installed (apt-get install libsdl2-2.0-0)"),
    .enabled(if: WindowProgram.path != nil, "left out: windows: PCastWindowing was not built"),
    .timeLimit(.minutes(5)), .serialized)
struct VideoWindowTests {
    private static let (red, green, blue, white): (UInt32, UInt32, UInt32, UInt32) =
        (0xFF0000, 0x00FF00, 0x0000FF, 0xFFFFFF)

    /// Returns whether the four quarters of a part of the screen have these colors.
    private static func shows(
        _ frame: VideoFrame, _ colours: [UInt32], x: Int, y: Int, width: Int, height: Int
    ) -> Bool {
        let (left, right) = (x + width / 5, x + width * 4 / 5)
        let (top, bottom) = (y + height / 3, y + height * 4 / 5)
        return frame.shows(colours[0], left, top) && frame.shows(colours[1], right, top)
            && frame.shows(colours[2], left, bottom) && frame.shows(colours[3], right, bottom)
    }

    private static let upright = [red, green, blue, white]

    @Test("SDL is loaded when a window is opened and not before; it has the size of its first frame")
    func firstFrame() throws {
        let server = try DisplayServer()
        let user = try DisplayUser(server)
        let program = try WindowProgram(display: server.display)
        defer { program.end() }
        #expect(try program.ask("window") == "made")
        #expect(try program.ask("libraries") == "no SDL")
        #expect(try program.ask("open") == "open")
        #expect(try program.ask("libraries") == "SDL")
        #expect(try program.ask("show 400 300 7") == "done")
        // It is in the middle of the screen.
        let seen = try user.look { Self.shows($0, Self.upright, x: 200, y: 150, width: 400, height: 300) }
        #expect(Self.shows(seen, Self.upright, x: 200, y: 150, width: 400, height: 300))
        #expect(seen.shows(0, 100, 300))
        #expect(try program.ask("drawing") == "x11, libyuv")
    }

    @Test("frames are letterboxed, filled, mirrored and rotated", arguments: ["software", "accelerated"])
    func arrangement(drawing: String) throws {
        let server = try DisplayServer()
        let user = try DisplayUser(server)
        let program = try WindowProgram(display: server.display)
        defer { program.end() }
        _ = try program.ask("window 800 600 \(drawing)")
        #expect(try program.ask("open") == "open")
        _ = try program.ask("show 640 360 1")
        // 800 by 450 in the middle.
        let boxed = try user.look { Self.shows($0, Self.upright, x: 0, y: 75, width: 800, height: 450) }
        #expect(Self.shows(boxed, Self.upright, x: 0, y: 75, width: 800, height: 450))
        #expect(boxed.shows(0, 400, 30) && boxed.shows(0, 400, 570))
        let cases: [(String, [UInt32], Int, Int, Int, Int)] = [
            ("letterbox 1 0", [Self.green, Self.red, Self.white, Self.blue], 0, 75, 800, 450),
            ("letterbox 0 180", [Self.white, Self.blue, Self.green, Self.red], 0, 75, 800, 450),
            // 337 by 600 in the middle.
            ("letterbox 0 90", [Self.blue, Self.red, Self.white, Self.green], 232, 0, 337, 600),
            ("letterbox 0 270", [Self.green, Self.white, Self.red, Self.blue], 232, 0, 337, 600),
            ("letterbox 1 90", [Self.white, Self.green, Self.blue, Self.red], 232, 0, 337, 600),
            ("letterbox 2 0", [Self.blue, Self.white, Self.red, Self.green], 0, 75, 800, 450),
            ("fill 0 0", Self.upright, 0, 0, 800, 600),
        ]
        for (arrangement, colours, x, y, width, height) in cases {
            #expect(try program.ask("arrange \(arrangement)") == "done")
            let seen = try user.look { Self.isQuartered($0, colours, x, y, width, height) }
            #expect(Self.isQuartered(seen, colours, x, y, width, height), "\(arrangement), \(drawing)")
        }
    }

    /// Returns the same as `shows`, but for the centers of the quarters, because the time strip may be on any side.
    private static func isQuartered(
        _ frame: VideoFrame, _ colours: [UInt32], _ x: Int, _ y: Int, _ width: Int, _ height: Int
    ) -> Bool {
        let (left, right, top, bottom) = (x + width / 4, x + width * 3 / 4, y + height / 4, y + height * 3 / 4)
        let isBeside = x == 0 || frame.shows(0, x / 2, 300)
        return isBeside && frame.shows(colours[0], left, top) && frame.shows(colours[1], right, top)
            && frame.shows(colours[2], left, bottom) && frame.shows(colours[3], right, bottom)
    }

    @Test("the time strip is readable on the screen")
    func strip() throws {
        let server = try DisplayServer(width: 640, height: 480)
        let user = try DisplayUser(server)
        let program = try WindowProgram(display: server.display)
        defer { program.end() }
        _ = try program.ask("window")
        _ = try program.ask("open")
        _ = try program.ask("show 640 480 4711")
        let seen = try user.look { TestPatternStrip.read($0) != nil }
        #expect(TestPatternStrip.read(seen)?.counter == 4_711)
    }

    @Test("keys, resizing and the close button are reported; a closed window can be opened again with its frame")
    func events() throws {
        let server = try DisplayServer()
        let user = try DisplayUser(server)
        let program = try WindowProgram(display: server.display)
        defer { program.end() }
        _ = try program.ask("window 400 300")
        _ = try program.ask("open")
        #expect(try program.event("event ready") == "event ready(400x300)")
        _ = try program.ask("show 400 300 1")
        _ = try user.look { Self.shows($0, Self.upright, x: 200, y: 150, width: 400, height: 300) }
        try user.press("m")
        #expect(try program.event("event key").contains("\"m\""))
        try user.click(button: 3)
        try user.click()
        try user.press("s")
        #expect(try program.event("event clicked") == "event clicked")
        #expect(try program.event("event key").contains("\"s\""))
        try user.resize(width: 200, height: 150)
        #expect(try program.event("event resized") == "event resized(200x150)")
        let small = try user.look { Self.shows($0, Self.upright, x: 200, y: 150, width: 200, height: 150) }
        #expect(Self.shows(small, Self.upright, x: 200, y: 150, width: 200, height: 150))
        try user.pressClose()
        #expect(try program.event("event closed") == "event closed")
        let gone = try user.look { $0.shows(0, 250, 200) }
        #expect(gone.shows(0, 250, 200))
        _ = try program.ask("show 400 300 2")
        #expect(try program.ask("open") == "open")
        #expect(try program.event("event ready") == "event ready(400x300)")
        let again = try user.look { Self.shows($0, Self.upright, x: 200, y: 150, width: 400, height: 300) }
        #expect(Self.shows(again, Self.upright, x: 200, y: 150, width: 400, height: 300))
    }

    @Test("at twice the refresh rate the dropped frames are counted, and the rest is drawn")
    func counted() throws {
        let server = try DisplayServer()
        let program = try WindowProgram(display: server.display)
        defer { program.end() }
        _ = try program.ask("window 320 180")
        _ = try program.ask("open")
        let ran = try program.ask("run 360 180")
        let milliseconds = try #require(ran.split(separator: " ").last.flatMap { Int($0) })
        _ = try program.ask("close")
        _ = try program.event("event lost")
        let words = try program.ask("statistics").split(separator: " ").compactMap { Int($0) }
        #expect(words.count == 2 && words[0] + words[1] == 360, "\(words)")
        // 60 per second, and a margin for early frames.
        #expect((1...milliseconds * 60 / 1_000 + 3).contains(words[0]), "\(words) in \(milliseconds) ms")
    }

    @Test("a display that ends closes the window and not the program")
    func lostDisplay() throws {
        let server = try DisplayServer()
        let program = try WindowProgram(display: server.display)
        defer { program.end() }
        _ = try program.ask("window 320 180")
        _ = try program.ask("open")
        _ = try program.ask("show 320 180 1")
        server.end()
        #expect(try program.event("event lost").contains("the display was closed"))
        #expect(try program.ask("show 320 180 2") == "done")
        #expect(try program.ask("open").hasPrefix("refused"))
    }

    @Test("a window is opened again after its display has ended, on each of the next displays")
    func reopened() throws {
        var server = try DisplayServer()
        let program = try WindowProgram(display: server.display)
        defer { program.end() }
        _ = try program.ask("window 400 300")
        for counter in 1...4 {
            #expect(try program.ask("display \(server.display)") == "done")
            #expect(try program.ask("open") == "open")
            let user = try DisplayUser(server)
            _ = try program.ask("show 400 300 \(counter)")
            let seen = try user.look { Self.shows($0, Self.upright, x: 200, y: 150, width: 400, height: 300) }
            #expect(Self.shows(seen, Self.upright, x: 200, y: 150, width: 400, height: 300))
            #expect(try program.ask("drawing") == "x11, libyuv")
            server.end()
            _ = try program.ask("show 400 300 \(counter)")
            #expect(try program.event("event lost").contains("the display was closed"))
            server = try DisplayServer()
        }
        #expect(program.end() == 0)
    }

    /// Showing a frame wakes the thread of windows. This must not use the display, which ended the program in one of
    /// three rounds. SDL must not continue without the display, which crashed in one of six rounds.
    @Test("a display that ends closes the window and not the program, for any frame rate", arguments: 0..<6)
    func lostWhileDrawing(round: Int) throws {
        let server = try DisplayServer()
        let program = try WindowProgram(display: server.display)
        defer { program.end() }
        _ = try program.ask("window 320 180")
        _ = try program.ask("open")
        try program.give("run 6000 20000")
        _ = try program.event("event ready")
        server.end()
        #expect(try program.event("event lost").contains("the display was closed"))
        #expect(try program.answer().hasPrefix("ran"))
        #expect(program.end() == 0)
    }

    @Test("without a display there is no window, and the error says so")
    func noDisplay() throws {
        let program = try WindowProgram(display: nil)
        defer { program.end() }
        _ = try program.ask("window")
        #expect(try program.ask("open").contains("there is no display"))
        #expect(program.end() == 0)
    }

    @Test("a program may end while frames are drawn", arguments: ["software", "accelerated"])
    func end(drawing: String) throws {
        let server = try DisplayServer()
        let program = try WindowProgram(display: server.display)
        _ = try program.ask("window 640 480 \(drawing)")
        _ = try program.ask("open")
        _ = try program.ask("run 30 60")
        #expect(program.end() == 0)
    }
}

/// A test's own X server with a screen in memory (Xvfb). It finds a display number itself.
final class DisplayServer: Sendable {
    static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/Xvfb")

    /// The display, such as `:N`.
    let display: String
    private let process: Process

    init(width: Int = 800, height: Int = 600) throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/Xvfb")
        process.arguments = [
            "-displayfd", "1", "-nolisten", "tcp", "-noreset", "-screen", "0", "\(width)x\(height)x24",
        ]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        // The server writes the number when it listens.
        var number = ""
        while !number.hasSuffix("\n") {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { break }
            number += String(decoding: data, as: UTF8.self)
        }
        guard let first = number.split(separator: "\n").first else {
            throw WindowProgram.Silent(description: "Xvfb did not start")
        }
        display = ":\(first)"
    }

    deinit { end() }

    /// Ends the server. A second call has no effect.
    func end() {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }
}
