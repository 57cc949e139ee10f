import ArgumentParser
import PCast
import PCastCore

/// The command `pcast playout`.
struct PlayoutCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "playout",
        abstract: "Publish a playlist as a channel, with an optional web page over the video.",
        discussion: """
            The items that “pcast play” can play are published as one stream, in order. An item that cannot be played is \
            skipped. An item that is a stream of a platform (a pcast URI) is decoded and encoded again.

            --overlay is a URI of http, https or file. A headless Chromium renders the page, which is blended over the \
            video where it is not transparent, and its audio is mixed in. The page receives what is played and the \
            events of --timeline. A page that crashes is opened again.

            Without --uri, an embedded platform is started, as by “pcast publish”.

            Examples:
              pcast playout intro.mp4 film.mp4 --loop
              pcast playout film.mp4 --overlay https://www.example.com/scoreboard \\
                --uri URI --token TOKEN
            """)

    /// The options for the playlist.
    struct SourceOptions: ParsableArguments {
        @Flag(help: "Start again after the last item.")
        var loop = false

        @Option(help: ArgumentHelp("Maximum frame rate.", valueName: "count"))
        var fps = 30
    }

    /// The options for the page over the video.
    struct OverlayOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Web page to blend over the video.", valueName: "address"))
        var overlay: String?

        @Option(help: ArgumentHelp("Viewport of the page, which is scaled to the video.", valueName: "size"))
        var overlaySize = SizeArgument(width: 1280, height: 720)

        @Option(help: ArgumentHelp("Chromium program that renders the page.", valueName: "program"))
        var browser = "chromium"

        @Flag(help: "Disable the browser's sandbox, as root requires. A malicious page then has this user's rights.")
        var overlayWithoutSandbox = false
    }

    @Argument(
        help: ArgumentHelp(
            "File, or URI of http, https or pcast. Several are played in order.", valueName: "uri"))
    var playlist: [String]

    @OptionGroup(title: "Connection") var connection: PublishingConnectionOptions

    @OptionGroup(title: "Source") var source: SourceOptions

    @OptionGroup(title: "Overlay") var page: OverlayOptions

    @OptionGroup(title: "Timeline") var timeline: PlayTimelineOptions

    @OptionGroup(title: "Encoding") var encoding: EncodingOptions

    @OptionGroup(title: "Stream") var stream: PublishedStreamOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func validate() throws {
        guard (1...120).contains(source.fps) else {
            throw ValidationError("--fps \(source.fps): the frame rate must be 1 to 120.")
        }
    }

    func run() async throws {
        let plan = PlayoutPlan(
            addresses: playlist, isLooping: source.loop, timeline: try timeline.plan(),
            timelineStart: timeline.start, overlay: page.overlay,
            overlaySize: Dimensions(width: page.overlaySize.width, height: page.overlaySize.height),
            browser: page.browser, isOverlaySandboxed: !page.overlayWithoutSandbox, frameRate: source.fps,
            publication: try PublicationPlan(
                uri: connection.uri, tokens: connection.token, listen: connection.listen, tags: stream.tag,
                encoding: PublishOptions(
                    videoCodec: encoding.codec?.codec ?? .h264, videoBitrate: encoding.bitrate?.bitrate),
                duration: stream.duration?.span, noReconnect: connection.noReconnect))
        try await PlayoutRun(plan, Console(output)).run()
    }
}
