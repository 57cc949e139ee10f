import Foundation

/// A network namespace of this machine, created with `ip netns` (ip-netns(8)) and removed by `close()`.
final class NetworkNamespace: Sendable {
    let name: String

    /// Creates a namespace. Throws `BenchFailure` if this process is not permitted to.
    init(_ name: String) throws {
        self.name = name
        try SystemProgram.run("ip", ["netns", "add", name])
        do {
            try ip(["link", "set", "lo", "up"])
        } catch {
            close()
            throw error
        }
    }

    /// The words to put before a command to run it in this namespace.
    var prefix: [String] { ["nsenter", "--net=/run/netns/\(name)"] }

    /// Runs `ip` in this namespace.
    func ip(_ arguments: [String]) throws { try SystemProgram.run("ip", ["-n", name] + arguments) }

    func close() { try? SystemProgram.run("ip", ["netns", "del", name]) }
}
