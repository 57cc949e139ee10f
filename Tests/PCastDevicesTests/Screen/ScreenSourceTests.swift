import Foundation
import PCastCore
import PCastIO
import Synchronization
import Testing

@testable import PCastDevices

/// These tests use their own X servers, with programs that draw on them.
@Suite(
    "The capture of screens",
    .enabled(if: TestXServer.isInstalled, "left out: screen capture: Xvfb is not installed (apt-get install xvfb)"),
    .timeLimit(.minutes(5)), .serialized)
struct ScreenSourceTests {
    private static func frames(
        _ server: TestXServer, _ area: ScreenSpecification.Area = .screen, frameRate: Int = 50,
        showsPointer: Bool = false
    ) throws -> ScreenFrames {
        try ScreenFrames(
            ScreenSource(
                .init(display: server.display, area: area), frameRate: FrameRate(frameRate), showsPointer: showsPointer)
        )
    }

    /// Fills four quarters of the screen with four colors.
    private static func draw(_ client: TestXClient, width: Int, height: Int) {
        let (x, y) = (width / 2, height / 2)
        client.fill(.red, x: 0, y: 0, width: x, height: y)
        client.fill(.green, x: x, y: 0, width: width - x, height: y)
        client.fill(.blue, x: 0, y: y, width: x, height: height - y)
        client.fill(.white, x: x, y: y, width: width - x, height: height - y)
    }

    private static func isDrawn(_ frame: VideoFrame) -> Bool {
        let (width, height) = (frame.dimensions.width, frame.dimensions.height)
        return frame.shows(.red, atX: 2, y: 2) && frame.shows(.green, atX: width - 3, y: 2)
            && frame.shows(.blue, atX: 2, y: height - 3) && frame.shows(.white, atX: width - 3, y: height - 3)
    }

    @Test(
        "a whole screen is captured exactly: with shared memory, without, in 16 bits, and cut to even numbers",
        arguments: [
            ("800x600x24", [], 800, 600), ("800x600x24", ["-extension", "MIT-SHM"], 800, 600),
            ("640x480x16", [], 640, 480), ("801x603x24", [], 800, 602), ("5120x2880x24", [], 5_120, 2_880),
        ] as [(String, [String], Int, Int)])
    func wholeScreen(_ screen: String, _ options: [String], _ width: Int, _ height: Int) async throws {
        let server = try TestXServer(screens: [screen], options: options)
        let client = TestXClient(server.display)
        Self.draw(client, width: width, height: height)
        let frames = try Self.frames(server)
        #expect(frames.source.dimensions == Dimensions(width: width, height: height))
        let frame = try #require(await frames.first(where: Self.isDrawn))
        #expect(frame.dimensions == Dimensions(width: width, height: height))
        // The borders of the quarters are at their positions.
        #expect(frame.shows(.red, atX: width / 2 - 2, y: height / 2 - 2))
        #expect(frame.shows(.white, atX: width / 2 + 2, y: height / 2 + 2))
    }

    @Test("images are transferred by shared memory if the server has it", arguments: [true, false])
    func sharedMemory(_ hasIt: Bool) throws {
        let server = try TestXServer(options: hasIt ? [] : ["-extension", "MIT-SHM"])
        let grabber = try ScreenGrabber(.init(display: server.display), showsPointer: true)
        let grab = grabber.grab(
            captureTime: WallTime(nanosecondsSinceEpoch: 0), timestamp: MediaTime(ticks: 0, rate: .video))
        guard case .frame = grab else {
            Issue.record("no frame was delivered")
            return
        }
        #expect(grabber.usesSharedMemory == hasIt)
    }

