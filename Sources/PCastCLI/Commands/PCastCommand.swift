import ArgumentParser
import Foundation
import PCast
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastJSON

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
            PCAST_CONFIG, or ~/.config/pcast/pcast.conf). The command line has precedence over the environment, and the \
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
                    PullCommand.self, PushCommand.self, DevicesCommand.self,
                ]),
            CommandGroup(
                name: "Platform",
                subcommands: [
                    ServeCommand.self, TokenCommand.self, StreamsCommand.self, TimelineCommand.self, WorkerCommand.self,
                ]),
        ])
}

/// The command `pcast streams`.
struct StreamsCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "streams",
        abstract: "List and end the live streams of a platform.",
        subcommands: [StreamsListCommand.self, StreamsEndCommand.self])
}

/// The command `pcast timeline`.
struct TimelineCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "timeline",
        abstract: "Write and follow the timeline of a game.",
        subcommands: [TimelineAddCommand.self, TimelineImportCommand.self, TimelineFollowCommand.self])
}

/// The command `pcast token`.
struct TokenCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Create and verify EdgeAuth tokens.",
        subcommands: [TokenCreateCommand.self, TokenVerifyCommand.self])
}

/// The command `pcast worker`, which a platform starts for an ingest or egress job.
struct WorkerCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Process one ingest or egress job of a platform, which starts this command.",
        discussion:
            "It reads the job from standard input and reports to standard output. It ends when either is closed.",
        shouldDisplay: false)

    func run() async throws {
        guard let line = readLine(), let order = IngestJob(line: line) else {
            throw CommandFailure(
                .unusableArguments, "There is no job on standard input: workers are started by “pcast serve”.")
        }
        // The platform holds the other end of standard input while it runs. This process must end with it, even if the
        // platform crashes.
        let watch = Thread {
            while readLine() != nil {}
            _exit(0)
        }
        watch.start()
        if order.guardAddress == nil, let hold = JobSandbox.Restriction.available(for: order) {
            let guarded = JobSandbox(order, hold) { StandardOutput.write($0) }
            await guarded?.run(
                Bundle.main.executablePath, ["worker"], environment: ProcessInfo.processInfo.environment)
            return
        }
        await StreamJob(order) { report in
            StandardOutput.write(report.line)
        }.run()
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
        console.say("Ended the stream \(stream).")
    }
}

/// The command `pcast push`.
struct PushCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Make a platform push a stream to a URI.",
        discussion: """
            The platform connects to the URI (srt, rtmp, rtmps or rtsp) if it may reach the address (“pcast serve \
            --media-allow”). The stream's video must be H.264. The token is for streaming and needs the capability \
            egress.

            Example:
              pcast push STREAM rtmp://live.example.com/app/key
            """)

    @Argument(help: ArgumentHelp("ID of the stream.", valueName: "stream"))
    var stream: String

    @Argument(help: ArgumentHelp("URI to push to.", valueName: "address"))
    var address: String

    @OptionGroup(title: "Connection") var platform: PlatformOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let run = RemoteRun(
            role: .viewer, uri: platform.uri, tokens: platform.token, duration: platform.duration?.span,
            isDetached: false, console: Console(output))
        try await run.run { application throws(EdgeAuthError) in
            try application.viewing(stream: stream, capabilities: ["egress"])
        } begin: { pcast, token throws(PCastError) in
            try await pcast.egress(streamToken: token, streamID: StreamID(stream), uri: address)
        }
    }
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
        for stream in streams { notify(stream, console) }
        if streams.isEmpty { console.say("There are no live streams.") }
    }

    private func notify(_ stream: PlatformAdministration.Stream, _ console: Console) {
        let tags = stream.tags ?? []
        let start = stream.startTime.map { WallTime(millisecondsSinceEpoch: $0).timestampText }
        console.event(
            "stream",
            [
                "streamId": .string(stream.streamId), "tags": .array(tags.map(JSONValue.string)),
                "startTime": .text(start), "viewers": stream.viewers.map(JSONValue.count) ?? .null,
            ])
        var columns = [stream.streamId, start ?? "–", "\(stream.viewers ?? 0) subscribers"]
        columns += tags.map { "#\($0)" }
        console.result(columns.joined(separator: "  "))
    }
}

