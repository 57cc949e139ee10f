import ArgumentParser
import PCastJSON

/// The command `pcast streams end`.
struct StreamsEndCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "end",
        abstract: "End a stream for its publisher and all subscribers.",
        discussion: """
            They receive the reason: ended, failed, censored, maintenance, capacity, overload, app-background, \
            pcast-stop, or a custom text.

            Example:
              pcast streams end STREAM --reason maintenance
            """)

    /// The option for the reason.
    struct StreamOptions: ParsableArguments {
        @Option(help: "Reason that the clients receive.")
        var reason: String
    }

    @Argument(help: "ID of the stream, as “pcast streams list” prints it.")
    var stream: String

    @OptionGroup(title: "Stream") var ending: StreamOptions

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        try await administration.administration().end(stream: stream, reason: ending.reason)
        console.event("ended", ["streamId": .string(stream), "reason": .string(ending.reason)])
        console.say("Ended the stream \(stream).")
    }
}
