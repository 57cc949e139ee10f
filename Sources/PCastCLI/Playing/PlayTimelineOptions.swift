import ArgumentParser
import PCastCore
import PCastPlayback

/// The timeline options of `pcast play` and `pcast playout`.
struct PlayTimelineOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Deliver the events of this game when playback reaches their time, here and to the overlay's pages.",
            valueName: "league/game"))
    var timeline: String?

    @Option(help: "Platform of the timeline. (default: the one that this user started last on this host)")
    var timelinePlatform: String?

    @Option(help: ArgumentHelp("EdgeAuth token that permits viewing.", valueName: "token"))
    var timelineToken: String?

    @Option(
        help: ArgumentHelp(
            "Time of the first frame of the first item, such as 2026-01-31T12:00:00.000Z, if the file has none.",
            valueName: "utc"))
    var timelineStart: String?

    @Flag(help: "Deliver events as soon as they are known, whatever the playback position is.")
    var spoiler = false

    func validate() throws {
        if timeline == nil, timelinePlatform != nil || timelineToken != nil || timelineStart != nil || spoiler {
            throw ValidationError(
                "--timeline-platform, --timeline-token, --timeline-start and --spoiler require --timeline.")
        }
        if let timelineStart, start == nil {
            throw ValidationError(
                "--timeline-start \(timelineStart): the time is written 2026-01-31T12:00:00.000Z.")
        }
        if let timeline, Self.game(timeline) == nil {
            throw ValidationError("--timeline \(timeline): the game is written LEAGUE/GAME, such as NHL/2354717.")
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
            throw CommandFailure(
                .nothingToPlay, "No platform with a generated application was found: give --timeline-platform.")
        }
        // A platform for its own host only needs no token.
        return TimelinePlatform(uri: timelinePlatform)
    }
}
