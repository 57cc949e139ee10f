import CLinux
import Foundation
import PCastCore
import PCastIO
import PCastOverlay
import PCastRendering
import Synchronization
import Testing

@testable import PCastPlayback

/// A pseudo-terminal whose user presses keys and clicks, and does not read.
private final class UsedTerminal: Sendable {
    let path: String
    private let master: Int32
    private let slave: Int32
    private let isClosed = Atomic(false)

    init() throws {
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (lock, number): (Int32, Int32) = (0, 0)
        // TIOCSPTLCK and TIOCGPTN perform unlockpt and ptsname, which Swift does not import.
        guard master >= 0, ioctl(master, 0x4004_5431, &lock) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
            throw IOError.system(call: "opening /dev/ptmx", errno: errno)
        }
        path = "/dev/pts/\(number)"
        slave = open(path, O_RDWR | O_NOCTTY)
        var size = winsize(ws_row: 20, ws_col: 60, ws_xpixel: 480, ws_ypixel: 320)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
        Thread.detachNewThread { [self] in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while !isClosed.load(ordering: .relaxed) {
                if DescriptorReadiness.wait(for: master, within: .milliseconds(20)) == .ready {
                    _ = read(master, &buffer, buffer.count)
                }
            }
            Foundation.close(master)
            Foundation.close(slave)
        }
    }

    func close() { isClosed.store(true, ordering: .relaxed) }

    func type(_ text: String) { _ = text.withCString { write(master, $0, strlen($0)) } }

    func click() { type("\u{1B}[<0;5;5M\u{1B}[<0;5;5m") }
}

/// "Sent when the player changes the visibility of the player controls. Typically when the player stage is clicked or
/// if the native controls hide automatically after a timeout, the player plugin should notify about this change."
@Suite("The built-in controls of a player", .timeLimit(.minutes(5)), .serialized)
struct PlayerControlsTests {
    /// A player on a terminal, with an overlay whose `playerStage` notifications are recorded.
    private final class Stage: Sendable {
        let terminal: UsedTerminal
        let surface: TerminalSurface
        let controls: PlayerControls
        let player: Player
        let scripts = ScriptedPipelines()
        let overlay: Overlay
        let center = NotificationCenter()
        let stages: AsyncStream<String>
        nonisolated(unsafe) private let observer: any NSObjectProtocol

        init() throws {
            terminal = try UsedTerminal()
            surface = try TerminalSurface(
                TerminalOptions(path: terminal.path, drawing: .halfBlocks, timeout: .milliseconds(10)))
            controls = PlayerControls(on: surface)
            player = Player(scripts.factory)
            controls.attach(player)
            overlay = try Overlay(
                program: "game", player: PlayerOverlayPlugin(player, controls: controls), center: center)
            let (stages, continuation) = AsyncStream.makeStream(of: String.self)
            self.stages = stages
            observer = center.addObserver(
                forName: OverlayNotificationKeys.playerStage, object: nil, queue: nil
            ) { notification in
                continuation.yield(
                    notification.userInfo?[OverlayNotificationKeys.controlsUserInfoKey] as? String ?? "none")
            }
            overlay.load()
        }

        func close() {
            center.removeObserver(observer)
            overlay.destroy()
            controls.close()
            surface.close()
            terminal.close()
        }

        func play() async throws {
            player.set(video: Video("https://a.example/a.mp4"), play: true)
            let script = try await scripts.last(player)
            script.open(.film(60))
            script.completeSeek(at: .zero)
            await player.settled()
        }
    }

    @Test("playerStage is sent when the player stage is clicked")
    func click() async throws {
        let stage = try Stage()
        defer { stage.close() }
        var stages = stage.stages.makeAsyncIterator()
        stage.terminal.click()
        #expect(await stages.next() == "visible")
        #expect(stage.controls.isVisible)
        stage.terminal.click()
        #expect(await stages.next() == "hidden")
    }

