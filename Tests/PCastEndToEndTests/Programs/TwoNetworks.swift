import Foundation

/// A server and a client in isolated networks with two links between them, and a platform on the server.
struct TwoNetworks: Sendable {
    /// The server's address on both links.
    static let server = "10.9.0.1"

    let name: String
    let workspace: TestWorkspace
    let platform: LocalPlatform

    /// The port of media.
    static let mediaPort = 8189
    /// The port of TLS, at which the platform serves everything.
    static let securePort = 8443

    static func start(in workspace: TestWorkspace) async throws -> TwoNetworks {
        let name = "pcast-\(getpid())-\(UUID().uuidString.prefix(4))"
        let networks = try workspace.start("\(BuiltProgram.peers)/two_networks.sh", [name])
        guard await networks.output.lines.first(where: { $0 == "ready" }) != nil else {
            throw EndToEndFailure("no networks\n\(networks.report)")
        }
        let serve = [
            "serve", "--listen", "\(server):8080", "--rtc-port", "\(mediaPort)", "--tls-port", "\(securePort)",
            "--application", LocalPlatform.application, "--shards", "2",
        ]
        let program = try Self.pcast(serve, in: "\(name)-server", of: workspace)
        return TwoNetworks(name: name, workspace: workspace, platform: try await LocalPlatform(program, in: workspace))
    }

    /// Runs `pcast` on the server.
    func atServer(_ arguments: String...) throws -> RunningProgram {
        try Self.pcast(arguments, in: "\(name)-server", of: workspace)
    }

    /// Runs `pcast` on the client.
    func atClient(_ arguments: String...) throws -> RunningProgram {
        try Self.pcast(arguments, in: "\(name)-client", of: workspace)
    }

    private static func pcast(_ arguments: [String], in network: String, of workspace: TestWorkspace) throws
        -> RunningProgram
    {
        try workspace.start(
            "\(BuiltProgram.peers)/namespace.sh",
            [
                network, "env", "PCAST_LOG_LEVEL=info", "XDG_RUNTIME_DIR=\(workspace.runtimeDirectory)",
                BuiltProgram.path("pcast"),
            ] + arguments + ["--json"])
    }

    var clientNetwork: String { "\(name)-client" }

    /// Changes the client's network with arguments of `ip`.
    func change(_ arguments: String...) async throws {
        try await workspace.run("\(BuiltProgram.peers)/namespace.sh", [clientNetwork, "ip"] + arguments)
    }

    /// Silently drops packets of a kind that leave the client.
    func block(_ kind: [String]) async throws {
        try await workspace.run(
            "\(BuiltProgram.peers)/namespace.sh",
            [clientNetwork, "ip", "rule", "add", "pref", "10"] + kind + ["blackhole"])
    }

    /// The client's address on its preferred link.
    private static let firstAddress = "10.1.0.2"

    /// The classifiers of media that leave the server and the client.
    private static let media = [
        ["ipproto", "udp"], ["ipproto", "tcp", "sport", "\(mediaPort)"], ["ipproto", "tcp", "dport", "\(mediaPort)"],
        ["ipproto", "tcp", "sport", "\(securePort)"], ["ipproto", "tcp", "dport", "\(securePort)"],
    ]

    /// Changes a side's network at once: `ip` with a line of arguments each.
    private func change(_ side: String, _ lines: [[String]]) async throws {
        let batch = workspace.path("ip-\(UUID().uuidString.prefix(8))")
        try lines.map { $0.joined(separator: " ") + "\n" }.joined().write(
            toFile: batch, atomically: true, encoding: .utf8)
        try await workspace.run("\(BuiltProgram.peers)/namespace.sh", ["\(name)-\(side)", "ip", "-batch", batch])
    }

    /// Silently drops media in both directions and all protocols, but not the session's connection.
    func cutMedia() async throws {
        for side in ["server", "client"] {
            try await change(side, Self.media.map { ["rule", "add", "pref", "10"] + $0 + ["blackhole"] })
        }
    }

    /// Lets media pass over the second link only. The client's system then prefers that link, which a browser uses that
    /// may not enumerate addresses.
    func healMediaBySecond() async throws {
        let media = Self.media
        let opening = media.map { _ in ["rule", "delete", "pref", "10"] }
        try await change(
            "server",
            media.map { ["rule", "add", "pref", "9", "to", Self.firstAddress] + $0 + ["blackhole"] } + opening)
        try await change(
            "client",
            media.map { ["rule", "add", "pref", "9", "from", Self.firstAddress] + $0 + ["blackhole"] }
                + [["route", "delete", Self.server, "via", "10.1.0.1"]] + opening)
    }

    /// Publishes a stream on the server, and returns the arguments for watching it.
    func publish() async throws -> (program: RunningProgram, viewing: [String]) {
        let program = try atServer(
            "publish", "--uri", platform.uri, "--token", try await platform.authenticationToken(), "--token",
            try await platform.publishingToken(), "--video", "synthetic", "--audio", "synthetic", "--size", "640x360")
        guard let stream = try await program.event("publishing")["streamId"].text else {
            throw EndToEndFailure("no stream\n\(program.report)")
        }
        return (
            program,
            [
                "--uri", platform.uri, "--token", try await platform.authenticationToken(), "--token",
                try await platform.viewingToken(stream),
            ]
        )
    }
}