    @Test("later drawing is visible, and times follow the clock")
    func movingFrame() async throws {
        let server = try TestXServer()
        let client = TestXClient(server.display)
        client.fill(.black, x: 0, y: 0, width: 800, height: 600)
        let before = WallTime(nanosecondsSinceEpoch: Int64(Date().timeIntervalSince1970 * 1e9))
        let frames = try Self.frames(server)
        var last = try #require(await frames.first { $0.shows(.black, atX: 400, y: 300) })
        for colour in [TestXClient.Colour.red, .blue, .green] {
            client.fill(colour, x: 0, y: 0, width: 800, height: 600)
            let frame = try #require(await frames.first { $0.shows(colour, atX: 400, y: 300) })
            let (captured, lastCaptured) = (try #require(frame.captureTime), try #require(last.captureTime))
            #expect(captured > lastCaptured && frame.timestamp.ticks > last.timestamp.ticks)
            let passed = ClockRate.video.span(ofTicks: frame.timestamp.ticks - last.timestamp.ticks)
            #expect((captured - lastCaptured - passed).magnitude < .milliseconds(1))
            last = frame
        }
        let after = WallTime(nanosecondsSinceEpoch: Int64(Date().timeIntervalSince1970 * 1e9))
        let captured = try #require(last.captureTime)
        #expect(captured > before - .milliseconds(5) && captured < after + .milliseconds(5))
    }

    @Test("the pointer is drawn at its position, and not if it is disabled")
    func pointer() async throws {
        let server = try TestXServer()
        let client = TestXClient(server.display)
        client.fill(.black, x: 0, y: 0, width: 800, height: 600)
        client.setPointer(.red, side: 16)
        client.movePointer(x: 100, y: 200)
        let frames = try Self.frames(server, showsPointer: true)
        let frame = try #require(await frames.first { $0.shows(.red, atX: 100, y: 200) })
        #expect(frame.shows(.red, atX: 94, y: 194) && frame.shows(.red, atX: 106, y: 206))
        #expect(frame.shows(.black, atX: 88, y: 200) && frame.shows(.black, atX: 112, y: 200))
        client.movePointer(x: 799, y: 0)
        let moved = try #require(await frames.first { $0.shows(.red, atX: 797, y: 2) })
        #expect(moved.shows(.black, atX: 100, y: 200))
        let without = try Self.frames(server)
        #expect(try #require(await without.first { _ in true }).shows(.black, atX: 797, y: 2))
    }

    @Test("a window is captured alone: behind another window, beyond the edge, with the pointer at its position")
    func window() async throws {
        let server = try TestXServer()
        let client = TestXClient(server.display)
        let window = client.window(.green, x: 100, y: 100, width: 200, height: 150)
        client.fill(.blue, in: window, x: 0, y: 0, width: 100, height: 150)
        client.setPointer(.red, side: 16)
        client.movePointer(x: 150, y: 120)
        let frames = try Self.frames(server, .window(window), showsPointer: true)
        #expect(frames.source.dimensions == Dimensions(width: 200, height: 150))
        let isWhole = { (frame: VideoFrame) in
            frame.shows(.blue, atX: 10, y: 140) && frame.shows(.green, atX: 190, y: 140)
        }
        let alone = try #require(await frames.first { isWhole($0) && $0.shows(.red, atX: 50, y: 20) })
        #expect(alone.dimensions == Dimensions(width: 200, height: 150))
        // Another window covers it, and must not be visible.
        let cover = client.window(.white, x: 0, y: 0, width: 800, height: 600)
        client.fill(.blue, in: window, x: 0, y: 0, width: 100, height: 75)
        client.fill(.black, in: window, x: 100, y: 0, width: 100, height: 75)
        _ = try #require(await frames.first { isWhole($0) && $0.shows(.black, atX: 150, y: 30) })
        client.close(cover)
        // Beyond the lower right edge, the pointer stays at its position and does not move in the window.
        client.move(window, x: 700, y: 550)
        client.fill(.white, in: window, x: 180, y: 130, width: 20, height: 20)
        let hanging = try #require(await frames.first { $0.shows(.white, atX: 190, y: 140) })
        #expect(hanging.shows(.blue, atX: 10, y: 140) && !hanging.shows(.red, atX: 50, y: 20))
    }

    @Test(
        "a window that is resized during the capture gives frames of the new size, even, without its border",
        arguments: [[], ["-extension", "MIT-SHM"], ["-extension", "Composite"]])
    func resized(_ options: [String]) async throws {
        let server = try TestXServer(options: options)
        let client = TestXClient(server.display)
        let window = client.window(.green, x: 10, y: 10, width: 200, height: 150, border: 5)
        let frames = try Self.frames(server, .window(window))
        _ = try #require(await frames.first { $0.dimensions == Dimensions(width: 200, height: 150) })
        for (width, height) in [(321, 243), (100, 500), (1, 1), (640, 480), (64, 64)] {
            client.resize(window, width: width, height: height)
            client.fill(.red, in: window, x: 0, y: 0, width: width, height: height)
            // A window of fewer than two pixels has no frame, so the last frame remains.
            guard width > 1 else { continue }
            let even = Dimensions(width: width & ~1, height: height & ~1)
            let frame = try #require(
                await frames.first { $0.dimensions == even && $0.shows(.red, atX: even.width - 2, y: even.height - 2) })
            #expect(frame.shows(.red, atX: 0, y: 0))
            #expect(frames.source.dimensions == even)
        }
    }

