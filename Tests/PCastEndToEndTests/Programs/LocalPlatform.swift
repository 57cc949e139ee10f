import Foundation
import PCast
import PCastCore

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

    func publishingToken() async throws -> String { try await workspace.token(Self.application, "--type", "publish") }

    func authenticationToken() async throws -> String { try await workspace.token(Self.application, "--type", "auth") }

    func viewingToken(_ stream: String) async throws -> String {
        try await workspace.token(Self.application, "--type", "stream", "--stream", stream)
    }
}

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

/// A stream that the test watches through the SDK.
struct WatchedStream: Sendable {
    let pcast: PCast
    let stream: MediaStream
    let renderer: Renderer
    /// The frame sizes in their order of arrival.
    let sizes = Awaited<Size>()

    struct Size: Sendable {
        /// The number of sizes before this one.
        let number: Int
        let height: Int
    }

    static func open(_ name: String, of platform: LocalPlatform) async throws -> WatchedStream {
        let pcast = PCast(PCastOptions(uri: platform.uri))
        _ = try await pcast.start(authenticationToken: try await platform.authenticationToken())
        let stream = try await pcast.subscribe(streamToken: try await platform.viewingToken(name))
        let renderer = stream.createRenderer(.nullDevices)
        let watched = WatchedStream(pcast: pcast, stream: stream, renderer: renderer)
        let changes = renderer.videoDisplayDimensionsChanges
        Task { [sizes = watched.sizes] in
            for await size in changes { sizes.add(Size(number: sizes.values.count, height: size.height)) }
        }
        try renderer.start()
        return watched
    }

    /// Waits for a frame height among the sizes after the first `count`.
    func height(_ height: Int, since count: Int, within limit: Duration = .timeout) async throws {
        let size = await sizes.first(within: limit) { $0.number >= count && $0.height == height }
        guard size != nil else {
            throw EndToEndFailure("no frame of \(height) rows within \(limit): \(sizes.values.map(\.height))")
        }
    }

    func close() async {
        stream.stop()
        await pcast.shutdown()
    }
}

/// A platform with two addresses: a good one at 127.0.0.1, and one at 127.0.0.3 through `pcast-bench impair`.
///
/// Candidates name only the second address. Clients of the first one bypass the proxy.
struct ImpairedPlatform: Sendable {
    let platform: LocalPlatform
    let proxy: RunningProgram
    /// The address for clients with a bad network.
    let badURI: String

    private static let good = "127.0.0.1"
    private static let bad = "127.0.0.3"

    /// Starts a platform with a network that can be impaired. The steps are its successive conditions, as `--step`
    /// accepts them. The platform has additional options.
    static func start(
        in workspace: TestWorkspace, steps: [String], _ options: [String] = []
    ) async throws -> ImpairedPlatform {
        try await ChosenPort.find(count: 2) { try await start(in: workspace, steps: steps, options, port: $0) }
    }

    /// Starts both with two consecutive ports; nil if another socket has one of them at one of the addresses.
    private static func start(
        in workspace: TestWorkspace, steps: [String], _ options: [String], port: Int
    ) async throws -> ImpairedPlatform? {
        let arguments = [
            "serve", "--listen", "\(good):\(port)", "--rtc-port", "\(port + 1)", "--advertise", bad, "--application",
            LocalPlatform.application, "--json",
        ]
        let program = try workspace.start(BuiltProgram.path("pcast"), arguments + options, limit: .longestSuite)
        guard try await program.listens() != nil else { return nil }
        var proxyArguments = ["impair", "--exempt", good, "--delay", "10ms", "--json"]
        for number in [port, port + 1] {
            proxyArguments += ["--listen", "\(bad):\(number)", "--to", "\(good):\(number)"]
        }
        for step in steps { proxyArguments += ["--step", step] }
        let proxy = try workspace.start(BuiltProgram.path("pcast-bench"), proxyArguments, limit: .longestSuite)
        guard try await proxy.listens() != nil else {
            try await program.end()
            return nil
        }
        let goodURI = "http://\(good):\(port)"
        return ImpairedPlatform(
            platform: LocalPlatform(program, uri: goodURI, in: workspace), proxy: proxy,
            badURI: "http://\(bad):\(port)")
    }

    /// Starts a link to the HTTP port of a platform, for a client of its own.
    static func link(to platform: LocalPlatform, steps: [String]) async throws -> ImpairedPlatform {
        let server = platform.uri.replacing("http://", with: "")
        return try await ChosenPort.find { port in
            let own = "\(bad):\(port)"
            let arguments = ["impair", "--listen", own, "--to", server, "--delay", "10ms", "--json"]
            let proxy = try platform.workspace.start(
                BuiltProgram.path("pcast-bench"), arguments + steps.flatMap { ["--step", $0] }, limit: .longestSuite)
            guard try await proxy.listens() != nil else { return nil }
            return ImpairedPlatform(platform: platform, proxy: proxy, badURI: "http://\(own)")
        }
    }

    /// Returns an address of the platform by the link.
    func impaired(_ address: String) -> String { address.replacing(platform.uri, with: badURI) }

    /// Changes the network to its next step.
    func step() async throws {
        let count = proxy.events("stepped").count
        proxy.send(SIGUSR2)
        _ = try await stepTime(count)
    }

    /// Returns the time of a step, counted from 0, in the past or future.
    func stepTime(_ number: Int) async throws -> Date {
        try await proxy.event("stepped", within: .seconds(240)) { $0["number"] == .number(Double(number)) }.time
    }
}

extension RunningProgram {
    /// Waits for a data quality since a time. Returns the number of seconds after that.
    func quality(
        _ status: String, _ reason: String, since time: Date, within limit: Duration = .timeout
    ) async throws -> Double {
        let received = try await self.event("dataQuality", within: limit) { event in
            event["status"].text == status && event["reason"].text == reason
                && ((try? event.time).map { $0 >= time } ?? false)
        }
        return try received.time.timeIntervalSince(time)
    }
}
