import Foundation

/// A platform with two ways to it: a good one at 127.0.0.1, and one at 127.0.0.3 through `pcast-bench impair`.
///
/// Candidates name the second alone; who comes to the first is exempt from what the proxy does.
struct ImpairedPlatform: Sendable {
    let platform: LocalPlatform
    let proxy: RunningProgram
    /// Where clients come whose network is bad.
    let badURI: String

    private static let good = "127.0.0.1"
    private static let bad = "127.0.0.3"

    /// - Parameter steps: what the bad network becomes each time that it is asked to, as `--step` takes them.
    static func start(in place: TestWorkspace, steps: [String]) async throws -> ImpairedPlatform {
        try await ChosenPort.find(count: 2) { try await start(in: place, steps: steps, port: $0) }
    }

    /// Starts both with two consecutive ports; nil if another socket has one of them at one of the addresses.
    private static func start(in place: TestWorkspace, steps: [String], port: Int) async throws -> ImpairedPlatform? {
        let program = try place.pcast(
            "serve", "--listen", "\(good):\(port)", "--rtc-port", "\(port + 1)", "--advertise", bad, "--application",
            LocalPlatform.application, limit: .longestSuite)
        guard try await program.listens() != nil else { return nil }
        var arguments = ["impair", "--exempt", good, "--delay", "10ms", "--json"]
        for number in [port, port + 1] { arguments += ["--listen", "\(bad):\(number)", "--to", "\(good):\(number)"] }
        for step in steps { arguments += ["--step", step] }
        let proxy = try place.start(BuiltProgram.path("pcast-bench"), arguments, limit: .longestSuite)
        guard try await proxy.listens() != nil else {
            try await program.end()
            return nil
        }
        let goodURI = "http://\(good):\(port)"
        return ImpairedPlatform(
            platform: LocalPlatform(program, uri: goodURI, in: place), proxy: proxy,
            badURI: "http://\(bad):\(port)")
    }

    /// Makes the network what its next step says.
    func step() async throws {
        let count = proxy.events("stepped").count
        proxy.send(SIGUSR2)
        _ = try await stepTime(count)
    }

    /// When it made a step, counted from 0, whether that is past or to come.
    func stepTime(_ number: Int) async throws -> Date {
        try await proxy.event("stepped", within: .seconds(240)) { $0["number"] == .number(Double(number)) }.time
    }
}

extension RunningProgram {
    /// The first row of data quality of that kind since a time; returns how many seconds after it was told.
    func quality(
        _ status: String, _ reason: String, since time: Date, within limit: Duration = .timeout
    ) async throws -> Double {
        let told = try await self.event("dataQuality", within: limit) { event in
            event["status"].text == status && event["reason"].text == reason
                && ((try? event.time).map { $0 >= time } ?? false)
        }
        return try told.time.timeIntervalSince(time)
    }
}
