import ArgumentParser

/// The command `pcast token`.
struct TokenCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Create and verify EdgeAuth tokens.",
        subcommands: [TokenCreateCommand.self, TokenVerifyCommand.self])
}
