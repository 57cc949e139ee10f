import Foundation

/// A network of its own for processes of this machine, made with `ip netns`; gone when it is closed.
final class NetworkNamespace: Sendable {
    let name: String

    /// - Throws: `BenchFailure` when this machine does not let this process make one.
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

    /// What to put before a command so that it runs here.
    var prefix: [String] { ["nsenter", "--net=/run/netns/\(name)"] }

    /// Runs `ip` here.
    func ip(_ arguments: [String]) throws { try SystemProgram.run("ip", ["-n", name] + arguments) }

    func close() { try? SystemProgram.run("ip", ["netns", "del", name]) }
}
