import ArgumentParser
import PCastJSON

/// The command `pcast streams`.
struct StreamsCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "streams",
        abstract: "List and end the live streams of a platform.",
        subcommands: [StreamsListCommand.self, StreamsEndCommand.self])
}

/// The command `pcast streams list`.
struct StreamsListCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the live streams, newest last.",
        discussion: """
            Without options, the streams of the platform that this user started last on this host are listed.

            Example:
              pcast streams list --uri https://live.example.com --application app:secret
            """)

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        let streams = try await administration.administration().streams()
        for stream in streams { report(stream, console) }
        if streams.isEmpty { console.inform("There are no live streams.") }
    }

    private func report(_ stream: PlatformAdministration.Stream, _ console: Console) {
        let tags = stream.tags ?? []
        let start = stream.startTimeText
        console.event(
            "stream",
            [
                "streamId": .string(stream.streamId), "tags": .array(tags.map(JSONValue.string)),
                "startTime": .text(start), "viewers": stream.viewers.map(JSONValue.count) ?? .null,
                "width": stream.width.map(JSONValue.count) ?? .null,
                "height": stream.height.map(JSONValue.count) ?? .null, "codecString": .text(stream.video?.codecString),
            ])
        var columns = [stream.streamId, start ?? "–", "\(stream.viewers ?? 0) subscribers"]
        if let video = stream.videoText { columns.append(video) }
        columns += tags.map { "#\($0)" }
        console.result(columns.joined(separator: "  "))
    }
}

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
        console.inform("Ended the stream \(stream).")
    }
}
