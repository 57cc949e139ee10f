import CLinux
import Glibc

/// Functions that block SIGPIPE, with which the kernel ends a program that writes to a closed connection. libxcb uses
/// `writev`, which cannot suppress the signal. Only threads that need it block the signal, so that the program's own
/// choice remains.
package enum BrokenPipe {
    /// Blocks the signal for the calling thread until it ends.
    package static func blockOnThisThread() {
        var signals = pipeSignal
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// Blocks the signal on the calling thread while `body` runs, and removes one that `body` raised.
    ///
    /// - Throws: The errors of `body`.
    package static func blocked<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
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
