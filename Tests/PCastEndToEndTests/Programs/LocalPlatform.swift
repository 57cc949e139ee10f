import Foundation

/// A platform in its own process with one application.
struct LocalPlatform: Sendable {
    static let application = "studio:not-so-secret"

    let program: RunningProgram
    let uri: String
    let workspace: TestWorkspace

    /// Starts `pcast serve` on free ports of loopback, with additional options.
    static func start(
        in workspace: TestWorkspace, _ options: [String] = [], limit: Duration = .longestRun
    ) async throws -> LocalPlatform {
        let arguments = [
            "serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--application", application, "--json",
        ]
        let program = try workspace.start(BuiltProgram.path("pcast"), arguments + options, limit: limit)
        return try await LocalPlatform(program, in: workspace)
    }

    init(_ program: RunningProgram, in workspace: TestWorkspace) async throws {
        self.program = program
        self.workspace = workspace
        guard let uri = try await program.event("listening")["uri"].text else {
            throw EndToEndFailure("the platform does not tell where it listens")
        }
        self.uri = uri
    }

    /// Creates a platform that was started otherwise and reported its address.
    init(_ program: RunningProgram, uri: String, in workspace: TestWorkspace) {
        self.program = program
        self.workspace = workspace
        self.uri = uri
    }

    /// Returns the next stream with media that is not among the known ones.
    func stream(otherThan known: Set<String> = []) async throws -> String {
        let mark = "first media packet stream="
        let line = await program.messages.lines.first { line in
            line.split(separator: " ").last.map { line.contains(mark) && !known.contains(Self.name($0)) } ?? false
        }
        guard let last = line?.split(separator: " ").last else {
            throw EndToEndFailure("no media arrives at the platform\n\(program.report)")
        }
        return Self.name(last)
    }

    private static func name(_ word: Substring) -> String { String(word.drop { $0 != "=" }.dropFirst()) }

    /// Ends a stream as its application's backend does.
    func end(_ stream: String, reason: String = "ended") async throws {
        try await workspace.run(
            BuiltProgram.path("pcast"),
            ["streams", "end", stream, "--reason", reason, "--uri", uri, "--application", Self.application])
    }

    /// Starts viewers of a stream that do not decode; returns when all of them receive video and audio.
    func startLightViewers(_ count: Int, of stream: String) async throws -> RunningProgram {
        let token = try await viewingToken(stream)
        return try await ChosenPort.find(count: count) { port -> RunningProgram? in
            let viewers = try workspace.start(
                "/usr/bin/env",
                [
                    "PCAST_BENCH_VIEWING_TOKEN=\(token)", try BuiltProgram.path("pcast-bench"), "light-viewers",
                    "--json", "--uri", uri, "--stream", stream, "--viewers", "\(count)", "--from",
                    "127.0.0.1:\(port)", "--settle-seconds", "0",
                ])
            guard let watching = try await viewers.listens("watching") else { return nil }
            guard watching["viewers"].number == Double(count) else {
                throw EndToEndFailure("not all of \(count) viewers watch\n\(viewers.report)")
            }
            return viewers
        }
    }

    /// The number of datagrams that found no room in a socket of the platform's network (`RcvbufErrors`, proc_net_snmp).
    func receiveBufferErrors() throws -> Int {
        guard let process = program.processID,
            let text = try? String(contentsOfFile: "/proc/\(process)/net/snmp", encoding: .utf8)
        else { throw EndToEndFailure("the platform's network has no statistics") }
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("Udp:") }.map { $0.split(separator: " ") }
        guard rows.count == 2, let column = rows[0].firstIndex(of: "RcvbufErrors"), column < rows[1].count,
            let count = Int(rows[1][column])
        else { throw EndToEndFailure("no RcvbufErrors in \(text)") }
        return count
    }

    func publishingToken() async throws -> String { try await workspace.token(Self.application, "--type", "publish") }

    func authenticationToken() async throws -> String { try await workspace.token(Self.application, "--type", "auth") }

    func viewingToken(_ stream: String) async throws -> String {
        try await workspace.token(Self.application, "--type", "stream", "--stream", stream)
    }
}
