import CLinux
import Glibc
import Synchronization

/// Limits of network access that the kernel enforces for programs.
package enum ConnectionLimits {
    /// Whether the kernel has Landlock rules for TCP, which Linux 6.7 introduced
    /// (https://docs.kernel.org/userspace-api/landlock.html). They apply to ports, but neither to addresses nor to UDP.
    package static var hasPortRules: Bool { clinux_landlock_version() >= CLINUX_LANDLOCK_TCP_VERSION }

    /// Runs `body` on a thread that may only connect to these TCP ports. The limit also applies to programs that it
    /// starts.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if the kernel refuses the limit, or an error of `body`.
    package static func run<Value: Sendable>(
        ports: [UInt16], _ body: @escaping @Sendable () throws(IOError) -> Value
    ) throws(IOError) -> Value {
        try run("landlock_restrict_self", { clinux_landlock_connect_only(ports, Int32(ports.count)) }, body)
    }

    /// Runs `body` on a thread in a network namespace that has only a loopback interface (network_namespaces(7)). It
    /// also applies to programs that the thread starts. Sockets that are created there remain in the namespace.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if this is not permitted, or an error of `body`.
    package static func runIsolated<Value: Sendable>(
        _ body: @escaping @Sendable () throws(IOError) -> Value
    ) throws(IOError) -> Value {
        try run("unshare", clinux_isolate_network, body)
    }

    private static func run<Value: Sendable>(
        _ call: String, _ limit: @escaping @Sendable () -> Int32,
        _ body: @escaping @Sendable () throws(IOError) -> Value
    ) throws(IOError) -> Value {
        let box = Box<Value>()
        let thread = try WorkerThread(name: "limited") {
            let outcome: Result<Value, IOError>
            let error = limit()
            if error != 0 {
                outcome = .failure(.system(call: call, errno: error))
            } else {
                do throws(IOError) {
                    outcome = .success(try body())
                } catch {
                    outcome = .failure(error)
                }
            }
            box.value.withLock { $0 = outcome }
        }
        thread.join()
        guard let outcome = box.value.withLock({ $0 }) else { preconditionFailure("the thread must run") }
        return try outcome.get()
    }

    private final class Box<Value: Sendable>: Sendable {
        let value = Mutex<Result<Value, IOError>?>(nil)
    }
}
