import CLinux
import Glibc

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
