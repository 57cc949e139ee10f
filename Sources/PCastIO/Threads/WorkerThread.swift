import CLinux
import Glibc

/// A named thread for blocking work such as capture, encoding, decoding or an event loop.
///
/// The threads of Swift concurrency must not block, so code that waits for a device, codec or socket runs on its own
/// thread.
package final class WorkerThread: Sendable {
    private let thread: pthread_t
    private let isOver = Monitor(false)

    /// Starts a thread that runs `body`. `top -H` shows its name, of which Linux keeps 15 bytes. The thread has normal
    /// scheduling if the system does not permit the requested `precedence`.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if the thread cannot be created.
    package init(
        name: String, precedence: ThreadPrecedence = .ordinary, _ body: @escaping @Sendable () -> Void
    ) throws(IOError) {
        let start = Unmanaged.passRetained(Start(precedence, body))
        var thread = pthread_t()
        let error = pthread_create(
            &thread, nil,
            { argument in
                let start = Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
                start.precedence.request()
                start.body()
                return nil
            }, start.toOpaque())
        guard error == 0 else {
            start.release()
            throw .system(call: "pthread_create", errno: error)
        }
        self.thread = thread
        _ = clinux_name_thread(thread, Self.shortened(name))
    }

    deinit {
        if !isOver.withLock({ isOver, _ in isOver }) { pthread_detach(thread) }
    }

    /// Waits until `body` has returned. Further calls have no effect. On the thread itself it does not wait, because it
    /// would deadlock.
    package func join() {
        if isCurrent { return }
        isOver.withLock { isOver, _ in
            if !isOver { pthread_join(thread, nil) }
            isOver = true
        }
    }

    /// Whether the caller runs on this thread.
    package var isCurrent: Bool { pthread_equal(pthread_self(), thread) != 0 }

    private static func shortened(_ name: String) -> String {
        var name = name
        while name.utf8.count > 15 { name.removeLast() }
        return name
    }

    private final class Start {
        let precedence: ThreadPrecedence
        let body: @Sendable () -> Void

        init(_ precedence: ThreadPrecedence, _ body: @escaping @Sendable () -> Void) {
            (self.precedence, self.body) = (precedence, body)
        }
    }
}

/// The scheduling of a thread relative to other programs.
package enum ThreadPrecedence: Sendable {
    /// The scheduling with which the program was started.
    case ordinary

    /// A higher priority than other programs, for threads that do little but must do it in time: sending, decoding or
    /// rendering live media. A browser that loads a page can use all processors for a while, so that a waiting frame
    /// would be too late.
    case media

    /// The nice value from -20 to 19, which is that of PulseAudio (`nice-level` of pulse-daemon.conf(5)).
    private static let mediaNiceness: Int32 = -11

    /// `SCHED_RESET_ON_FORK` (sched(7)), which Swift's Glibc module lacks. Programs and threads that this one starts
    /// have normal scheduling.
    private static let notInherited: Int32 = 0x4000_0000

    /// Requests the scheduling for the calling thread. It has no effect without permission (`ulimit -e`), or if the
    /// program was started with its own scheduling (`nice`, `chrt`), which has precedence.
    func request() {
        guard self == .media, sched_getscheduler(0) == SCHED_OTHER else { return }
        // On Linux, 0 is the calling thread (setpriority(2)).
        let ownThread = Int32(PRIO_PROCESS.rawValue)
        guard getpriority(ownThread, 0) == 0, setpriority(ownThread, 0, Self.mediaNiceness) == 0 else { return }
        var parameters = sched_param()
        _ = sched_setscheduler(0, SCHED_OTHER | Self.notInherited, &parameters)
    }
}
