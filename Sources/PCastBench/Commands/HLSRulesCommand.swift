import ArgumentParser
import PCastCore
import PCastHLS
import PCastIO
import PCastJSON

/// `pcast-bench hls-rules` checks the playlists of a server against the rules of RFC 8216bis and of Apple.
struct HLSRulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hls-rules",
        abstract: "Check the playlists of a server against the rules of RFC 8216bis and of Apple.",
        discussion: """
            All media playlists of the presentation are followed with blocking reloads, and each version is checked. \
            Each violation names the rule and its source. The address contains the token, if the server needs one: \
            http://127.0.0.1:8080/video/STREAM/index.m3u8?token=TOKEN.
            """)

    @Argument(help: "Address of a multivariant or media playlist.")
    var uri: String

    @Option(help: "Seconds for which live playlists are followed.")
    var seconds = 20

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (1...86_400).contains(seconds) else { throw ValidationError("--seconds must be 1 to 86400.") }
    }

    func run() async throws {
        var report = Report(options)
        let end = MonotonicClock.now() + .seconds(Int64(seconds))
        let (results, shared) = try await PresentationObserver(uri: uri).run(until: end)
        var violations = shared.map { ("presentation", $0) }
        for result in results {
            let observation = result.observation
            report.row(
                result.uri,
                [
                    "versions": Double(observation.versions),
                    "segments": Double(observation.playlist.segments.count),
                    "violations": Double(observation.violations.count),
                ], pass: observation.violations.isEmpty)
            violations += observation.violations.map { (result.uri, $0) }
        }
        for (name, violation) in violations.sorted(by: { "\($0)" < "\($1)" }) {
            report.event(
                "violation",
                [
                    "playlist": .string(name), "rule": .string(violation.rule.rawValue),
                    "detail": .string(violation.detail), "source": .string(violation.rule.source),
                ], sentence: "\(name): \(violation)")
        }
        try report.finish(
            [
                "playlists": Double(results.count),
                "versions": Double(results.reduce(0) { $0 + $1.observation.versions }),
                "violations": Double(violations.count),
            ], targets: [Target("violations", .exactly(0)), Target("playlists", .atLeast(1))])
    }
}
