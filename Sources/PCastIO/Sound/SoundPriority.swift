import Glibc

/// The scheduling of threads that keep a sound device going: forty milliseconds of sound are all that it holds.
public enum SoundPriority {
    /// Of the 99 there are: before all ordinary threads, and behind what the kernel and sound servers have.
    private static let level: Int32 = 5

    /// SCHED_RESET_ON_FORK (sched(7)), which Swift's Glibc leaves out: threads that this one starts are ordinary ones.
    private static let notInherited: Int32 = 0x4000_0000

    /// Asks that the calling thread run before ordinary ones (SCHED_RR). Those who may not (`ulimit -r`) go on as they are.
    public static func request() {
        var parameters = sched_param()
        parameters.sched_priority = level
        _ = sched_setscheduler(0, SCHED_RR | notInherited, &parameters)
    }
}