    @Test("a hidden window keeps the last frame, and the next one follows when it is visible again")
    func hidden() async throws {
        let server = try TestXServer()
        let client = TestXClient(server.display)
        let window = client.window(.green, x: 10, y: 10, width: 200, height: 150)
        let frames = try Self.frames(server, .window(window))
        _ = try #require(await frames.first { $0.shows(.green, atX: 50, y: 50) })
        client.hide(window)
        var shown: [VideoFrame] = []
        while shown.count < 5 { shown.append(try #require(await frames.first { _ in true })) }
        #expect(shown.allSatisfy { $0.shows(.green, atX: 50, y: 50) })
        #expect(zip(shown, shown.dropFirst()).allSatisfy { $0.timestamp.ticks < $1.timestamp.ticks })
    }

    @Test("a window that is closed ends the source")
    func closed() async throws {
        let server = try TestXServer()
        let client = TestXClient(server.display)
        let window = client.window(.green, x: 10, y: 10, width: 200, height: 150)
        let frames = try Self.frames(server, .window(window))
        _ = try #require(await frames.first { _ in true })
        client.close(window)
        #expect(await frames.ending() == .ended)
    }

    @Test("monitors are listed with the screen, and captured by name; a removed one has vanished")
    func monitors() async throws {
        let server = try TestXServer()
        let client = TestXClient(server.display)
        client.setMonitor("left", x: 0, y: 0, width: 301, height: 600)
        client.setMonitor("right", x: 301, y: 100, width: 400, height: 301)
        Self.draw(client, width: 800, height: 600)
        let devices = Screens.enumerate(display: server.display)
        #expect(devices.map(\.info.id).first == "x11:\(server.display).0")
        #expect(devices.map(\.info.id).contains("x11:\(server.display).0:right"))
        let right = try #require(devices.first { $0.info.id.hasSuffix(":right") })
        #expect(right.info.deviceType == .systemOutput && right.info.mediaType == .video)
        guard case .video(let capabilities) = right.capabilities else {
            Issue.record("no video")
            return
        }
        #expect(capabilities.formats.map(\.sizes) == [.discrete(Dimensions(width: 400, height: 300))])
        #expect(capabilities.formats.map(\.encoding) == [.computed])
        let frames = try ScreenFrames(
            ScreenSource(try ScreenSpecification(right.info.id), frameRate: FrameRate(50), showsPointer: false))
        let frame = try #require(await frames.first { $0.shows(.green, atX: 390, y: 10) })
        #expect(frame.dimensions == Dimensions(width: 400, height: 300))
        // The middle of the screen is at 400, 300.
        #expect(frame.shows(.red, atX: 96, y: 190) && frame.shows(.white, atX: 102, y: 206))
        client.moveMonitor("right", x: 400, y: 300, width: 200, height: 200)
        let moved = try #require(await frames.first { $0.dimensions == Dimensions(width: 200, height: 200) })
        #expect(moved.shows(.white, atX: 2, y: 2))
        client.deleteMonitor("right")
        guard case .vanished = await frames.ending() else {
            Issue.record("the source did not report that it vanished")
            return
        }
    }

    @Test("a screen that is resized during the capture gives frames of that size")
    func resizedScreen() async throws {
        let server = try TestXServer()
        let client = TestXClient(server.display)
        let frames = try Self.frames(server)
        for (width, height) in [(640, 481), (300, 200), (800, 600)] {
            client.resizeScreen(width: width, height: height)
            Self.draw(client, width: width, height: height & ~1)
            let even = Dimensions(width: width, height: height & ~1)
            _ = try #require(await frames.first { $0.dimensions == even && Self.isDrawn($0) })
        }
    }

    @Test("a screen without monitor information is listed with its own size and a standard rate")
    func enumerated() throws {
        let server = try TestXServer(screens: ["801x603x24"])
        let devices = Screens.enumerate(display: server.display)
        let screen = try #require(devices.first)
        #expect(screen.info.id == "x11:\(server.display).0")
        #expect(
            screen.capabilities
                == .video(
                    VideoCapabilities(formats: [
                        CaptureFormat(
                            encoding: .computed, sizes: .discrete(Dimensions(width: 800, height: 602)),
                            rates: .range(slowest: FrameRate(1), fastest: FrameRate(60), isContinuous: true))
                    ])))
        let second = try TestXServer(screens: ["320x200x24", "640x400x24"])
        #expect(Screens.enumerate(display: "\(second.display).1").first?.info.id == "x11:\(second.display).1")
    }

    @Test("a window is found by its number, with its size and an id for capture")
    func foundWindow() async throws {
        let server = try TestXServer()
        let client = TestXClient(server.display)
        let window = client.window(.blue, x: 10, y: 10, width: 203, height: 150)
        let found = try Screens.find(try ScreenSpecification("\(server.display)+\(window)"))
        #expect(found.info.id == "x11:\(server.display).0+0x\(String(window, radix: 16))")
        guard case .video(let capabilities) = found.capabilities else {
            Issue.record("no video")
            return
        }
        #expect(capabilities.formats.map(\.sizes) == [.discrete(Dimensions(width: 202, height: 150))])
        let frames = try ScreenFrames(ScreenSource(try ScreenSpecification(found.info.id)))
        _ = try #require(await frames.first { $0.shows(.blue, atX: 100, y: 100) })
        #expect(throws: DeviceError.self) { try Screens.find(.init(display: server.display, area: .monitor("none"))) }
    }

    @Test("a server that ends has vanished, and a later search reports no server and where it looked")
    func serverGone() async throws {
        let server = try TestXServer()
        let frames = try Self.frames(server)
        _ = try #require(await frames.first { _ in true })
        server.end()
        guard case .vanished = await frames.ending() else {
            Issue.record("the source did not report that it vanished")
            return
        }
        #expect(Screens.enumerate(display: server.display).isEmpty)
        do throws(DeviceError) {
            _ = try ScreenSource(.init(display: server.display))
            Issue.record("a screen source was created without an X server")
        } catch {
            guard case .notFound(_, let place) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(place.contains(server.display))
        }
    }

    @Test("an error names a missing monitor, window or screen")
    func notThere() throws {
        let server = try TestXServer()
        for (text, what) in [
            ("\(server.display):HDMI-9", "monitor HDMI-9"), ("\(server.display)+0x7000001", "window 0x7000001"),
            ("\(server.display).4", "screen 4"),
        ] {
            do throws(DeviceError) {
                _ = try ScreenSource(try ScreenSpecification(text))
                Issue.record("\(text) was found")
            } catch {
                guard case .notFound(what, _) = error else {
                    Issue.record("\(error)")
                    return
                }
            }
        }
    }

    @Test("a server that requires an unknown cookie is forbidden")
    func forbidden() throws {
        let server = try TestXServer(wantsCookie: true)
        #expect(throws: DeviceError.forbidden("screen:\(server.display)", group: nil)) {
            try ScreenSource(.init(display: server.display))
        }
    }

