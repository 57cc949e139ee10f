import Foundation

/// A proxy to a platform's signaling that a test can close. Media bypasses it.
struct Gate: Sendable {
    let program: RunningProgram
    /// The address for clients.
    let uri: String

    static func start(to platform: LocalPlatform) async throws -> Gate {
        guard let target = URLComponents(string: platform.uri), let host = target.host, let port = target.port else {
            throw EndToEndFailure("\(platform.uri) is no address")
        }
        let program = try platform.workspace.start("\(BuiltProgram.peers)/gate.py", ["--to", "\(host):\(port)"])
        guard let own = try await program.event("listening")["port"].number else {
            throw EndToEndFailure("the gate does not tell where it listens")
        }
        return Gate(program: program, uri: "http://127.0.0.1:\(Int(own))")
    }

    /// Closes every connection, and rejects others.
    func shut() async throws {
        let count = program.events("shut").count
        program.send(SIGUSR1)
        try await tells("shut", count + 1)
    }

    func open() async throws {
        let count = program.events("open").count
        program.send(SIGUSR2)
        try await tells("open", count + 1)
    }

    private func tells(_ word: String, _ count: Int) async throws {
        let program = program
        _ = try await program.event(word) { _ in program.events(word).count >= count }
    }
}
