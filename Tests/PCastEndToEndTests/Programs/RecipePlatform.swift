import Foundation

/// A platform at an address of a machine with a network of its own, and the commands of the README's recipes there. Only
/// hosts and the stream's ID are replaced in a command.
struct RecipePlatform: Sendable {
    /// The platform's address, and that of every other program. It is not a loopback address, so that tokens are
    /// required.
    static let host = MachineNetwork.addresses[0]
    /// The application of the README's tokens.
    private static let application = "my-app:my-secret"
    /// The hosts of the README, from the blocks that are reserved for documentation (RFC 5737).
    private static let documentationHosts = ["203.0.113.7", "192.0.2.5"]

    let machine: MachineNetwork
    let local: LocalPlatform
    /// The values of the recipes' shell variables.
    private let variables: [String: String]

    var workspace: TestWorkspace { machine.workspace }

    static func start(in workspace: TestWorkspace) async throws -> RecipePlatform {
        let machine = try await MachineNetwork.start("v4 route", in: workspace)
        let recipes = ["Publish with FFmpeg by SRT", "Publish by SRT on one port", "Publish with FFmpeg by RTMP"]
        let options = try recipes.flatMap { recipe in
            let serve = try ReadmeRecipe(recipe).command(with: "pcast serve")
            return serve.prefix { $0 != "#" }.split(separator: " ").dropFirst(2).filter { $0 != "…" }
        }
        let program = try machine.pcast(
            ["serve"] + options.map { String($0) } + [
                "--listen", "\(host):8080", "--advertise", host, "--application", application, "--media-allow", host,
            ])
        let local = try await LocalPlatform(program, in: workspace)
        let programs = FileManager.default
        try programs.createDirectory(atPath: workspace.path("bin"), withIntermediateDirectories: true)
        try programs.createSymbolicLink(
            atPath: workspace.path("bin/pcast"), withDestinationPath: try BuiltProgram.path("pcast"))
        return RecipePlatform(machine: machine, local: local, variables: try await variables(in: workspace))
    }

    /// Makes `ffmpeg` of the following commands one that has the muxer for WHIP.
    func useFFmpegWithWHIP() async throws {
        let path = try await workspace.run(
            ThisMachine.peersPython, ["-c", "import imageio_ffmpeg; print(imageio_ffmpeg.get_ffmpeg_exe())"]
        ).output.first
        guard let path else { throw EndToEndFailure("there is no FFmpeg with WHIP") }
        try FileManager.default.createSymbolicLink(atPath: workspace.path("bin/ffmpeg"), withDestinationPath: path)
    }

    private static func searchPath(in workspace: TestWorkspace) -> String {
        "\(workspace.path("bin")):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"
    }

