import ArgumentParser

/// The command `pcast streams`.
struct StreamsCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "streams",
        abstract: "List and end the live streams of a platform.",
        subcommands: [StreamsListCommand.self, StreamsEndCommand.self])
}
