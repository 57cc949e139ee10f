import CLinux
import Glibc

/// SIGPIPE, by which the kernel ends a program that writes to a server that is gone: libxcb writes with `writev`, which
/// cannot be told not to raise it. Only threads that do so block it; what the program has decided for itself stays.
public enum BrokenPipe {
    /// For the rest of a thread's life.
    public static func blockOnThisThread() {
        var signals = pipeSignal
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// While `body` runs on someone else's thread. One that it raised is taken away.
    public static func blocked<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        var signals = pipeSignal
        var before = sigset_t()
        pthread_sigmask(SIG_BLOCK, &signals, &before)
        let wasPending = isPending
        defer {
            var none = timespec()
            if !wasPending, isPending { while sigtimedwait(&signals, nil, &none) < 0, errno == EINTR {} }
            pthread_sigmask(SIG_SETMASK, &before, nil)
        }
        return try body()
    }

    private static var isPending: Bool {
        var signals = sigset_t()
        sigpending(&signals)
        return sigismember(&signals, SIGPIPE) == 1
    }

    private static var pipeSignal: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        return signals
    }
}
