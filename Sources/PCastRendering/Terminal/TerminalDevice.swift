import Glibc
import PCastCore
import PCastIO
import Synchronization

/// A terminal in raw mode with non-blocking I/O, whose settings are restored.
///
/// It is `@unchecked Sendable` because it is initialized before it is shared, and closed by its creator.
final class TerminalDevice: @unchecked Sendable {
    private let descriptor: Int32
    private var before = termios()
    private var raw = termios()

    /// Opens a terminal, e.g., `/dev/tty` for that of the process. It opens its own description, so that other
    /// descriptors of the terminal remain blocking. Throws `IOError`.
    init(path: String) throws(IOError) {
        descriptor = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(call: "opening the terminal \(path)", errno: errno) }
        guard tcgetattr(descriptor, &before) == 0 else {
            let number = errno
            _ = Glibc.close(descriptor)
            throw .system(call: "reading the settings of \(path)", errno: number)
        }
        raw = before
        // Disables line buffering and echo. Ctrl-C and Ctrl-Z still send signals.
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
        raw.c_iflag &= ~tcflag_t(IXON)
    }

    func close() { _ = Glibc.close(descriptor) }

    /// Switches to raw mode. If the process ends, the settings are restored.
    func enter(_ enterSequence: [UInt8], exitSequence: [UInt8]) {
        TerminalRestoration.install(
            descriptor, before: before, raw: raw, enterSequence: enterSequence, exitSequence: exitSequence)
        tcsetattr(descriptor, TCSANOW, &raw)
    }

    /// Restores the settings.
    func leave() {
        tcsetattr(descriptor, TCSANOW, &before)
        TerminalRestoration.remove()
    }

    /// The size in cells; nil if the terminal is gone.
    var grid: TerminalGrid? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
        let (columns, rows) = (max(1, Int(size.ws_col)), max(1, Int(size.ws_row)))
        let cell = Dimensions(width: Int(size.ws_xpixel) / columns, height: Int(size.ws_ypixel) / rows)
        return TerminalGrid(columns: size.ws_col == 0 ? 80 : columns, rows: size.ws_row == 0 ? 24 : rows, cell: cell)
    }

    /// Returns the input within a timeout; empty if there is none, nil if the terminal is gone.
    func read(within span: TimeSpan) -> [UInt8]? {
        switch DescriptorReadiness.wait(for: descriptor, within: span) {
        case .closed: return nil
        case .idle: return []
        case .ready: break
        }
        var bytes = [UInt8](repeating: 0, count: 1_024)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        if count < 0 { return errno == EAGAIN || errno == EINTR ? [] : nil }
        return count == 0 ? nil : Array(bytes.prefix(count))
    }

    /// Writes all bytes and waits as necessary. Returns false if the terminal is gone, or `continuesHere` returns false during
    /// a wait.
    func write(_ bytes: [UInt8], while continuesHere: () -> Bool) -> Bool {
        var start = 0
        while start < bytes.count {
            let count = bytes[start...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                start += count
                continue
            }
            guard count < 0, errno == EAGAIN || errno == EINTR else { return false }
            guard continuesHere() else { return false }
            let readiness = DescriptorReadiness.wait(for: descriptor, writing: true, within: .milliseconds(50))
            if readiness == .closed { return false }
        }
        return true
    }
}

/// Control sequences (ECMA-48 and xterm).
enum TerminalSequence {
    /// The other screen, no cursor, no new line at the right edge, and reports of the mouse's buttons (modes 1000 and
    /// 1006).
    static let enter = Array("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[?1000h\u{1B}[?1006h\u{1B}[2J".utf8)

    /// Aborts unfinished output: CAN ends a control sequence, ST a string.
    static let breakOff = Array("\u{18}\u{1B}\\".utf8)

    /// Restores the previous screen.
    static let leave = Array("\u{1B}[?2026l\u{1B}[0m\u{1B}[?1006l\u{1B}[?1000l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l".utf8)

    static let clear = Array("\u{1B}[0m\u{1B}[2J".utf8)
    static let plain = Array("\u{1B}[0m".utf8)

    /// Starts a synchronized update (mode 2026). Terminals that do not support it ignore it.
    static let beginUpdate = Array("\u{1B}[?2026h".utf8)
    static let endUpdate = Array("\u{1B}[?2026l".utf8)

    /// Queries kitty's graphics protocol, the size of a cell, and the device attributes. Every terminal answers the
    /// last one, after the others.
    static let question = Array("\u{1B}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\u{1B}\\\u{1B}[16t\u{1B}[c".utf8)

    static func move(column: Int, row: Int) -> [UInt8] { Array("\u{1B}[\(row + 1);\(column + 1)H".utf8) }

