import Glibc
import Synchronization

/// Puts a terminal back when a signal ends the process, and while one stops it. One terminal at a time; its own handlers
/// are there only for signals of which the program does nothing itself.
enum TerminalRestoration {
    private struct Place {
        var descriptor: Int32
        var before: termios
        var raw: termios
        var greeting: UnsafeMutableBufferPointer<UInt8>
        var farewell: UnsafeMutableBufferPointer<UInt8>
    }

    private static let ending = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP]

    /// Where the terminal is; 0 for nowhere. Never freed while a handler might read it, and so kept for the next.
    private static let place = Atomic<UInt>(0)

    /// It was stopped and goes on, so that its screen is empty.
    private static let wasStopped = Atomic(false)

    /// Whose handlers are ours.
    private static let installed = Mutex<[Int32]>([])

    static func install(
        _ descriptor: Int32, before: termios, raw: termios, greeting: [UInt8], farewell: [UInt8]
    ) {
        let pointer = UnsafeMutablePointer<Place>.allocate(capacity: 1)
        pointer.initialize(
            to: Place(
                descriptor: descriptor, before: before, raw: raw, greeting: copy(greeting), farewell: copy(farewell)))
        // What a handler reads is made before there is one.
        wasStopped.store(false, ordering: .relaxed)
        place.store(UInt(bitPattern: pointer), ordering: .releasing)
        installed.withLock { installed in
            guard installed.isEmpty else { return }
            for number in ending where take(number, { TerminalRestoration.end($0) }) { installed.append(number) }
            if take(SIGTSTP, { _ in TerminalRestoration.stop() }) { installed.append(SIGTSTP) }
        }
    }

    static func remove() {
        // The memory is left: a handler may be reading it. A terminal is entered a few times in a process's life.
        place.store(0, ordering: .releasing)
        installed.withLock { installed in
            for number in installed { signal(number, SIG_DFL) }
            installed = []
        }
    }

    /// Whether the screen is to be drawn anew since this was asked.
    static func takeStopped() -> Bool { wasStopped.exchange(false, ordering: .acquiringAndReleasing) }

    private static func copy(_ bytes: [UInt8]) -> UnsafeMutableBufferPointer<UInt8> {
        let memory = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
        _ = memory.initialize(from: bytes)
        return memory
    }

    /// Handles a signal of which nothing but the usual would be done. Answers whether it does.
    private static func take(_ number: Int32, _ handler: @convention(c) (Int32) -> Void) -> Bool {
        var (new, old) = (sigaction(), sigaction())
        guard sigaction(number, nil, &old) == 0, unsafeBitCast(old.__sigaction_handler.sa_handler, to: Int.self) == 0
        else { return false }
        new.__sigaction_handler.sa_handler = handler
        new.sa_flags = SA_RESTART
        return sigaction(number, &new, nil) == 0
    }

    // MARK: In a handler: nothing but calls that POSIX calls async-signal-safe

    private static func end(_ number: Int32) {
        if let place = UnsafeMutablePointer<Place>(bitPattern: place.load(ordering: .acquiring)) { putBack(place) }
        signal(number, SIG_DFL)
        raise(number)
    }

    private static func stop() {
        guard let place = UnsafeMutablePointer<Place>(bitPattern: place.load(ordering: .acquiring)) else { return }
        let kept = errno
        putBack(place)
        kill(getpid(), SIGSTOP)
        tcsetattr(place.pointee.descriptor, TCSANOW, &place.pointee.raw)
        _ = write(place.pointee.descriptor, place.pointee.greeting.baseAddress, place.pointee.greeting.count)
        wasStopped.store(true, ordering: .releasing)
        errno = kept
    }

    private static func putBack(_ place: UnsafeMutablePointer<Place>) {
        _ = write(place.pointee.descriptor, place.pointee.farewell.baseAddress, place.pointee.farewell.count)
        tcsetattr(place.pointee.descriptor, TCSANOW, &place.pointee.before)
    }
}
