import ArgumentParser

typealias AsyncCommand = AsyncParsableCommand

/// The root command.
struct PCastCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "pcast",
        abstract: "Publish, forward and play live streams in real time.",
        discussion: """
            “pcast publish” starts an embedded platform, publishes the camera, and prints the link to watch the stream. \
            “pcast subscribe” in another terminal subscribes to it.

            Durations are written 500ms, 10s, 5m, 1h or PT10S. With --json, standard output has one JSON object per line, \
            and messages and logs go to standard error.

            Options of serve, publish and subscribe can also be set in the environment (PCAST_SERVE_LISTEN, \
            PCAST_PUBLISH_VIDEO, …; repeated values separated by commas) and in a configuration file (--config, \
            PCAST_CONFIG, or ~/.config/pcast/pcast.yaml). The command line has precedence over the environment, and the \
            environment over the file. PCAST_LOG_LEVEL sets the default log level of all commands.

            Exit status: 0 ended as requested or by the publisher, 1 failed, 2 unusable arguments, 3 not authorized, \
            4 nothing to play, 5 device failure, 6 the platform cannot be reached, 7 ended by the platform.

            Examples:
              pcast publish
              pcast help subscribe
            """,
        version: "0.1.0",
        groupedSubcommands: [
            CommandGroup(
                name: "Media",
                subcommands: [
                    PublishCommand.self, SubscribeCommand.self, PlayCommand.self, PlayoutCommand.self,
                    PullCommand.self, PushCommand.self, ChannelCommand.self, DevicesCommand.self,
                ]),
            CommandGroup(
                name: "Platform",
                subcommands: [
                    ServeCommand.self, TokenCommand.self, StreamsCommand.self, NodesCommand.self, KeyCommand.self,
                    RecordingsCommand.self, TimelineCommand.self, ConfigCommand.self, DoctorCommand.self,
                    WorkerCommand.self, ThumbnailCommand.self, TranscodeAudioCommand.self, MakeRenditionsCommand.self,
                    MakeSlateCommand.self,
                ]),
        ])
}

/// The command `pcast timeline`.
struct TimelineCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "timeline",
        abstract: "Write and follow the timeline of a game.",
        subcommands: [TimelineAddCommand.self, TimelineImportCommand.self, TimelineFollowCommand.self])
}
