import Foundation

/// A server and a client in sealed networks of their own with two links between them, and a platform at the server's.
struct TwoNetworks: Sendable {
    /// The server's address, by either link.
    static let server = "10.9.0.1"

    let name: String
    let place: TestWorkspace
    let platform: LocalPlatform

    /// Media's port, and that of TLS, at which the platform has everything.
    static let mediaPort = 8189
    static let securePort = 8443

    static func start(in place: TestWorkspace) async throws -> TwoNetworks {
        let name = "pcast-\(getpid())-\(UUID().uuidString.prefix(4))"
        let networks = try place.start("\(BuiltProgram.peers)/two_networks.sh", [name])
        guard await networks.output.lines.first(where: { $0 == "ready" }) != nil else {
            throw EndToEndFailure("no networks\n\(networks.report)")
        }
        let serve = [
            "serve", "--listen", "\(server):8080", "--rtc-port", "\(mediaPort)", "--tls-port", "\(securePort)",
            "--application", LocalPlatform.application, "--shards", "2",
        ]
        let program = try Self.pcast(serve, in: "\(name)-server", of: place)
        return TwoNetworks(name: name, place: place, platform: try await LocalPlatform(program, in: place))
    }

    /// Runs `pcast` beside the server.
    func atServer(_ arguments: String...) throws -> RunningProgram {
        try Self.pcast(arguments, in: "\(name)-server", of: place)
    }

    /// Runs `pcast` at the client's.
    func atClient(_ arguments: String...) throws -> RunningProgram {
        try Self.pcast(arguments, in: "\(name)-client", of: place)
    }

    private static func pcast(_ arguments: [String], in network: String, of place: TestWorkspace) throws
        -> RunningProgram
    {
        try place.start(
            "\(BuiltProgram.peers)/namespace.sh",
            [
                network, "env", "PCAST_LOG_LEVEL=info", "XDG_RUNTIME_DIR=\(place.runtimeDirectory)",
                BuiltProgram.path("pcast"),
            ] + arguments + ["--json"])
    }

    var clientNetwork: String { "\(name)-client" }

    /// Changes the client's network: `ip` with these arguments.
    func change(_ arguments: String...) async throws {
        try await place.run("\(BuiltProgram.peers)/namespace.sh", [clientNetwork, "ip"] + arguments)
    }

    /// Nothing of this kind leaves the client any more, silently.
    func block(_ kind: [String]) async throws {
        try await place.run(
            "\(BuiltProgram.peers)/namespace.sh",
            [clientNetwork, "ip", "rule", "add", "pref", "10"] + kind + ["blackhole"])
    }

    /// The client's address by the link that it prefers.
    private static let firstAddress = "10.1.0.2"

    /// The classifiers of media that leave the server and the client.
    private static let media = [
        ["ipproto", "udp"], ["ipproto", "tcp", "sport", "\(mediaPort)"], ["ipproto", "tcp", "dport", "\(mediaPort)"],
        ["ipproto", "tcp", "sport", "\(securePort)"], ["ipproto", "tcp", "dport", "\(securePort)"],
    ]

    /// Changes a side's network at once: `ip` with a line of arguments each.
    private func change(_ side: String, _ lines: [[String]]) async throws {
        let batch = place.path("ip-\(UUID().uuidString.prefix(8))")
        try lines.map { $0.joined(separator: " ") + "\n" }.joined().write(
            toFile: batch, atomically: true, encoding: .utf8)
        try await place.run("\(BuiltProgram.peers)/namespace.sh", ["\(name)-\(side)", "ip", "-batch", batch])
    }

    /// Nothing of media passes any more, silently and both ways, by whatever protocol; the session's connection does.
    func cutMedia() async throws {
        for side in ["server", "client"] {
            try await change(side, Self.media.map { ["rule", "add", "pref", "10"] + $0 + ["blackhole"] })
        }
    }

    /// Media passes again, but by the second link alone: nothing of it comes from the first address any more or gets
    /// there, and the second is what the client's system prefers (as a browser takes it that may not list addresses).
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

    /// A stream from beside the server, and what is needed to watch it.
    func publish() async throws -> (program: RunningProgram, viewing: [String]) {
        let program = try atServer(
            "publish", "--uri", platform.uri, "--token", try await platform.authenticationToken(), "--token",
            try await platform.publishingToken(), "--video", "synthetic", "--audio", "synthetic")
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
