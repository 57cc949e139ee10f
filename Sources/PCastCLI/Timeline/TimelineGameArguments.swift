import ArgumentParser
import PCastTimeline

/// The arguments that identify a game.
struct TimelineGameArguments: ParsableArguments {
    @Argument(help: "The league, such as NHL; capitals count.")
    var league: String

    @Argument(help: "The game, as its producer names it.")
    var game: String

    func named() throws(CommandFailure) -> TimelineGame {
        do throws(TimelineError) {
            return try TimelineGame(league: league, game: game)
        } catch {
            throw CommandFailure(.unusableArguments, describing: error)
        }
    }
}
