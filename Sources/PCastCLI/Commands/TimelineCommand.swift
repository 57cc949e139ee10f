import ArgumentParser

/// The command `pcast timeline`.
struct TimelineCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "timeline",
        abstract: "Write and follow the timeline of a game.",
        subcommands: [TimelineAddCommand.self, TimelineImportCommand.self, TimelineFollowCommand.self])
}
