import ArgumentParser
import PCastTimeline

/// The arguments that identify a game.
struct TimelineGameArguments: ParsableArguments {
    @Argument(help: "League, such as NHL. Case-sensitive.")
    var league: String

    @Argument(help: "Game ID of the producer.")
    var game: String

    func named() throws(CommandFailure) -> TimelineGame {
        do throws(TimelineError) {
            return try TimelineGame(league: league, game: game)
        } catch {
            throw CommandFailure(.unusableArguments, describing: error)
        }
    }
}
