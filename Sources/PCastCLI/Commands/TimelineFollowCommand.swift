import ArgumentParser
import PCastCore
import PCastJSON
import PCastPlayback
import PCastTimeline

/// The command `pcast timeline follow`.
struct TimelineFollowCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Print the changes of a game's timeline as soon as they are recorded.",
        discussion: """
            All recorded changes are printed first, or those after --since. The connection is restored when it is lost. \
            Press Ctrl-C to stop.

            Example:
              pcast timeline follow NHL 2354717 --json
            """)

    /// The options for the changes to print.
    struct RangeOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Start after the change with this sequence number.", valueName: "seq"))
        var since = 0

        @Option(
            name: .customLong("for"),
            help: ArgumentHelp("Stop after this duration, such as 90s or 10m.", valueName: "duration"))
        var duration: DurationArgument?
    }

    /// The option for the token.
    struct TokenOptions: ParsableArguments {
        @Option(help: ArgumentHelp("EdgeAuth token that permits viewing.", valueName: "token"))
        var token: String?
    }

    @OptionGroup var game: TimelineGameArguments

    @OptionGroup(title: "Changes") var range: RangeOptions

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Connection") var viewing: TokenOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func validate() throws {
        guard range.since >= 0 else {
            throw ValidationError("--since \(range.since): the sequence number must be 0 or more.")
        }
    }

    func run() async throws {
        let console = Console(output)
        let game = try game.named()
        let platform: TimelinePlatform
        if let token = viewing.token, let uri = administration.uri {
            platform = TimelinePlatform(uri: uri, token: token)
        } else if let known = try? administration.administration() {
            platform = TimelinePlatform(
                uri: known.uri,
                token: try viewing.token ?? ApplicationTokens(application: known.application).following())
        } else if let uri = administration.uri {
            // A platform for its own host only needs no token.
            platform = TimelinePlatform(uri: uri)
        } else {
            throw CommandFailure(
                .nothingToPlay, "No platform with a generated application was found: give --uri and --token.")
        }
        let run = TimelineFollowing(game, platform, since: SequenceNumber(range.since), console)
        let following = Task { try await run.run() }
        let interruption = InterruptHandler { following.cancel() }
        let clock = range.duration.map { duration in
            Task {
                try await Task.sleep(for: duration.span.duration)
                following.cancel()
            }
        }
        defer { clock?.cancel() }
        do {
            try await following.value
        } catch is CancellationError {
        } catch let error as TimelineFollowError {
            throw Self.failure(error)
        }
        console.event("ended", ["reason": .string("ended"), "seq": .count(run.newest.value)])
        withExtendedLifetime(interruption) {}
    }

    private static func failure(_ error: TimelineFollowError) -> CommandFailure {
        switch error {
        case .noPlatform: CommandFailure(.nothingToPlay, describing: error)
        case .unreachable: CommandFailure(.platformUnreachable, describing: error)
        case .refused: CommandFailure(.notAuthorized, describing: error)
        case .noGame: CommandFailure(.nothingToPlay, describing: error)
        case .broken, .over: CommandFailure(.failed, describing: error)
        }
    }
}
