import ArgumentParser

typealias AsyncCommand = AsyncParsableCommand

/// The root command.
struct PCastCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "pcast",
        abstract: "Publish, relay and watch live streams in real time.",
        discussion: """
            Try it: “pcast publish” starts a platform of its own, publishes, and prints the link to watch.
            “pcast subscribe” in the next terminal shows the stream.

            Durations are written 500ms, 10s, 5m, 1h or PT10S. With --json every command writes one JSON object a \
            line to standard output, and everything meant for people to standard error.

            Options of serve, publish and subscribe can also be set in the environment (PCAST_SERVE_LISTEN, \
            PCAST_PUBLISH_VIDEO, …; repeated ones separated by commas) and in a configuration file (--config, \
            PCAST_CONFIG, or ~/.config/pcast/pcast.conf). The command line counts first, then the environment, then \
            the file.

            Exit status: 0 ended as asked or because the publisher ended, 1 failed, 2 unusable arguments, \
            3 not authorized, 4 nothing to play, 5 device trouble, 6 the platform cannot be reached, \
            7 ended by the platform.
            """,
        version: "0.1.0",
        subcommands: [
            ServeCommand.self, PublishCommand.self, SubscribeCommand.self, PlayCommand.self, PlayoutCommand.self,
            TokenCommand.self, DevicesCommand.self, StreamsCommand.self, TimelineCommand.self, PullCommand.self,
            PushCommand.self,
            WorkerCommand.self,
        ])
}
