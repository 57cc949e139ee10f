/// A platform in a process of its own that a test talks to, with one application.
struct LocalPlatform: Sendable {
    static let application = "studio:not-so-secret"

    let program: RunningProgram
    let uri: String
    let place: TestWorkspace

    /// Starts `pcast serve` on free ports of loopback.
    ///
    /// - Parameter options: beside those.
    static func start(
        in place: TestWorkspace, _ options: [String] = [], limit: Duration = .longestRun
    ) async throws -> LocalPlatform {
        let arguments = [
            "serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--application", application, "--json",
        ]
        let program = try place.start(BuiltProgram.path("pcast"), arguments + options, limit: limit)
        return try await LocalPlatform(program, in: place)
    }

    init(_ program: RunningProgram, in place: TestWorkspace) async throws {
        self.program = program
        self.place = place
        guard let uri = try await program.event("listening")["uri"].text else {
            throw EndToEndFailure("the platform does not tell where it listens")
        }
        self.uri = uri
    }

    /// One that was started otherwise, and told where it listens.
    init(_ program: RunningProgram, uri: String, in place: TestWorkspace) {
        self.program = program
        self.place = place
        self.uri = uri
    }

    /// The stream whose media arrives, or arrives next, and that is none of those known.
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

    /// Ends a stream as its application's backend would.
    func end(_ stream: String, reason: String = "ended") async throws {
        try await place.run(
            BuiltProgram.path("pcast"),
            ["streams", "end", stream, "--reason", reason, "--uri", uri, "--application", Self.application])
    }

    func publishingToken() async throws -> String { try await place.token(Self.application, "--type", "publish") }

    func authenticationToken() async throws -> String { try await place.token(Self.application, "--type", "auth") }

    func viewingToken(_ stream: String) async throws -> String {
        try await place.token(Self.application, "--type", "stream", "--stream", stream)
    }
}
