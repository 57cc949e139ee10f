import Foundation

/// A network namespace without a route to other machines for this process and its children, because Janus announces
/// itself by multicast.
enum IsolatedNetwork {
    private static let mark = "PCAST_BENCH_SEALED"
    private static let device = "pcast0"
    /// The address of an interface that is not loopback, because libnice ignores loopback interfaces. Packets to it
    /// nevertheless use loopback, because it is a local address.
    static let address = "10.77.0.1"
    /// The first of the viewers' addresses, all of which are local (10.78.0.0/16) and on the interface that Janus binds
    /// to.
    static let viewersBegin: UInt32 = 0x0A4E_0001

    /// Executes this program again in a new network namespace; returns if the program already runs in one. Throws
    /// `BenchFailure` without root privileges or if the program cannot be started.
    static func enter() throws {
        guard ProcessInfo.processInfo.environment[mark] == nil else { return }
        guard geteuid() == 0 else {
            throw BenchFailure("Janus needs a network namespace, which requires root: run this as root")
        }
        setenv(mark, "1", 1)
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = try SystemProgram.url(of: "unshare").path
        // The interfaces are set up before the program starts, because Foundation's run loops need loopback.
        let words = ["unshare", "--net", "--", "sh", "-c", preparation, own] + CommandLine.arguments.dropFirst()
        var pointers = words.map { strdup($0) } + [nil]
        execv(program, &pointers)
        throw BenchFailure("\(program) cannot be started: \(String(cString: strerror(errno)))")
    }

    private static let preparation = """
        ip link set lo up && ip link add \(device) type veth peer name pcast1 \\
            && ip address add \(address)/32 dev \(device) && ip link set \(device) up && ip link set pcast1 up \\
            && ip route add local 10.78.0.0/16 dev \(device) && exec "$0" "$@"
        """
}
