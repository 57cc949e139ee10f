import ArgumentParser
import PCastJSON

/// The command `pcast streams end`.
struct StreamsEndCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "end",
        abstract: "End a stream for its publisher and all viewers.",
        discussion: """
            The reason is what they are told: ended, failed, censored, maintenance, capacity, overload, \
            app-background, pcast-stop, or words of your own.
            """)

    @Argument(help: "The stream's id, as “pcast streams list” tells it.")
    var stream: String

    @Option(help: "Why.")
    var reason: String

    @OptionGroup var administration: AdministrationOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        try await administration.administration().end(stream: stream, reason: reason)
        console.event("ended", ["streamId": .string(stream), "reason": .string(reason)])
        console.say("The stream \(stream) was ended.")
    }
}
