import Foundation

/// A network of this machine's own, out of which nothing leads, for this program and all that it starts: Janus tells of
/// itself by multicast, and is not to be heard by anybody.
enum SealedNetwork {
    private static let mark = "PCAST_BENCH_SEALED"
    private static let device = "pcast0"
    /// Of an interface that is not loopback, which Janus (libnice) would pass over; packets to it go over loopback all the
    /// same, as it is this machine's own.
    static let address = "10.77.0.1"
    /// More addresses of this machine's at the same interface, which Janus keeps its sockets to: 10.78.0.0/16.
    static let viewersBegin: UInt32 = 0x0A4E_0001

    /// Begins this program anew in such a network; returns where that has been done.
    ///
    /// - Throws: `BenchFailure` without the right to make one.
    static func enter() throws {
        guard ProcessInfo.processInfo.environment[mark] == nil else { return }
        guard geteuid() == 0 else { throw BenchFailure("a network of its own, which Janus needs, needs root") }
        setenv(mark, "1", 1)
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = try SystemProgram.url(of: "unshare").path
        // Before this program begins, which needs a loopback to talk to itself (Foundation's run loops).
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
