import CLinux
import Glibc
import Synchronization

/// The unbuffered standard output and standard error of a program.
///
/// If the reader closes standard output, as `head` does, further output is dropped. The action of `whenClosed` then
/// stops a program that would run until it is interrupted; other programs end with their own status. No other code may
/// write to these descriptors: `FileHandle` traps if a write fails, and SIGPIPE would end a platform without closing
/// its connections.
package enum StandardOutput {
    private struct State {
        var isClosed = false
        var actions: [(id: Int, action: @Sendable () -> Void)] = []
        var lastID = 0
    }

    private static let state = Mutex(State())

    /// Prepares the descriptors. It must be the first call of a program.
    ///
    /// Afterwards a write to a closed pipe fails and raises no signal. A standard descriptor that was closed at the
    /// start is opened as /dev/null, so that no file or socket gets its number and is written by mistake.
    package static func prepare() {
        signal(SIGPIPE, SIG_IGN)
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
            // `open` returns the lowest free number, which is this one.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Writes to standard output. Text that cannot be written because of another error, such as a full disk, is
    /// dropped.
    package static func write(_ text: String) {
        guard !state.withLock({ $0.isClosed }) else { return }
        if !write(text, to: STDOUT_FILENO) { noteClosed() }
    }

    /// Writes bytes to standard output, like text.
    package static func write(_ bytes: [UInt8]) {
        guard !state.withLock({ $0.isClosed }) else { return }
        if !bytes.withUnsafeBytes({ write($0, to: STDOUT_FILENO) }) { noteClosed() }
    }

    /// Writes to standard error. If its reader has closed it, the program continues, unless standard output is the same
    /// file.
    package static func writeError(_ text: String) {
        if !write(text, to: STDERR_FILENO), isSameFile { noteClosed() }
    }

    /// Registers an action that stops the program when the reader closes standard output. If it is closed already, the
    /// action is called at once. Only the last of several actions is called. Returns a number for `discard`.
    @discardableResult
    package static func whenClosed(_ action: @escaping @Sendable () -> Void) -> Int {
        let (id, isClosed) = state.withLock { state in
            state.lastID += 1
            state.actions.append((state.lastID, action))
            return (state.lastID, state.isClosed)
        }
        if isClosed { action() }
        return id
    }

    /// Removes a registered action.
    package static func discard(_ id: Int) { state.withLock { $0.actions.removeAll { $0.id == id } } }

    private static func noteClosed() {
        let (isFirst, action) = state.withLock { state in
            defer { state.isClosed = true }
            return (!state.isClosed, state.actions.last?.action)
        }
        if isFirst { action?() }
    }

    /// Writes the text. Returns false if the reader has closed the descriptor.
    private static func write(_ text: String, to descriptor: Int32) -> Bool {
        var text = text
        return text.withUTF8 { write(UnsafeRawBufferPointer($0), to: descriptor) }
    }

    /// Writes bytes. Returns false if the reader has closed the descriptor.
    private static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
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

    private static var isSameFile: Bool {
        var (output, messages) = (stat(), stat())
        return fstat(STDOUT_FILENO, &output) == 0 && fstat(STDERR_FILENO, &messages) == 0
            && output.st_dev == messages.st_dev && output.st_ino == messages.st_ino
    }
}
