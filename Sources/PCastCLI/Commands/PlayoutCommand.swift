import ArgumentParser
import PCast
import PCastCore

/// The command `pcast playout`.
struct PlayoutCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "playout",
        abstract: "Publish what is played: a channel of files and programmes, with a web page over its pictures.",
        discussion: """
            What “pcast play” plays is published as one stream, item after item; an item that cannot be played is passed \
            over. Of a stream of a platform the pictures are taken, without their sound.

            --overlay is an address of http, https or file: a page that a Chromium without a window draws, laid over the \
            pictures wherever the page is transparent. A page that crashes is opened again.

            Without --uri a platform is started along, as “pcast publish” does.
            """)

    @Argument(
        help: ArgumentHelp(
            "A file, or an address of http, https or pcast; several are played in turn.", valueName: "uri"))
    var playlist: [String]

    @Flag(help: "Begin again when the last item has been played.")
    var loop = false

    @Option(help: ArgumentHelp("The page over the pictures.", valueName: "address"))
    var overlay: String?

    @Option(help: ArgumentHelp("What the page is laid out for; it is scaled to each picture.", valueName: "size"))
    var overlaySize = SizeArgument(width: 1280, height: 720)

    @Option(help: ArgumentHelp("The Chromium that draws the page.", valueName: "program"))
    var browser = "chromium"

    @Flag(help: "Run the page without the browser's sandbox, as root has to: a hostile page may then do anything.")
    var overlayWithoutSandbox = false

    @Option(help: "The platform; without it one is started along.")
    var uri: String?

    @Option(
        help: ArgumentHelp(
            "An EdgeAuth token; two where one authenticates and the other publishes.", valueName: "token"))
    var token: [String] = []

    @Option(
        help: ArgumentHelp(
            "Where the platform that is started along listens. (default: 127.0.0.1:8080, or a free port)",
            valueName: "host:port"))
    var listen: ListenArgument?

    @Option(help: ArgumentHelp("A tag of the stream; may be repeated.", valueName: "tag"))
    var tag: [String] = []

    @Option(help: "The codec of pictures: h264 or vp8. (default: h264)")
    var codec: CodecArgument?

    @Option(
        help: ArgumentHelp(
            "What the video encoder aims at, such as 2500k or 2.5M. (default: by the picture's size)",
            valueName: "bitrate"))
    var bitrate: BitrateArgument?

    @Option(help: ArgumentHelp("Pictures a second at most, as far as that is known.", valueName: "count"))
    var fps = 30

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this long.", valueName: "duration"))
    var duration: DurationArgument?

    @Flag(
        help: "End with the stream, whatever the reason, rather than publish again when the platform has lost it.")
    var noReconnect = false

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (1...120).contains(fps) else { throw ValidationError("--fps is from 1 to 120 pictures a second.") }
    }

    func run() async throws {
        let plan = PlayoutPlan(
            addresses: playlist, isLooping: loop, overlay: overlay,
            overlaySize: Dimensions(width: overlaySize.width, height: overlaySize.height), browser: browser,
            isOverlaySandboxed: !overlayWithoutSandbox,
            frameRate: fps,
            publication: try PublicationPlan(
                uri: uri, tokens: token, listen: listen, tags: tag,
                encoding: PublishOptions(videoCodec: codec == .vp8 ? .vp8 : .h264, videoBitrate: bitrate?.bitrate),
                duration: duration?.span, noReconnect: noReconnect))
        try await PlayoutRun(plan, Console(output)).run()
    }
}