    /// Runs the README's assignments, and returns the values.
    private static func variables(in workspace: TestWorkspace) async throws -> [String: String] {
        let assignments = try ReadmeRecipe.assignments()
        let names = assignments.compactMap { ReadmeRecipe.name(of: $0) }
        let script = assignments.map { inside($0, stream: nil) } + names.map { #"printf '%s\n' "$\#($0)""# }
        let shell = try workspace.start(
            "/bin/bash", ["-euc", script.joined(separator: "\n")], variables: ["PATH": searchPath(in: workspace)])
        let status = try await shell.exitStatus()
        let values = shell.output.lines.values
        guard status == 0, values.count == names.count else {
            throw EndToEndFailure("the assignments of README.md exited with \(status)\n\(shell.report)")
        }
        return Dictionary(zip(names, values), uniquingKeysWith: { _, last in last })
    }

    /// Replaces what is different for each reader of the README.
    private static func inside(_ text: String, stream: String?) -> String {
        var text = text.replacingOccurrences(of: "Tests/PCastEndToEndTests/peers", with: BuiltProgram.peers)
        for host in documentationHosts { text = text.replacingOccurrences(of: host, with: Self.host) }
        return stream.map { text.replacingOccurrences(of: "STREAM", with: $0) } ?? text
    }

    /// Returns a piece of inline code with the values of its variables.
    func value(of code: String, stream: String? = nil) -> String {
        variables.reduce(Self.inside(code, stream: stream)) { text, variable in
            text.replacingOccurrences(of: "$\(variable.key)", with: variable.value)
        }
    }

    /// Starts a command of a recipe.
    func start(_ command: String, stream: String? = nil) throws -> RunningProgram {
        try run("bash", ["-c", "exec \(Self.inside(command, stream: stream))"])
    }

    /// Starts a command of a recipe in a terminal of 100 columns and 30 rows. Returns the socket of its tmux.
    func startInTerminal(_ command: String, stream: String) async throws -> String {
        let socket = workspace.path("tmux")
        let shell = "exec \(Self.inside(command, stream: stream))"
        let program = try run(
            "tmux", ["-S", socket, "-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", shell])
        guard try await program.exitStatus() == 0 else { throw EndToEndFailure("no terminal\n\(program.report)") }
        return socket
    }

    /// Starts a program on the machine, with the recipes' variables in its environment.
    func run(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws -> RunningProgram {
        var all = variables.merging(environment) { _, own in own }
        all["PATH"] = Self.searchPath(in: workspace)
        all["XDG_RUNTIME_DIR"] = workspace.runtimeDirectory
        return try workspace.start(
            "\(BuiltProgram.peers)/namespace.sh",
            [machine.name, "env"] + all.map { "\($0.key)=\($0.value)" } + [program] + arguments)
    }

    /// Waits until a program on the machine receives datagrams at a port, or has ended.
    func awaitDatagramPort(_ port: Int, of program: RunningProgram) async throws {
        try await program.awaitDatagramPort(port) {
            let sockets = try run("cat", ["/proc/net/udp"])
            try await sockets.exitStatus()
            return sockets.output.lines.values.joined(separator: "\n")
        }
    }

    /// Records a stream with the README's command. The video must move, and the screenshot is of it.
    ///
    /// The command runs for the README's duration with `PCAST_FULL=1`. Otherwise it is ended as by Ctrl-C when it has
    /// shown three seconds of frames, however long a busy machine takes for them.
    func record(_ stream: String) async throws -> (recording: MediaFile, screenshot: MediaFile) {
        let command = try ReadmeRecipe("Watch, record and push with `pcast`").command(with: "--record")
        guard let duration = command.firstMatch(of: /--for \w+/) else {
            throw EndToEndFailure("the README's recording has no duration: \(command)")
        }
        let shorter = command.replacingCharacters(in: duration.range, with: "--json")
        let viewer = try start(ThisMachine.isFull ? command : shorter, stream: stream)
        if !ThisMachine.isFull {
            _ = try await viewer.event("stats") { ($0["framesRendered"].number ?? 0) >= 90 }
            viewer.send(SIGINT)
        }
        guard try await viewer.exitStatus() == 0 else { throw EndToEndFailure("no recording\n\(viewer.report)") }
        return (
            MediaFile(path: workspace.path("recording.mp4"), workspace: workspace),
            MediaFile(path: workspace.path("last.png"), workspace: workspace)
        )
    }
}

/// A recipe of README.md: the section below one of the headings of "Recipes".
struct ReadmeRecipe: Sendable {
    private let heading: String
    /// The commands of the code blocks. The lines of a command that continues with a backslash are joined.
    private let commands: [String]
    /// The text between backticks outside the code blocks.
    private let codes: [String]

    /// Reads a section of README.md. Throws if there is none with this heading.
    init(_ heading: String) throws {
        self.heading = heading
        let lines = try Self.section { line in line.hasPrefix("#") && line.drop { $0 == "#" }.dropFirst() == heading }
        var (commands, texts): ([String], [String]) = ([], [])
        var (isCode, continues) = (false, false)
        for line in lines {
            if line.hasPrefix("```") {
                isCode.toggle()
                continue
            }
            guard isCode else {
                texts.append(line)
                continue
            }
            let part = line.hasSuffix("\\") ? String(line.dropLast()) : line
            if continues { commands[commands.count - 1] += part } else { commands.append(part) }
            continues = line.hasSuffix("\\")
        }
        self.commands = commands
        codes = texts.joined(separator: "\n").split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    /// Returns the lines after a heading, up to the next one.
    private static func section(_ isHeading: (String) -> Bool) throws -> ArraySlice<String> {
        let text = try String(contentsOfFile: "\(BuiltProgram.repository)/README.md", encoding: .utf8)
        let lines = text.components(separatedBy: "\n")
        guard let start = lines.firstIndex(where: isHeading) else {
            throw EndToEndFailure("README.md has no such heading")
        }
        let rest = lines[(start + 1)...]
        var isCode = false
        // A comment of a shell begins like a heading.
        let end = rest.firstIndex { line in
            if line.hasPrefix("```") { isCode.toggle() }
            return !isCode && line.hasPrefix("#")
        }
        return rest[..<(end ?? rest.endIndex)]
    }

    /// Returns the one command that contains a text.
    func command(with text: String) throws -> String {
        try Self.only(commands.filter { $0.contains(text) }, heading, text)
    }

    /// Returns the one piece of inline code that contains a text.
    func code(with text: String) throws -> String { try Self.only(codes.filter { $0.contains(text) }, heading, text) }

    private static func only(_ found: [String], _ heading: String, _ text: String) throws -> String {
        guard found.count == 1 else {
            throw EndToEndFailure("“\(heading)” of README.md has “\(text)” \(found.count) times, and must have it once")
        }
        return found[0]
    }

    /// Returns the assignments of shell variables that all recipes use.
    static func assignments() throws -> [String] {
        let assignments = try ReadmeRecipe("Recipes").commands.filter { !$0.isEmpty }
        guard !assignments.isEmpty, assignments.allSatisfy({ name(of: $0) != nil }) else {
            throw EndToEndFailure("“Recipes” of README.md must begin with assignments only: \(assignments)")
        }
        return assignments
    }

    /// Returns the variable of an assignment; nil if the line is none.
    static func name(of assignment: String) -> String? {
        let name = assignment.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        return !name.isEmpty && assignment.dropFirst(name.count).hasPrefix("=") ? String(name) : nil
    }
}
