import ArgumentParser

/// The command `pcast timeline`.
struct TimelineCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "timeline",
        abstract: "Tell what happens in a game, and follow it.",
        subcommands: [TimelineAddCommand.self, TimelineImportCommand.self, TimelineFollowCommand.self])
}
