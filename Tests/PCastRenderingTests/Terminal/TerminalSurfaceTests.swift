import Foundation
import PCastCore
import PCastIO
import Testing

@testable import PCastRendering

@Suite("A terminal as a surface")
struct TerminalSurfaceTests {
    private static let plain = "\u{1B}[?62;c"
    private static let kitty = "\u{1B}_Gi=31;OK\u{1B}\\\u{1B}[?62;c"

    private func surface(
        _ terminal: TestTerminal, bytesPerSecond: Int = 50_000_000, timeout: Duration = .seconds(600)
    ) throws -> TerminalSurface {
        try TerminalSurface(
            TerminalOptions(
                path: terminal.path, arrangement: FrameArrangement(aspectRatioMode: .fill),
                bytesPerSecond: bytesPerSecond, timeout: timeout))
    }

    @Test("the terminal shows frames, and is restored afterwards")
    func shownAndRestored() throws {
        let terminal = try TestTerminal(answer: Self.plain)
        defer { terminal.close() }
        #expect(terminal.isCooked)
        let surface = try surface(terminal)
        surface.show(try Colours.quarters())
        #expect(
            terminal.waits {
                Colours.areNear($0.cell(2, 2).upper, Colours.red) && surface.statistics.framesShown == 1
            })
        #expect(terminal.screen.isAlternate && terminal.screen.isCursorHidden && !terminal.isCooked)
        #expect(terminal.screen.mouseModes == [1_000, 1_006])
        #expect(surface.drawing == .halfBlocks)
        surface.close()
        #expect(terminal.waits { !$0.isAlternate && !$0.isCursorHidden && $0.mouseModes.isEmpty })
        #expect(terminal.isCooked)
        #expect(terminal.screen.unknown.isEmpty)
    }

    @Test("a terminal that reports support gets kitty's graphics")
    func graphics() throws {
        let terminal = try TestTerminal(answer: Self.kitty)
        defer { terminal.close() }
        let surface = try surface(terminal)
        surface.show(try Colours.quarters())
        #expect(terminal.waits { $0.images.count > 1 && surface.statistics.framesShown == 1 })
        #expect(surface.drawing == .kitty)
        surface.close()
        #expect(terminal.waits { $0.images.isEmpty && !$0.isAlternate })
        #expect(terminal.screen.unknown.isEmpty)
    }

    @Test("a terminal that reports nothing gets half blocks after a while")
    func silent() throws {
        let terminal = try TestTerminal(answer: nil)
        defer { terminal.close() }
        let surface = try surface(terminal, timeout: .milliseconds(50))
        surface.show(try Colours.plain(Colours.blue))
        #expect(terminal.waits { Colours.areNear($0.cell(30, 10).upper, Colours.blue) })
        surface.close()
    }

    @Test("a resize draws the last frame again without a new one")
    func resized() throws {
        let terminal = try TestTerminal(answer: Self.plain)
        defer { terminal.close() }
        let surface = try surface(terminal)
        surface.show(try Colours.quarters())
        #expect(terminal.waits { Colours.areNear($0.cell(2, 2).upper, Colours.red) })
        terminal.resize(columns: 90, rows: 30)
        #expect(terminal.waits { $0.columns == 90 && Colours.areNear($0.cell(85, 27).lower, Colours.white) })
        surface.close()
    }

    @Test("key presses are reported, also that keys are available")
    func keys() async throws {
        let terminal = try TestTerminal(answer: Self.plain)
        defer { terminal.close() }
        let surface = try surface(terminal)
        var events = surface.events.makeAsyncIterator()
        #expect(await events.next() == .ready(Dimensions(width: 60, height: 20)))
        terminal.press("m")
        #expect(await events.next() == .key(.character("m")))
        surface.close()
    }

    @Test("a slow terminal gets fewer frames without a queue, and can be closed")
    func slow() throws {
        let terminal = try TestTerminal(columns: 300, rows: 100, answer: nil, isReading: false)
        defer { terminal.close() }
        let surface = try surface(terminal, timeout: .milliseconds(1))
        let frames = [try Colours.plain(Colours.red), try Colours.quarters(), try Colours.plain(Colours.white)]
        let deadline = MonotonicClock.now() + .seconds(120)
        var count = 0
        while surface.statistics.framesLeftOut < 50, MonotonicClock.now() < deadline {
            surface.show(frames[count % 3])
            count += 1
            FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(1))
        }
        #expect(surface.statistics.framesLeftOut >= 50)
        #expect(surface.statistics.framesShown <= 2)
        surface.close()
        terminal.read()
        #expect(terminal.isCooked)
    }

    @Test("at most the permitted number of bytes per second is written")
    func bounded() throws {
        let terminal = try TestTerminal(answer: Self.plain)
        defer { terminal.close() }
        let surface = try surface(terminal, bytesPerSecond: 20_000)
        let frames = [try Colours.plain(Colours.red), try Colours.quarters()]
        let start = MonotonicClock.now()
        var count = 0
        while surface.statistics.framesShown < 4 {
            surface.show(frames[count % 2])
            count += 1
            FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(2))
        }
        let span = MonotonicClock.now() - start
        surface.close()
        // The last write is not yet included in the limit.
        let most = 20_000 * (span.seconds + 1) + 20_000
        #expect(Double(terminal.received) <= most, "\(terminal.received) bytes in \(span)")
    }

    @Test("a file that is not a terminal is rejected")
    func none() {
        #expect(throws: IOError.self) { try TerminalSurface(TerminalOptions(path: "/dev/null")) }
    }
}
