import ArgumentParser
import PCastCore
import PCastPlayback

/// The timeline options of `pcast play`.
struct PlayTimelineOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Tell what happens in this game when the picture comes there, here and to the overlay's pages, of which one that "
                + "seeks back takes back what is still to come.", valueName: "league/game"))
    var timeline: String?

    @Option(help: "The platform that has it; without it, the one that this user started last on this computer.")
    var timelinePlatform: String?

    @Option(help: ArgumentHelp("An EdgeAuth token that one may view with.", valueName: "token"))
    var timelineToken: String?

    @Option(
        help: ArgumentHelp(
            "When the first frame of the first item was made, as 2026-01-31T12:00:00.000Z, for a file or a playlist that does "
                + "not say so.", valueName: "utc"))
    var timelineStart: String?

    @Flag(help: "Tell it as soon as it is known, wherever the picture is.")
    var spoiler = false

    func validate() throws {
        if timeline == nil, timelinePlatform != nil || timelineToken != nil || timelineStart != nil || spoiler {
            throw ValidationError(
                "--timeline-platform, --timeline-token, --timeline-start and --spoiler go with --timeline.")
        }
        if let timelineStart, start == nil {
            throw ValidationError(
                "--timeline-start \(timelineStart) is no time: write it as 2026-01-31T12:00:00.000Z.")
        }
        if let timeline, Self.game(timeline) == nil {
            throw ValidationError("--timeline is LEAGUE/GAME, such as NHL/2354717.")
        }
    }

    private static func game(_ text: String) -> TimelineGame? {
        guard let slash = text.firstIndex(of: "/") else { return nil }
        return try? TimelineGame(league: String(text[..<slash]), game: String(text[text.index(after: slash)...]))
    }

    /// The time of the first frame; nil if it is not given.
    var start: WallTime? { timelineStart.flatMap { Timestamp.parse($0) } }

    /// Returns the options of the timeline; nil if none is requested.
    ///
    /// - Throws: ``CommandFailure``.
    func plan() throws -> PlayTimeline.Plan? {
        guard let game = timeline.flatMap(Self.game) else { return nil }
        return PlayTimeline.Plan(game: game, platform: try platform(), spoiler: spoiler)
    }

    private func platform() throws -> TimelinePlatform {
        if let timelinePlatform, let timelineToken {
            return TimelinePlatform(uri: timelinePlatform, token: timelineToken)
        }
        let running = LocalCredentialsFile.running(in: .standard())
        if let local = running.first(where: { timelinePlatform == nil || $0.isOf(uri: timelinePlatform) }) {
            return TimelinePlatform(
                uri: local.uri,
                token: try timelineToken ?? ApplicationTokens(application: local.application).following())
        }
        guard let timelinePlatform else {
            throw CommandFailure(.nothingToPlay, "No platform of yours runs here: give --timeline-platform.")
        }
        // A platform for its own host only needs no token.
        return TimelinePlatform(uri: timelinePlatform)
    }
}
