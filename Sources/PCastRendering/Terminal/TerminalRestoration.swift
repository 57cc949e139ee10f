import Glibc
import Synchronization

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
            putBack(saved)
        }
        signal(number, SIG_DFL)
        raise(number)
    }

    private static func stop() {
        guard let saved = UnsafeMutablePointer<SavedTerminal>(bitPattern: saved.load(ordering: .acquiring)) else {
            return
        }
        let kept = errno
        putBack(saved)
        kill(getpid(), SIGSTOP)
        tcsetattr(saved.pointee.descriptor, TCSANOW, &saved.pointee.raw)
        _ = write(saved.pointee.descriptor, saved.pointee.enterSequence.baseAddress, saved.pointee.enterSequence.count)
        wasStopped.store(true, ordering: .releasing)
        errno = kept
    }

    private static func putBack(_ saved: UnsafeMutablePointer<SavedTerminal>) {
        _ = write(saved.pointee.descriptor, saved.pointee.exitSequence.baseAddress, saved.pointee.exitSequence.count)
        tcsetattr(saved.pointee.descriptor, TCSANOW, &saved.pointee.before)
    }
}
