import ArgumentParser
import Glibc
import PCast
import PCastCodecs

/// The command `pcast subscribe`.
struct SubscribeCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Subscribe to a stream: render it, measure it, take screenshots, record it.",
        discussion: """
            Without options, the newest stream of the platform that “pcast publish” or “pcast serve” runs on this host \
            is used. For another platform, give --uri and --token. With --uri whep://… (wheps: with TLS), the stream of \
            a WHEP endpoint of any server is used; --token is its bearer token.

            Keys in the window or terminal: q stops, m toggles the audio, s takes a screenshot, f toggles full screen. If \
            the platform packages the stream, the arrows seek 10 seconds back or forward, the space bar pauses there, \
            and l returns to real time.

            Examples:
              pcast subscribe --render window
              pcast subscribe --uri https://live.example.com --token TOKEN \\
                --for 10s --screenshot last.png
            """)

    /// The options for the stream and its platform.
    struct ConnectionOptions: ParsableArguments {
        @Option(help: "Platform to connect to. (default: the one in the token, otherwise the one on this host)")
        var uri: String?

        @Option(
            help: ArgumentHelp(
                "EdgeAuth token. Repeat it if one token authenticates and another subscribes.", valueName: "token"))
        var token: [String] = []

        @Option(
            help: ArgumentHelp(
                "ID of the stream. (default: the one in the token, otherwise the newest)", valueName: "id"))
        var stream: String?

        @Flag(help: "Stop when the stream ends for any reason. Otherwise it is subscribed to again after a failure.")
        var noReconnect = false
    }

    /// The options for rendering and files.
    struct RenderingOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp("Output of video and audio; null only decodes. (default: null)", valueName: "output"))
        var render: RenderArgument?

        @Option(help: ArgumentHelp("Write the last frame at the end, as .png or .jpg.", valueName: "file"))
        var screenshot: String?

        @Option(
            help: ArgumentHelp(
                "Record the stream without encoding it again. Implies --no-reconnect.", valueName: "file"))
        var record: String?

        @Option(
            help: ArgumentHelp(
                "Show frames of a stream by HLS this long after their capture, as all viewers with this delay do, such as 3s.",
                valueName: "duration"))
        var playoutDelay: DurationArgument?

        @Option(
            name: .customLong("for"),
            help: ArgumentHelp("Stop after this duration, such as 90s or 10m.", valueName: "duration"))
        var duration: DurationArgument?
    }

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions

    @OptionGroup(title: "Connection") var connection: ConnectionOptions

    @OptionGroup(title: "Rendering and recording") var rendering: RenderingOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let settings = try Settings(command: "subscribe", config: configuration.config)
        let plan = try plan(settings)
        try await SubscribeRun(plan, Console(output, try output.verbosity(settings))).run()
    }

    func plan(_ settings: Settings) throws -> SubscribePlan {
        let target = try settings.value("render", rendering.render) ?? .null
        if target == .terminal, output.json, isatty(STDOUT_FILENO) == 1 {
            throw CommandFailure.terminalAndJSON
        }
        let recording = try settings.value("record", rendering.record)
        let playoutDelay = try settings.value("playout-delay", rendering.playoutDelay)
        if let error = playoutDelay.flatMap(PlayoutDelayRule.violation) {
            throw CommandFailure(.unusableArguments, error)
        }
        let plan = SubscribePlan(
            uri: try settings.value("uri", connection.uri), tokens: try settings.values("token", connection.token),
            stream: try settings.value("stream", connection.stream),
            duration: try settings.value("for", rendering.duration)?.span,
            render: target,
            screenshot: try settings.value("screenshot", rendering.screenshot), recording: recording,
            noReconnect: try settings.flag("no-reconnect", connection.noReconnect) || recording != nil,
            playoutDelay: playoutDelay?.span)
        if let path = plan.screenshot, ![".png", ".jpg", ".jpeg"].contains(where: path.lowercased().hasSuffix) {
            throw CommandFailure(
                .unusableArguments, "--screenshot \(path): the file name must end in .png, .jpg or .jpeg.")
        }
        if let recording, !MediaWriter.endings.contains(where: recording.lowercased().hasSuffix) {
            let endings = MediaWriter.endings.joined(separator: ", ")
            throw CommandFailure(
                .unusableArguments, "--record \(recording): the file name must end in one of \(endings).")
        }
        return plan
    }
}
