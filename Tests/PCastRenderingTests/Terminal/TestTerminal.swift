import CLinux
import Foundation
import PCastCore
import PCastIO
import Synchronization

/// A pseudo-terminal whose other end is a `TerminalScreen`, on its own thread.
final class TestTerminal: Sendable {
    private struct State {
        var screen: TerminalScreen
        var pending: [UInt8] = []
        var received = 0
        var isReading: Bool
        var isClosed = false
    }

    /// The path of the slave.
    let path: String
    private let master: Int32
    private let slave: Int32
    private let state: Mutex<State>
    private let thread = Mutex<WorkerThread?>(nil)

    /// Creates a terminal. `answer` is its response to the query of its capabilities; nil for none. If `isReading` is
    /// false, it does not read what is written.
    init(columns: Int = 60, rows: Int = 20, answer: String?, isReading: Bool = true) throws {
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        var (lock, number): (Int32, Int32) = (0, 0)
        // TIOCSPTLCK and TIOCGPTN perform unlockpt and ptsname, which Swift does not import.
        guard master >= 0, ioctl(master, 0x4004_5431, &lock) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
            throw IOError.system(call: "opening /dev/ptmx", errno: errno)
        }
        path = "/dev/pts/\(number)"
        // It stays open, so that the terminal does not vanish when the surface closes it.
        slave = open(path, O_RDWR | O_NOCTTY)
        state = Mutex(State(screen: TerminalScreen(columns: columns, rows: rows), isReading: isReading))
        resize(columns: columns, rows: rows)
        let worker = try WorkerThread(name: "test-terminal") { [self] in run(answer) }
        thread.withLock { $0 = worker }
    }

    func close() {
        state.withLock { $0.isClosed = true }
        thread.withLock { $0 }?.join()
        Foundation.close(master)
        Foundation.close(slave)
    }

    func resize(columns: Int, rows: Int) {
        var size = winsize(
            ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: UInt16(columns * 8), ws_ypixel: UInt16(rows * 16))
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
        state.withLock { state in
            guard state.screen.columns != columns || state.screen.rows != rows else { return }
            state.screen = TerminalScreen(columns: columns, rows: rows)
        }
    }

    func press(_ text: String) { _ = text.withCString { write(master, $0, strlen($0)) } }

    /// Starts to read the output of the terminal's program.
    func read() { state.withLock { $0.isReading = true } }

    var screen: TerminalScreen { state.withLock { $0.screen } }

    var received: Int { state.withLock { $0.received } }

    /// Whether input is echoed and comes in lines, as a shell needs it.
    var isCooked: Bool {
        var settings = termios()
        tcgetattr(slave, &settings)
        return settings.c_lflag & tcflag_t(ICANON | ECHO) == tcflag_t(ICANON | ECHO)
    }

    /// Waits until the screen fulfils a condition. Returns false after two minutes.
    func waits(until holds: (TerminalScreen) -> Bool) -> Bool {
        let deadline = MonotonicClock.now() + .seconds(120)
        while MonotonicClock.now() < deadline {
            if holds(screen) { return true }
            FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(5))
        }
        return false
    }

    private func run(_ answer: String?) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let (isReading, isClosed) = state.withLock { ($0.isReading, $0.isClosed) }
            if isClosed { return }
            guard isReading, DescriptorReadiness.wait(for: master, within: .milliseconds(5)) == .ready else {
                if !isReading { FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(5)) }
                continue
            }
            let count = Foundation.read(master, &buffer, buffer.count)
            guard count > 0 else { continue }
            let asks = state.withLock { state in
                state.received += count
                state.pending += buffer[..<count]
                let end = Self.lastWhole(state.pending)
                let asks = state.pending[..<end].contains(Array("\u{1B}[c".utf8))
                state.screen.take(Array(state.pending[..<end]))
                state.pending.removeFirst(end)
                return asks
            }
            if asks, let answer { press(answer) }
        }
    }

    /// Returns the end of the last complete sequence. A read may cut a sequence.
    private static func lastWhole(_ bytes: [UInt8]) -> Int {
        var index = 0
        while index < bytes.count {
            let length: Int
            if bytes[index] == 0xE2 {
                length = 3
            } else if bytes[index] != 0x1B {
                length = 1
            } else {
                guard index + 1 < bytes.count else { return index }
                switch bytes[index + 1] {
                case 0x5B:
                    guard let end = bytes[(index + 2)...].firstIndex(where: { (0x40...0x7E).contains($0) }) else {
                        return index
                    }
                    length = end + 1 - index
                case 0x5F:
                    var end = index + 2
                    while end + 1 < bytes.count, !(bytes[end] == 0x1B && bytes[end + 1] == 0x5C) { end += 1 }
                    guard end + 1 < bytes.count else { return index }
                    length = end + 2 - index
                default: length = 2
                }
            }
            guard index + length <= bytes.count else { return index }
            index += length
        }
        return index
    }
}
