import CLinux
import Glibc

/// How a thread stands beside those of other programs.
public enum ThreadPrecedence: Sendable {
    /// As the program was started.
    case ordinary

    /// Before ordinary programs: for a thread that has little to do, and that at its moment, such as one that sends,
    /// decodes or shows what is live. A browser that opens a page beside it takes every processor for a while, and a picture
    /// that waits for one meanwhile comes too late.
    case media

    /// Of −20 to 19; what PulseAudio takes for itself (pulse-daemon.conf(5), `nice-level`).
    private static let mediaNiceness: Int32 = -11

    /// SCHED_RESET_ON_FORK (sched(7)), which Swift's Glibc leaves out: programs and threads that this one starts are
    /// ordinary ones.
    private static let notInherited: Int32 = 0x4000_0000

    /// Asks for it for the calling thread. Those who may not (`ulimit -e`) go on as they are, and so does a program that was
    /// given a niceness or a scheduling of its own (`nice`, `chrt`), as whoever did that knows better.
    func request() {
        guard self == .media, sched_getscheduler(0) == SCHED_OTHER else { return }
        // Zero is the calling thread, on Linux (setpriority(2)).
        let ownThread = Int32(PRIO_PROCESS.rawValue)
        guard getpriority(ownThread, 0) == 0, setpriority(ownThread, 0, Self.mediaNiceness) == 0 else { return }
        var parameters = sched_param()
        _ = sched_setscheduler(0, SCHED_OTHER | Self.notInherited, &parameters)
    }
}