    static func forward(_ columns: Int) -> [UInt8] {
        columns == 1 ? [0x1B, 0x5B, 0x43] : Array("\u{1B}[\(columns)C".utf8)
    }

    /// Returns the sequence that sets a 24-bit color (0xRRGGBB). The kind is 38 for the foreground and 48 for the
    /// background.
    static func colour(_ kind: Int, _ colour: UInt32) -> [UInt8] {
        Array("\u{1B}[\(kind);2;\(colour >> 16 & 0xFF);\(colour >> 8 & 0xFF);\(colour & 0xFF)m".utf8)
    }
}

/// Restores a terminal when a signal ends or stops the process. It supports one terminal at a time. It handles only
/// signals for which the program has no handler of its own.
enum TerminalRestoration {
    private struct SavedTerminal {
        var descriptor: Int32
        var before: termios
        var raw: termios
        var enterSequence: UnsafeMutableBufferPointer<UInt8>
        var exitSequence: UnsafeMutableBufferPointer<UInt8>
    }

    private static let ending = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP]

    /// The address of the terminal's state; 0 for none. The memory is never freed, because a signal handler may read
    /// it.
    private static let saved = Atomic<UInt>(0)

    /// Whether the process was stopped and continued, so that the screen must be redrawn.
    private static let wasStopped = Atomic(false)

    /// The signals that are handled here.
    private static let installed = Mutex<[Int32]>([])

    static func install(
        _ descriptor: Int32, before: termios, raw: termios, enterSequence: [UInt8], exitSequence: [UInt8]
    ) {
        let pointer = UnsafeMutablePointer<SavedTerminal>.allocate(capacity: 1)
        pointer.initialize(
            to: SavedTerminal(
                descriptor: descriptor, before: before, raw: raw, enterSequence: copy(enterSequence),
                exitSequence: copy(exitSequence)))
        // The data must be complete before the handlers are installed.
        wasStopped.store(false, ordering: .relaxed)
        saved.store(UInt(bitPattern: pointer), ordering: .releasing)
        installed.withLock { installed in
            guard installed.isEmpty else { return }
            for number in ending where take(number, { TerminalRestoration.end($0) }) { installed.append(number) }
            if take(SIGTSTP, { _ in TerminalRestoration.stop() }) { installed.append(SIGTSTP) }
        }
    }

    static func remove() {
        // The memory is not freed, because a handler may be reading it. A process enters a terminal only a few times.
        saved.store(0, ordering: .releasing)
        installed.withLock { installed in
            for number in installed { signal(number, SIG_DFL) }
            installed = []
        }
    }

    /// Returns whether the screen must be redrawn, and clears that.
    static func takeStopped() -> Bool { wasStopped.exchange(false, ordering: .acquiringAndReleasing) }

    private static func copy(_ bytes: [UInt8]) -> UnsafeMutableBufferPointer<UInt8> {
        let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        _ = memory.initialize(from: bytes)
        return memory
    }

    /// Installs a handler if the signal has its default action. Returns whether it was installed.
    private static func take(_ number: Int32, _ handler: @convention(c) (Int32) -> Void) -> Bool {
        var (new, old) = (sigaction(), sigaction())
        guard sigaction(number, nil, &old) == 0, unsafeBitCast(old.__sigaction_handler.sa_handler, to: Int.self) == 0
        else { return false }
        new.__sigaction_handler.sa_handler = handler
        new.sa_flags = SA_RESTART
        return sigaction(number, &new, nil) == 0
    }

    // MARK: Signal handlers. They call only async-signal-safe functions (POSIX).

    private static func end(_ number: Int32) {
        if let saved = UnsafeMutablePointer<SavedTerminal>(bitPattern: saved.load(ordering: .acquiring)) {
            restore(saved)
        }
        signal(number, SIG_DFL)
        raise(number)
    }

    private static func stop() {
        guard let saved = UnsafeMutablePointer<SavedTerminal>(bitPattern: saved.load(ordering: .acquiring)) else {
            return
        }
        let kept = errno
        restore(saved)
        kill(getpid(), SIGSTOP)
        tcsetattr(saved.pointee.descriptor, TCSANOW, &saved.pointee.raw)
        _ = write(saved.pointee.descriptor, saved.pointee.enterSequence.baseAddress, saved.pointee.enterSequence.count)
        wasStopped.store(true, ordering: .releasing)
        errno = kept
    }

    private static func restore(_ saved: UnsafeMutablePointer<SavedTerminal>) {
        _ = write(saved.pointee.descriptor, saved.pointee.exitSequence.baseAddress, saved.pointee.exitSequence.count)
        tcsetattr(saved.pointee.descriptor, TCSANOW, &saved.pointee.before)
    }
}
