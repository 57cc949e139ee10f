import ArgumentParser
import PCast
import PCastCodecs
import PCastDevices

/// The command `pcast channel`.
struct ChannelCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "channel",
        abstract: "View, publish or chat in a channel, whose presenters share one name.",
        subcommands: [ChannelJoinCommand.self, ChannelPublishCommand.self, ChannelChatCommand.self])
}

/// The options for the member of a channel.
struct ChannelMemberOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Name that other members see. (default: guest)", valueName: "name"))
    var screenName = "guest"

    func validate() throws {
        guard (1...256).contains(screenName.unicodeScalars.count) else {
            throw ValidationError("--screen-name: the name must have 1 to 256 characters.")
        }
    }
}

/// The command `pcast channel join`.
struct ChannelJoinCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "View the presenter of a channel, and follow its members.",
        discussion: """
            If another presenter begins, or the current one stops, its stream follows. The command waits while there is \
            none.

            Examples:
              pcast channel join demo --render window
              pcast channel join demo --uri https://live.example.com --token TOKEN
            """)

    /// The options for rendering.
    struct RenderingOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp("Output of video and audio; null only decodes. (default: null)", valueName: "output"))
        var render: RenderArgument?

        @Flag(help: "Keep the current presenter, instead of the one that changed last.")
        var highAvailability = false
    }

    @Argument(help: ArgumentHelp("Alias of the channel.", valueName: "alias"))
    var alias: String

    @OptionGroup(title: "Connection") var platform: PlatformOptions

    @OptionGroup(title: "Member") var member: ChannelMemberOptions

    @OptionGroup(title: "Rendering") var rendering: RenderingOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let target = rendering.render ?? .null
        if target == .terminal, output.json { throw CommandFailure.terminalAndJSON }
        let run = ChannelRun(alias, as: member.screenName, at: platform, role: .viewer, Console(output))
        try await run.view(on: target, rendering.highAvailability ? .highAvailability : .mostRecent)
    }
}

/// The command `pcast channel publish`.
struct ChannelPublishCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publish a stream as a presenter of a channel.",
        discussion: """
            The sources are those of “pcast publish”. If the connection is lost, the stream is published and announced \
            again.

            Examples:
              pcast channel publish demo --video synthetic
              pcast channel publish demo --uri https://live.example.com \\
                --token AUTHENTICATION --token PUBLISHING
            """)

    /// The options for the source.
    struct SourceOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Video source. (default: best camera)", valueName: "source"))
        var video: SourceArgument?

        @Option(help: ArgumentHelp("Audio source. (default: best microphone)", valueName: "source"))
        var audio: SourceArgument?
    }

    @Argument(help: ArgumentHelp("Alias of the channel.", valueName: "alias"))
    var alias: String

    @OptionGroup(title: "Connection") var platform: PlatformOptions

    @OptionGroup(title: "Member") var member: ChannelMemberOptions

    @OptionGroup(title: "Source") var source: SourceOptions

    @OptionGroup(title: "Encoding") var encoding: EncodingOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let run = ChannelRun(alias, as: member.screenName, at: platform, role: .publisher, Console(output))
        let media = UserMediaOptions(
            video: MediaTrackOptions(source: source.video?.source),
            audio: MediaTrackOptions(source: source.audio?.source), codec: encoding.codec?.codec ?? .h264)
        try await run.publish(
            media,
            PublishOptions(
                videoCodec: encoding.codec?.codec ?? .h264, videoBitrate: encoding.bitrate?.bitrate))
    }
}

/// The command `pcast channel chat`.
struct ChannelChatCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat",
        abstract: "Read the conversation of a channel, and send the lines of standard input.",
        discussion: """
            It begins with the newest earlier messages. It ends at the end of standard input.

            Examples:
              pcast channel chat demo --screen-name Ann
              echo "Starting in five minutes" | pcast channel chat demo
            """)

    /// The options for the conversation.
    struct ConversationOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Number of earlier messages, 0 to 128. (default: 20)", valueName: "count"))
        var history = 20

        func validate() throws {
            guard (0...128).contains(history) else {
                throw ValidationError("--history \(history): the number must be 0 to 128.")
            }
        }
    }

    @Argument(help: ArgumentHelp("Alias of the channel.", valueName: "alias"))
    var alias: String

    @OptionGroup(title: "Connection") var platform: PlatformOptions

    @OptionGroup(title: "Member") var member: ChannelMemberOptions

    @OptionGroup(title: "Conversation") var conversation: ConversationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let run = ChannelRun(alias, as: member.screenName, at: platform, role: .viewer, Console(output))
        try await run.chat(history: conversation.history)
    }
}
