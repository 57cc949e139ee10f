import Foundation
import PCastCore
import PCastTimeline

/// A platform with timelines on disk that can be killed and restarted at the same address, and the producer of one
/// game.
actor TimelineGround {
    static let league = "NHL"
    static let game = "2354717"

    private let workspace: TestWorkspace
    private var platform: LocalPlatform

    static func start(in workspace: TestWorkspace) async throws -> TimelineGround {
        let platform = try await ChosenPort.find { try await serve(in: workspace, port: $0) }
        return TimelineGround(workspace, platform)
    }

    private init(_ workspace: TestWorkspace, _ platform: LocalPlatform) {
        (self.workspace, self.platform) = (workspace, platform)
    }

    /// Returns nil if another socket has the port.
    private static func serve(in workspace: TestWorkspace, port: Int) async throws -> LocalPlatform? {
        let program = try workspace.start(
            BuiltProgram.path("pcast"),
            [
                "serve", "--listen", "127.0.0.1:\(port)", "--rtc-port", "0", "--application",
                LocalPlatform.application, "--data", workspace.path("data"), "--json",
            ])
        guard try await program.listens() != nil else { return nil }
        return try await LocalPlatform(program, in: workspace)
    }

    var uri: String { platform.uri }

    func token() async throws -> String { try await workspace.token(LocalPlatform.application, "--type", "stream") }

    /// Creates a token for viewing one stream. The playout buffer is the minimum time for which its viewer holds
    /// frames, such as `PT1S`; nil for the time that is needed.
    func token(for stream: String, playoutBuffer: String? = nil) async throws -> String {
        let application = LocalPlatform.application
        guard let playoutBuffer else {
            return try await workspace.token(application, "--type", "stream", "--stream", stream)
        }
        return try await workspace.token(
            application, "--type", "stream", "--stream", stream, "--capability", "playout-buffer=\(playoutBuffer)")
    }

    /// Returns the address of a stream for a player.
    func address(of stream: String, playoutBuffer: String? = nil) async throws -> String {
        let token = try await token(for: stream, playoutBuffer: playoutBuffer)
        return "\(platform.uri)/watch/\(stream)#token=\(token.addingPercentEncoding)"
    }

    /// Kills the platform with SIGKILL, and restarts it at the same address.
    func killAndRestart() async throws {
        platform.program.send(SIGKILL)
        try await platform.program.exitStatus()
        guard let port = platform.uri.split(separator: ":").last.flatMap({ Int($0) }),
            let next = try await Self.serve(in: workspace, port: port)
        else { throw EndToEndFailure("\(platform.uri) cannot be listened on again") }
        platform = next
    }

    /// Adds an event of the game.
    func add(_ arguments: String...) async throws {
        try await run(["add", Self.league, Self.game] + arguments)
    }

    func run(_ arguments: [String]) async throws {
        try await workspace.run(
            BuiltProgram.path("pcast"),
            ["timeline"] + arguments + ["--uri", platform.uri, "--application", LocalPlatform.application, "--json"])
    }

    /// Imports earlier events from the lines of a log.
    func bring(_ log: TimelineLog) async throws {
        let lines = log.revisions.map { String(decoding: $0.bytes, as: UTF8.self) + "\n" }.joined()
        try lines.write(toFile: workspace.path("past.jsonl"), atomically: true, encoding: .utf8)
        try await run(["import", Self.league, Self.game, workspace.path("past.jsonl")])
    }
}
