import Foundation

/// A machine in an isolated network with one interface, and another machine on the same link.
struct MachineNetwork: Sendable {
    /// The possible addresses of the interface.
    static let addresses = ["10.77.0.2", "2001:db8:77::2"]

    let name: String
    let workspace: TestWorkspace
    private let program: RunningProgram

    /// The network of the other machine.
    var outside: String { "\(name)-outside" }

    /// Starts a network namespace. `words` contains the properties of its interface: `v4`, `v6` and `route`; see
    /// `machine_network.sh`.
    static func start(_ words: String, in workspace: TestWorkspace) async throws -> MachineNetwork {
        let name = "pcast-\(getpid())-\(UUID().uuidString.prefix(4))"
        let arguments = words.split(separator: " ").map(String.init)
        let program = try workspace.start(
            "\(BuiltProgram.peers)/machine_network.sh", [name] + arguments, limit: .longestSuite, hears: true)
        guard await program.output.lines.first(where: { $0 == "ready" }) != nil else {
            throw EndToEndFailure("no network\n\(program.report)")
        }
        return MachineNetwork(name: name, workspace: workspace, program: program)
    }

    /// Adds addresses or routes to the interface.
    func add(_ words: String) async throws {
        let count = program.output.lines.values.count
        try program.notify(words)
        guard await program.output.lines.first(after: count, where: { $0 == "ready" }) != nil else {
            throw EndToEndFailure("the network does not change\n\(program.report)")
        }
    }

    /// Runs `pcast` on the machine.
    func pcast(_ arguments: [String]) throws -> RunningProgram {
        try workspace.start(
            "\(BuiltProgram.peers)/namespace.sh",
            [
                name, "env", "PCAST_LOG_LEVEL=info", "XDG_RUNTIME_DIR=\(workspace.runtimeDirectory)",
                BuiltProgram.path("pcast"),
            ] + arguments + ["--json"])
    }

    /// Starts a platform on loopback with free ports.
    func serve(_ options: [String] = []) async throws -> LocalPlatform {
        let arguments = [
            "serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--application", LocalPlatform.application,
        ]
        return try await LocalPlatform(try pcast(arguments + options), in: workspace)
    }

    /// Starts a publisher with its own platform, as by default.
    func publish(
        codec: String = "h264", video: String = "synthetic"
    ) async throws -> (program: RunningProgram, uri: String, stream: String) {
        // Other sources keep their size.
        let size = video == "synthetic" ? ["--size", "640x360"] : []
        let program = try pcast(["publish", "--video", video, "--audio", "synthetic", "--codec", codec] + size)
        guard let stream = try await program.event("publishing")["streamId"].text,
            let uri = try await program.event("listening")["uri"].text
        else { throw EndToEndFailure("no stream\n\(program.report)") }
        return (program, uri, stream)
    }

    /// Uses the pages of a platform in a browser on the machine; see `use_pages.py`.
    func use(
        _ uri: String, browser: String, seconds: Int, _ options: [String], hears: Bool = false
    ) throws -> Peer {
        try Peer(
            "use_pages.py", [uri, "--browser", browser] + options, in: name, of: workspace, seconds: seconds,
            hears: hears)
    }

    func use(_ platform: LocalPlatform, browser: String, seconds: Int, _ options: [String]) throws -> Peer {
        try use(platform.uri, browser: browser, seconds: seconds, options)
    }
}

/// A program of `peers/`: another WebRTC implementation, which checks what it receives.
struct Peer: Sendable {
    let program: RunningProgram
    private let limit: Duration

    /// The value is slightly above `GRACE` of `program.py`, so that the program itself can report a timeout.
    private static let grace = 240

    /// Starts a peer in a network namespace; nil for that of this machine. `hears` is whether it reads standard input.
    /// `extraTime` is the number of seconds that the program adds to its time limit.
    init(
        _ name: String, _ arguments: [String], in namespace: String?, of workspace: TestWorkspace, seconds: Int,
        extraTime: Int = 0, hears: Bool = false
    ) throws {
        let path = "\(BuiltProgram.peers)/\(name)"
        let all = arguments + ["--seconds", "\(seconds)"]
        limit = .seconds(seconds + extraTime + Self.grace)
        if let namespace {
            program = try workspace.start(
                "\(BuiltProgram.peers)/namespace.sh", [namespace, path] + all, limit: limit, hears: hears)
        } else {
            program = try workspace.start(path, all, limit: limit, hears: hears)
        }
    }

    /// Waits until it accepts commands. The start of a browser alone may take two minutes on a busy machine.
    func awaitReadiness(within limit: Duration = .seconds(150)) async throws {
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
