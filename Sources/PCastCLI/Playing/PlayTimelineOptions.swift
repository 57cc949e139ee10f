import ArgumentParser
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

    @Flag(help: "Tell it as soon as it is known, wherever the picture is.")
    var spoiler = false

    func validate() throws {
        if timeline == nil, timelinePlatform != nil || timelineToken != nil || spoiler {
            throw ValidationError("--timeline-platform, --timeline-token and --spoiler go with --timeline.")
        }
        if let timeline, Self.game(timeline) == nil {
            throw ValidationError("--timeline is LEAGUE/GAME, such as NHL/2354717.")
        }
    }

    private static func game(_ text: String) -> TimelineGame? {
        guard let slash = text.firstIndex(of: "/") else { return nil }
        return try? TimelineGame(league: String(text[..<slash]), game: String(text[text.index(after: slash)...]))
    }

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
