import Foundation

/// Ports that a test chooses, because two programs have to know the same port, or a program needs the same port again.
///
/// They are below the range from which the kernel gives ports to sockets that ask for any (`ip_local_port_range`, ip(7)).
/// A port may nevertheless be in use, so whatever needs one is tried with other ports.
enum ChosenPort {
    static let range = 20_000..<32_000

    private static let attempts = 20

    /// Calls `body` with a port, and with another port as long as it returns nil, which says that the port is in use.
    ///
    /// - Parameter count: the number of consecutive ports that `body` uses.
    static func find<Value>(count: Int = 1, _ body: (Int) async throws -> Value?) async throws -> Value {
        for _ in 0..<attempts {
            let port = Int.random(in: range.lowerBound...range.upperBound - count)
            if let value = try await body(port) { return value }
        }
        throw EndToEndFailure("each of \(attempts) ports in \(range) is in use")
    }

    /// Whether a socket of UDP has the port at any address of this machine.
    static func isInUse(_ port: Int) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 }
        }
        return !isBound && errno == EADDRINUSE
    }
}

extension RunningProgram {
    /// Whether it has ended because another socket has one of its ports.
    var foundPortInUse: Bool {
        let words = ["is in use", "another program listens on", "already in use"]
        return !isRunning && messages.lines.values.contains { line in words.contains { line.contains($0) } }
    }

    /// Waits for an event by which the program says that it listens; nil if another socket has one of its ports.
    func listens(_ event: String = "listening") async throws -> JSON? {
        do {
            return try await self.event(event)
        } catch {
            // The output ends before the process does.
            if (try? await exitStatus()) != nil, foundPortInUse { return nil }
            throw error
        }
    }
}
