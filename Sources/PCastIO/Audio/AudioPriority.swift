import Glibc

/// The scheduling of threads that serve an audio device, whose buffer has only 40 ms.
package enum AudioPriority {
    /// The priority of 1 to 99: above all normal threads, below the kernel and audio servers.
    private static let level: Int32 = 5

    /// `SCHED_RESET_ON_FORK` (sched(7)), which Swift's Glibc module lacks. Threads that this one starts have normal
    /// scheduling.
    private static let notInherited: Int32 = 0x4000_0000

    /// Requests real-time scheduling (`SCHED_RR`) for the calling thread. It has no effect without permission (`ulimit
    /// -r`).
    package static func request() {
        var parameters = sched_param()
        parameters.sched_priority = level
        _ = sched_setscheduler(0, SCHED_RR | notInherited, &parameters)
    }
}