    @Test("playerStage is sent when a key shows the controls")
    func key() async throws {
        let stage = try Stage()
        defer { stage.close() }
        var stages = stage.stages.makeAsyncIterator()
        stage.terminal.type("m")
        #expect(await stages.next() == "visible")
        // A key causes no notification if the controls are visible already.
        stage.terminal.type("m")
        stage.terminal.click()
        #expect(await stages.next() == "hidden")
    }

    @Test("playerStage is sent if the native controls hide automatically after a timeout")
    func timeout() async throws {
        let stage = try Stage()
        defer { stage.close() }
        try await stage.play()
        var stages = stage.stages.makeAsyncIterator()
        let start = MonotonicClock.now()
        stage.terminal.type(" ")
        #expect(await stages.next() == "visible")
        #expect(await stages.next() == "hidden")
        #expect(MonotonicClock.now() - start >= ControlsVisibility.timeout)
    }

    @Test("an overlay's requests to the controls are performed, and sent as playerStage once")
    func overlay() async throws {
        let stage = try Stage()
        defer { stage.close() }
        var stages = stage.stages.makeAsyncIterator()
        stage.center.post(
            name: OverlayNotificationKeys.bridgeStage, object: nil,
            userInfo: [OverlayNotificationKeys.controlsUserInfoKey: "visible"])
        #expect(await stages.next() == "visible")
        #expect(stage.controls.isVisible)
        stage.terminal.click()
        #expect(await stages.next() == "hidden")
    }

    @Test("the bar is drawn on the surface while the controls are visible, also while the player is paused")
    func drawn() async throws {
        let memory = MemorySurface()
        let controls = PlayerControls(on: memory)
        let size = Dimensions(width: 320, height: 180)
        let frame = grey(size)
        controls.surface.show(frame)
        #expect(memory.frame === frame)
        controls.setVisible(true)
        let drawn = try #require(memory.frame)
        let bar = ControlsBar.height(of: size)
        func luma(_ frame: VideoFrame, _ x: Int, _ y: Int) -> UInt8 { frame.planeY[y * frame.strideY + x] }
        #expect(luma(drawn, 2, 100) == 126 && luma(drawn, 1, size.height - 1) == 16 + 110 / 3)
        #expect(luma(drawn, bar / 2, size.height - bar / 2) == 235)
        #expect(luma(drawn, size.width - bar, size.height - bar / 2) == 235)
        controls.setVisible(false)
        #expect(memory.frame === frame)
        controls.close()
    }

    private func grey(_ size: Dimensions) -> VideoFrame {
        let memory = UnsafeMutableRawBufferPointer.allocate(
            byteCount: VideoFrame.layout(size).byteCount, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 126)
        return VideoFrame(
            dimensions: size, captureTime: nil, timestamp: MediaTime(ticks: 0, rate: .video), memory: memory,
            release: { $0.deallocate() })
    }
}

@Suite("The visibility of a player's controls")
struct ControlsVisibilityTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: 0) + .milliseconds(milliseconds) }

    @Test("controls are initially hidden, a click shows or hides them, and a key shows them")
    func input() {
        var visibility = ControlsVisibility()
        #expect(!visibility.isVisible)
        visibility.click(at: at(0))
        #expect(visibility.isVisible)
        visibility.press(at: at(1))
        #expect(visibility.isVisible)
        visibility.click(at: at(2))
        #expect(!visibility.isVisible)
        visibility.press(at: at(3))
        #expect(visibility.isVisible)
    }

    @Test("controls hide three seconds after the last click or key, but not while the player is paused")
    func timeout() {
        var visibility = ControlsVisibility()
        visibility.press(at: at(0))
        visibility.advance(to: at(60_000))
        #expect(visibility.isVisible && visibility.deadline == nil)
        visibility.setPlaying(true, at: at(60_000))
        #expect(visibility.deadline == at(63_000))
        visibility.press(at: at(62_000))
        visibility.advance(to: at(64_999))
        #expect(visibility.isVisible)
        visibility.advance(to: at(65_000))
        #expect(!visibility.isVisible && visibility.deadline == nil)
        visibility.click(at: at(70_000))
        visibility.setPlaying(false, at: at(71_000))
        visibility.advance(to: at(99_000))
        #expect(visibility.isVisible)
    }
}
