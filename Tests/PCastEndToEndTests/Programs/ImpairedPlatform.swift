import Foundation

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
    /// accepts them.
    static func start(in workspace: TestWorkspace, steps: [String]) async throws -> ImpairedPlatform {
        try await ChosenPort.find(count: 2) { try await start(in: workspace, steps: steps, port: $0) }
    }

    /// Starts both with two consecutive ports; nil if another socket has one of them at one of the addresses.
    private static func start(in workspace: TestWorkspace, steps: [String], port: Int) async throws -> ImpairedPlatform?
    {
        let program = try workspace.pcast(
            "serve", "--listen", "\(good):\(port)", "--rtc-port", "\(port + 1)", "--advertise", bad, "--application",
            LocalPlatform.application, limit: .longestSuite)
        guard try await program.listens() != nil else { return nil }
        var arguments = ["impair", "--exempt", good, "--delay", "10ms", "--json"]
        for number in [port, port + 1] { arguments += ["--listen", "\(bad):\(number)", "--to", "\(good):\(number)"] }
        for step in steps { arguments += ["--step", step] }
        let proxy = try workspace.start(BuiltProgram.path("pcast-bench"), arguments, limit: .longestSuite)
        guard try await proxy.listens() != nil else {
            try await program.end()
            return nil
        }
        let goodURI = "http://\(good):\(port)"
        return ImpairedPlatform(
            platform: LocalPlatform(program, uri: goodURI, in: workspace), proxy: proxy,
            badURI: "http://\(bad):\(port)")
    }

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