/// The command `pcast token verify`.
struct TokenVerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify the signature of an EdgeAuth token, and print its fields.",
        discussion: """
            Prints verified, not-a-digest-token, bad-token, bad-digest or server-error, and the fields of a verified \
            token. The expiry is printed but not checked. The exit status is 0 if the token is verified, otherwise 3.

            Example:
              pcast token verify TOKEN --secret my-secret
            """)

    /// The option for the key.
    struct SigningOptions: ParsableArguments {
        @Option(help: "Secret of the application that signed the token.")
        var secret: String
    }

    @Argument(help: "Token, which begins with DIGEST:.")
    var token: String

    @OptionGroup(title: "Signature") var signing: SigningOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() throws {
        let verification = DigestTokens.verifyAndDecode(secret: signing.secret, encoded: token)
        let console = Console(output)
        let value = verification.value.map(JSONValue.object) ?? .null
        console.event("token", ["code": .string(verification.code.rawValue), "value": value])
        console.result(verification.code.rawValue)
        if let value = verification.value { console.result(value.text) }
        if let token = verification.token { console.say("The token \(expiry(of: token)).") }
        if !verification.isVerified { throw CommandFailure(.notAuthorized) }
    }

    private func expiry(of token: EdgeToken) -> String {
        let rest = token.expires - SystemClock.now()
        let moment = token.expires.timestampText
        return rest > .zero ? "expires at \(moment), in \(rest.clockText)" : "expired at \(moment)"
    }
}

/// The command `pcast pull`.
struct PullCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "pull",
        abstract: "Make a platform pull a stream from a URI, or receive it from an encoder.",
        discussion: """
            The platform opens the URI (http, https, rtsp, srt, rtmp or rtmps) if it may reach the address (“pcast serve \
            --media-allow”). With srt://0.0.0.0:9000?mode=listener, it waits for an encoder on a port that “pcast serve \
            --srt-pull-ports” allows. The token needs the capability publish-uri.

            Examples:
              pcast pull https://live.example.com/index.m3u8 --tag channel-1
              pcast pull "srt://0.0.0.0:9000?mode=listener" --detached
            """)

    /// The options for the published stream.
    struct StreamOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Tag of the stream. Repeatable.", valueName: "tag"))
        var tag: [String] = []

        @Option(help: ArgumentHelp("Maximum frame rate.", valueName: "count"))
        var maximumFps: Int?

        @Option(help: ArgumentHelp("Skip this duration at the beginning of the source.", valueName: "duration"))
        var skip: DurationArgument?

        @Flag(help: "Exit after the start. The stream continues until its source ends.")
        var detached = false
    }

    @Argument(help: ArgumentHelp("URI to pull from or to listen on.", valueName: "address"))
    var address: String

    @OptionGroup(title: "Connection") var platform: PlatformOptions

    @OptionGroup(title: "Stream") var stream: StreamOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let run = RemoteRun(
            role: .viewer, uri: platform.uri, tokens: platform.token, duration: platform.duration?.span,
            isDetached: stream.detached, console: Console(output))
        let options = ConnectOptions(
            maximumFrameRate: stream.maximumFps.map(Double.init), prerollSkip: stream.skip?.span ?? .zero,
            isDetached: stream.detached)
        try await run.run { application throws(EdgeAuthError) in
            try application.publishing(capabilities: ["publish-uri"])
        } begin: { pcast, token throws(PCastError) in
            try await pcast.publishFromUri(streamToken: token, uri: address, tags: stream.tag, connectOptions: options)
        }
    }
}
