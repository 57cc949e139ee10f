import Glibc
package import PCastCore

/// A value that is protected by a mutex, with functions that wait for changes until a deadline on the monotonic clock.
///
/// It is `@unchecked Sendable` because the value is only accessed while the mutex is held.
package final class Monitor<Value>: @unchecked Sendable {
    private var value: Value
    private let condition = Condition()

    package init(_ value: sending Value) { self.value = value }

    /// Runs `body` with exclusive access to the value. `body` may wake waiting threads. It cannot wait itself, because
    /// the compiler relies on the exclusive access of `inout`.
    package func withLock<Result>(_ body: (inout Value, Condition) -> Result) -> Result {
        condition.lock()
        defer { condition.unlock() }
        return body(&value, condition)
    }

    /// Calls `body` now and after each change until it returns a value. Returns nil if `deadline` is reached.
    package func wait<Result>(until deadline: Instant?, for body: (inout Value) -> Result?) -> Result? {
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let result = body(&value) { return result }
            if !condition.wait(until: deadline) { return body(&value) }
        }
    }
}

/// A mutex with a condition variable whose deadlines are on CLOCK_MONOTONIC.
package final class Condition {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let variable = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
        mutex.initialize(to: pthread_mutex_t())
        variable.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(variable, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(variable)
        pthread_mutex_destroy(mutex)
        variable.deallocate()
        mutex.deallocate()
    }

    func lock() { pthread_mutex_lock(mutex) }

    func unlock() { pthread_mutex_unlock(mutex) }

    package func wakeOne() { pthread_cond_signal(variable) }

    package func wakeAll() { pthread_cond_broadcast(variable) }

    /// Unlocks the mutex until the thread is woken, possibly spuriously. Returns false if `deadline` is reached.
    func wait(until deadline: Instant?) -> Bool {
        guard let deadline else {
            pthread_cond_wait(variable, mutex)
            return true
        }
        var time = timespec(deadline)
        return pthread_cond_timedwait(variable, mutex, &time) != ETIMEDOUT
    }
}
