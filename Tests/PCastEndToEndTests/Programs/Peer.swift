/// A program of `peers/`: somebody else's WebRTC, that judges what it saw.
struct Peer: Sendable {
    let program: RunningProgram

    /// - Parameter namespace: the network that it joins; nil for this computer's.
    init(_ name: String, _ arguments: [String], in namespace: String?, of place: Workplace, seconds: Int) throws {
        let path = "\(BuiltProgram.peers)/\(name)"
        let all = arguments + ["--seconds", "\(seconds)"]
        let limit = Duration.seconds(seconds + 45)
        if let namespace {
            program = try place.start("\(BuiltProgram.peers)/namespace.sh", [namespace, path] + all, limit: limit)
        } else {
            program = try place.start(path, all, limit: limit)
        }
    }

    /// The figures, when it is done. Throws when one of its checks did not hold.
    func figures(within limit: Duration) async throws -> JSON {
        let status = try await program.exitStatus(within: limit)
        guard let figures = program.output.lines.values.last.flatMap(JSON.init(line:)) else {
            throw EndToEndFailure("\(program.name) exited with \(status) and no figures\n\(program.report)")
        }
        guard figures["ok"] == .bool(true) else {
            throw EndToEndFailure("\(program.name): \(figures["failed"]) \(figures["error"])\n\(program.report)")
        }
        return figures
    }
}
