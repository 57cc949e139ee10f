import ArgumentParser
import Foundation
import PCastCore
import PCastIO
import PCastOverlay
import PCastPlayback

/// `pcast-bench overlay` measures round trips from a page to the player or the application and back.
struct OverlayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "overlay",
        abstract: "Measure round trips between a player and the pages of its overlay on loopback.",
        discussion: """
            A file is played, and its bridge serves the pages, each of which receives all messages. “message” is the \
            round trip from a page to the application and back, “command” from a page to the player and back as the \
            player's event. Every page waits for its own response while the others do the same. The pages are not \
            browsers, so only the bridge is measured. “hub” is the time from a change of a player to all receivers. \
            With several players, each has an overlay, and the pages are distributed over them; all but the first \
            play a smaller file.
            """)

    @Option(help: "Number of simultaneous pages.")
    var viewers = 10

    @Option(help: "Number of simultaneous players, each with an overlay.")
    var players = 1

    @Option(help: "Seconds of each measurement.")
    var seconds = 10

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (1...64).contains(viewers), (1...200).contains(players), (1...600).contains(seconds) else {
            throw ValidationError("--viewers must be 1 to 64, --players 1 to 200, and --seconds 1 to 600.")
        }
    }

    func run() async throws {
        var report = Report(options)
        let folder = "/dev/shm/pcast-bench-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let film = try StampedVideo(seconds: 10, in: folder)
        var films = [film.file]
        if players > 1 {
            let small = "\(folder)/small.mp4"
            _ = try ChildCost.run(
                "ffmpeg",
                ["-v", "error", "-nostdin", "-y", "-i", film.file, "-vf", "scale=320:180", "-c:a", "copy", small])
            films += Array(repeating: small, count: players - 1)
        }
        let setup = try await OverlayBenchSetup(films, pages: viewers)
        let messages = try await setup.measure(.message, for: .seconds(Int64(seconds)))
        report.row("message", Self.metrics(messages))
        let commands = try await setup.measure(.command, for: .seconds(Int64(seconds)))
        report.row("command", Self.metrics(commands))
        let hub = try await setup.measureHub(for: .seconds(Int64(seconds)))
        report.row("hub", Self.metrics(hub))
        await setup.close()
        try report.finish(
            [
                "messageP50": Percentile.of(messages, 0.5), "messageP99": Percentile.of(messages, 0.99),
                "commandP50": Percentile.of(commands, 0.5), "commandP99": Percentile.of(commands, 0.99),
                "hubP50": Percentile.of(hub, 0.5), "hubP99": Percentile.of(hub, 0.99),
                "roundTrips": Double(messages.count + commands.count), "pages": Double(viewers),
                "players": Double(players),
            ],
            targets: [
                Target("messageP99", .atMost(50)), Target("commandP99", .atMost(50)), Target("hubP99", .atMost(50)),
            ])
    }

    private static func metrics(_ trips: [Double]) -> Report.Metrics {
        [
            "median": Percentile.of(trips, 0.5), "p99": Percentile.of(trips, 0.99), "worst": trips.max(),
            "count": Double(trips.count),
        ]
    }
}
