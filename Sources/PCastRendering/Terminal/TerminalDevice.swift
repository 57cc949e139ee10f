import Glibc
import PCastIO
import PCastMedia

/// A terminal as it is opened: raw, read and written without waiting, and put back as it was.
///
/// Unchecked: written before anyone else has it, and closed by who made it.
final class TerminalDevice: @unchecked Sendable {
    private let descriptor: Int32
    private var before = termios()
    private var raw = termios()

    /// - Parameter path: of a terminal; `/dev/tty` is the process's own. Opened anew, so that nobody else's way to it
    ///   stops waiting.
    init(path: String) throws(IOError) {
        descriptor = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(call: "opening the terminal \(path)", errno: errno) }
        guard tcgetattr(descriptor, &before) == 0 else {
            let number = errno
            _ = Glibc.close(descriptor)
            throw .system(call: "reading the settings of \(path)", errno: number)
        }
        raw = before
        // Keys one by one and unseen; Ctrl-C and Ctrl-Z are signals as ever.
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO)
        raw.c_iflag &= ~tcflag_t(IXON)
    }

    func close() { _ = Glibc.close(descriptor) }

    /// Takes the terminal over; whatever ends the process puts it back.
    func enter(_ greeting: [UInt8], farewell: [UInt8]) {
        TerminalRestoration.install(descriptor, before: before, raw: raw, greeting: greeting, farewell: farewell)
        tcsetattr(descriptor, TCSANOW, &raw)
    }

    /// Puts its settings back.
    func leave() {
        tcsetattr(descriptor, TCSANOW, &before)
        TerminalRestoration.remove()
    }

    /// In cells; nil when it has gone.
    var grid: TerminalGrid? {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
        let (columns, rows) = (max(1, Int(size.ws_col)), max(1, Int(size.ws_row)))
        let cell = Dimensions(width: Int(size.ws_xpixel) / columns, height: Int(size.ws_ypixel) / rows)
        return TerminalGrid(columns: size.ws_col == 0 ? 80 : columns, rows: size.ws_row == 0 ? 24 : rows, cell: cell)
    }

    /// What came within the time; empty when nothing did, nil when the terminal has gone.
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

    /// Writes all of it, as the terminal takes it. Answers false when it has gone, or `goesOn` says so while it waits.
    func write(_ bytes: [UInt8], while goesOn: () -> Bool) -> Bool {
        var start = 0
        while start < bytes.count {
            let count = bytes[start...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                start += count
                continue
            }
            guard count < 0, errno == EAGAIN || errno == EINTR else { return false }
            guard goesOn() else { return false }
            let readiness = DescriptorReadiness.wait(for: descriptor, writing: true, within: .milliseconds(50))
            if readiness == .gone { return false }
        }
        return true
    }
}
