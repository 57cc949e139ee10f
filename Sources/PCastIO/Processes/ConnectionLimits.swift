import CLinux
import Glibc
import Synchronization

/// What holds programs back from reaching addresses, as the kernel sees to it.
public enum ConnectionLimits {
    /// Whether the kernel has Landlock's rules about TCP (https://docs.kernel.org/userspace-api/landlock.html), as since
    /// Linux 6.7. They name ports and not addresses, and say nothing about UDP.
    public static var hasPortRules: Bool { clinux_landlock_version() >= CLINUX_LANDLOCK_TCP_VERSION }

    /// Does something on a thread that connects by TCP to these ports alone, and so do all programs that it starts.
    ///
    /// - Throws: `IOError.system` where the kernel refuses, or what `body` throws.
    public static func run<Value: Sendable>(
        ports: [UInt16], _ body: @escaping @Sendable () throws(IOError) -> Value
    ) throws(IOError) -> Value {
        try run("landlock_restrict_self", { clinux_landlock_connect_only(ports, Int32(ports.count)) }, body)
    }

    /// Does something on a thread whose network holds nothing but loopback, and so do all programs that it starts: a
    /// network namespace (network_namespaces(7)). Sockets that are made there stay there, whoever uses them.
    ///
    /// - Throws: `IOError.system` where that is not permitted, or what `body` throws.
    public static func runIsolated<Value: Sendable>(
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
        guard let outcome = box.value.withLock({ $0 }) else { preconditionFailure("the thread has ended") }
        return try outcome.get()
    }

    private final class Box<Value: Sendable>: Sendable {
        let value = Mutex<Result<Value, IOError>?>(nil)
    }
}
