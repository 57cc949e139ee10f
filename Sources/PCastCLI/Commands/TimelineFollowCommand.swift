import ArgumentParser
import PCastCore
import PCastJSON
import PCastPlayback
import PCastTimeline

/// The command `pcast timeline follow`.
struct TimelineFollowCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Show what is told of a game, as soon as it is: no player holds it back.",
        discussion: """
            Begins with all that was told before, or behind --since. When the connection is lost it comes again, and goes on \
            where it was. Ctrl-C ends it.
            """)

    @OptionGroup var game: TimelineGameArguments

    @Option(help: ArgumentHelp("Begin behind this number of a change.", valueName: "seq"))
    var since = 0

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this long.", valueName: "duration"))
    var duration: DurationArgument?

    @Option(help: ArgumentHelp("An EdgeAuth token that one may view with.", valueName: "token"))
    var token: String?

    @OptionGroup var administration: AdministrationOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard since >= 0 else { throw ValidationError("--since is a number of a change, or 0.") }
    }

    func run() async throws {
        let console = Console(output)
        let game = try game.named()
        let platform: TimelinePlatform
        if let token, let uri = administration.uri {
            platform = TimelinePlatform(uri: uri, token: token)
        } else if let known = try? administration.administration() {
            platform = TimelinePlatform(
                uri: known.uri, token: try token ?? ApplicationTokens(application: known.application).following())
        } else if let uri = administration.uri {
            // A platform for its own host only needs no token.
            platform = TimelinePlatform(uri: uri)
        } else {
            throw CommandFailure(.nothingToPlay, "No platform of yours runs here: give --uri and --token.")
        }
        let run = TimelineFollowing(game, platform, since: SequenceNumber(since), console)
        let following = Task { try await run.run() }
        let interruption = Interruption { following.cancel() }
        let clock = duration.map { duration in
            Task {
                try await Task.sleep(for: duration.span.duration)
                following.cancel()
            }
        }
        defer { clock?.cancel() }
        do {
            try await following.value
        } catch is CancellationError {
        } catch let trouble as TimelineTrouble {
            throw Self.failure(trouble)
        }
        console.event("ended", ["reason": .string("ended"), "seq": .count(run.newest.value)])
        withExtendedLifetime(interruption) {}
    }

    private static func failure(_ trouble: TimelineTrouble) -> CommandFailure {
        switch trouble {
        case .noPlatform: CommandFailure(.nothingToPlay, describing: trouble)
        case .unreachable: CommandFailure(.platformUnreachable, describing: trouble)
        case .refused: CommandFailure(.notAuthorized, describing: trouble)
        case .noGame: CommandFailure(.nothingToPlay, describing: trouble)
        case .broken, .over: CommandFailure(.failed, describing: trouble)
        }
    }
}