    @Test("a server that hangs does not block a stop")
    func hanging() async throws {
        let server = try TestXServer()
        let frames = try Self.frames(server)
        _ = try #require(await frames.first { _ in true })
        server.freeze()
        frames.source.stop()
        frames.source.stop()
    }

    @Test("a slow consumer causes dropped frames, which are counted")
    func slow() async throws {
        let server = try TestXServer()
        let source = try ScreenSource(.init(display: server.display), frameRate: FrameRate(100))
        let (frames, continuation) = AsyncStream<VideoFrame>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let isFirst = Mutex(true)
        try source.start(
            deliver: { sample in
                // The first delivery takes as long as ten frames.
                let wasFirst = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                if wasFirst {
                    FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(100))
                }
                if case .frame(let frame) = sample { continuation.yield(frame) }
            }, ended: { _ in })
        for await _ in frames where source.leftOutCount > 0 { break }
        #expect(source.leftOutCount > 0)
        source.stop()
    }

    @Test("a source that its own delivery stops ends")
    func stoppedWithin() async throws {
        let server = try TestXServer()
        let source = try ScreenSource(.init(display: server.display), frameRate: FrameRate(100))
        let (stopped, continuation) = AsyncStream<Void>.makeStream()
        try source.start(
            deliver: { [weak source] _ in
                source?.stop()
                continuation.finish()
            }, ended: { _ in Issue.record("a stopped source must not report an end") })
        for await _ in stopped {}
        source.stop()
    }
}
