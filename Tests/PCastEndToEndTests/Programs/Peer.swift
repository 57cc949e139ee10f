/// A program of `peers/`: another WebRTC implementation, which checks what it receives.
struct Peer: Sendable {
    let program: RunningProgram
    private let limit: Duration

    /// The value is slightly above `GRACE` of `program.py`, so that the program itself can report a timeout.
    private static let grace = 170

    /// Starts a peer in a network namespace; nil for that of this machine. `hears` is whether it reads standard input.
    init(
        _ name: String, _ arguments: [String], in namespace: String?, of workspace: TestWorkspace, seconds: Int,
        hears: Bool = false
    ) throws {
        let path = "\(BuiltProgram.peers)/\(name)"
        let all = arguments + ["--seconds", "\(seconds)"]
        limit = .seconds(seconds + Self.grace)
        if let namespace {
            program = try workspace.start(
                "\(BuiltProgram.peers)/namespace.sh", [namespace, path] + all, limit: limit, hears: hears)
        } else {
            program = try workspace.start(path, all, limit: limit, hears: hears)
        }
    }

    /// Waits until it accepts commands.
    func awaitReadiness(within limit: Duration = .timeout) async throws {
        guard await program.output.lines.first(within: limit, where: { $0 == "ready" }) != nil else {
            throw EndToEndFailure("\(program.name) is not ready\n\(program.report)")
        }
    }

    /// The figures, when it is done. Throws when one of its checks did not hold.
    func figures(within limit: Duration? = nil) async throws -> JSON {
        let status = try await program.exitStatus(within: limit ?? self.limit + .seconds(20))
        guard let figures = program.output.lines.values.last.flatMap(JSON.init(line:)) else {
            throw EndToEndFailure("\(program.name) exited with \(status) and no figures\n\(program.report)")
        }
        if figures["ok"] == .bool(true) { return figures }
        let why = figures["error"].text ?? figures["failed"].list.compactMap(\.text).joined(separator: ", ")
        throw EndToEndFailure("\(program.name): \(why)\n\(program.report)")
    }
}
