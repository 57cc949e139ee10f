import CLinux
import Glibc
import Synchronization

/// Standard output and standard error of a program: written whole, and without a buffer in between.
///
/// When the reader of standard output has closed it, as `head` does when it has enough, what is written from then on is
/// lost without a word, and a program that runs until somebody ends it is ended by what `whenClosed` was given; others
/// end by themselves, with their own status. Nothing else in a program may write to these descriptors: `FileHandle` traps
/// when a write fails, and the signal SIGPIPE would end a platform without telling its peers.
public enum StandardOutput {
    private struct State {
        var isClosed = false
        var actions: [(id: Int, action: @Sendable () -> Void)] = []
        var lastID = 0
    }

    private static let state = Mutex(State())

    /// To be called first in a program. A write to a closed pipe fails instead of raising a signal; and where the program
    /// was started with one of the three standard descriptors closed, that one is /dev/null, so that no file or socket gets
    /// its number and is written to by mistake.
    public static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is given, which is this one.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Writes to standard output. What cannot be written for another reason, such as a full disk, is lost.
    public static func write(_ text: String) {
        guard !state.withLock({ $0.isClosed }) else { return }
        if !write(text, to: STDOUT_FILENO) { noteClosed() }
    }

    /// Writes to standard error, whose reader may have gone: then nobody is told, and the program continues, unless that
    /// was the reader of standard output as well.
    public static func writeError(_ text: String) {
        if !write(text, to: STDERR_FILENO), isSameFile { noteClosed() }
    }

    /// Calls `action`, which ends what runs, when the reader has closed standard output; at once where it has already. Of
    /// several actions the last one counts.
    ///
    /// - Returns: a number for `forget`.
    @discardableResult
    public static func whenClosed(_ action: @escaping @Sendable () -> Void) -> Int {
        let (id, isClosed) = state.withLock { state in
            state.lastID += 1
            state.actions.append((state.lastID, action))
            return (state.lastID, state.isClosed)
        }
        if isClosed { action() }
        return id
    }

    public static func forget(_ id: Int) { state.withLock { $0.actions.removeAll { $0.id == id } } }

    private static func noteClosed() {
        let (isFirst, action) = state.withLock { state in
            defer { state.isClosed = true }
            return (!state.isClosed, state.actions.last?.action)
        }
        if isFirst { action?() }
    }

    /// Answers false when the reader has gone.
    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var start = 0
            while start < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress! + start, bytes.count - start)
                if count > 0 {
                    start += count
                    continue
                }
                switch errno {
                case EINTR: continue
                case EAGAIN:
                    var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&wanted, 1, -1)
                case EPIPE: return false
                default: return true
                }
            }
            return true
        }
    }

    private static var isSameFile: Bool {
        var (output, messages) = (stat(), stat())
        return fstat(STDOUT_FILENO, &output) == 0 && fstat(STDERR_FILENO, &messages) == 0
            && output.st_dev == messages.st_dev && output.st_ino == messages.st_ino
    }
}
