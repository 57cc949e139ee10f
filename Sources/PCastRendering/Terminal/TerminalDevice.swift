import Glibc
import PCastCore
import PCastIO

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
        case .gone: return nil
        case .quiet: return []
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
            if readiness == .gone { return false }
        }
        return true
    }
}
