import ArgumentParser
import Foundation
import PCastCore
import PCastJSON

/// `pcast-bench light-viewers` runs viewers that inspect each packet without decoding.
struct LightViewersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "light-viewers", abstract: "Run viewers that do not decode; started by “networks”.",
        shouldDisplay: false)

    /// The environment variable with the token, which other users cannot read.
    static let tokenVariable = "PCAST_BENCH_VIEWING_TOKEN"

    @Option(help: "Address of the platform.")
    var uri: String

    @Option var stream: String

    @Option var viewers = 97

    @Option(help: "Source address and first source port.")
    var from: String

    @Option(help: "Seconds before the measurement starts.")
    var settleSeconds = 4

    @OptionGroup var options: ReportOptions

    func run() async throws {
        let token = ProcessInfo.processInfo.environment[Self.tokenVariable] ?? ""
        guard let first = TransportAddress(from), first.port > 0, (1...65_536 - Int(first.port)).contains(viewers)
        else {
            throw ValidationError("--from must be an address and the first port, such as 127.0.0.1:20000.")
        }
        var report = Report(options)
        let viewersLoad = try LightViewers(viewers, from: first.ip, firstPort: first.port)
        defer { viewersLoad.leave() }
        try await viewersLoad.join(StreamID(stream), at: uri, token: token)
        try await viewersLoad.waitUntilWatching(within: .seconds(20))
        try await Task.sleep(for: .seconds(settleSeconds))
        try await viewersLoad.begin()
        let stop = StopSignals()
        report.event(
            "watching", ["viewers": .number(Double(viewers))],
            sentence: "\(viewers) viewers are subscribed. Press Ctrl-C to stop.")
        await stop.wait()
        report.row("light-viewers", try await viewersLoad.metrics().named)
    }
}
