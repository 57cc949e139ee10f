import ArgumentParser
import PCast

/// `pcast publish`
struct PublishCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publish a camera, a file or the test picture, and print the link to watch it.",
        discussion: """
            Without --uri a platform is started along, for the people of this computer alone; “pcast subscribe” in \
            the next terminal shows the stream. With --listen off 127.0.0.1 the link carries a token, and whoever \
            has the link can see the picture.

            Sources: camera or camera:ID, microphone or microphone:ID, screen or screen:DISPLAY, synthetic, null, or \
            a path or URI of anything that FFmpeg opens (film.mp4, rtsp://…, srt://…; ?loop=1 plays a file again and \
            again). Without any, the best camera and microphone, or the synthetic source where there are none.
            """)

    @OptionGroup var configuration: ConfigurationOptions

    @Option(help: "The platform; without it one is started along.")
    var uri: String?

    @Option(
        help: ArgumentHelp(
            "An EdgeAuth token; two where one authenticates and the other publishes.", valueName: "token"))
    var token: [String] = []

    @Option(help: ArgumentHelp("Where pictures come from.", valueName: "source"))
    var video: SourceArgument?

    @Option(help: ArgumentHelp("Where sound comes from.", valueName: "source"))
    var audio: SourceArgument?

    @Option(help: ArgumentHelp("A tag of the stream; may be repeated.", valueName: "tag"))
    var tag: [String] = []

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this long.", valueName: "duration"))
    var duration: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "Where the platform that is started along listens. (default: 127.0.0.1:8080, or a free port)",
            valueName: "host:port"))
    var listen: ListenArgument?

    @Option(help: "The codec of pictures: h264 or vp8. (default: h264)")
    var codec: CodecArgument?

    @Option(
        help: ArgumentHelp(
            "What the video encoder aims at, such as 2500k or 2.5M. (default: by the picture's size)",
            valueName: "bitrate"))
    var bitrate: BitrateArgument?

    @Option(help: ArgumentHelp("Of sources that can choose. (default: 1280x720)", valueName: "size"))
    var size: SizeArgument?

    @Option(help: ArgumentHelp("Pictures a second, of sources that can choose. (default: 30)", valueName: "count"))
    var fps: Int?

    @Flag(help: "Publish only while somebody watches; refused, as this version cannot.")
    var onDemand = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let plan = try plan(Settings(command: "publish", config: configuration.config))
        try await PublishRun(plan, Console(output)).run()
    }

    func plan(_ settings: Settings) throws -> PublishPlan {
        if try settings.flag("on-demand", onDemand) {
            throw CommandFailure(
                .unusableArguments, "This version cannot publish on demand: leave --on-demand away to publish at once.")
        }
        let frameRate = try settings.value("fps", fps) ?? 30
        guard (1...120).contains(frameRate) else {
            throw CommandFailure(.unusableArguments, "--fps is from 1 to 120 pictures a second.")
        }
        let plan = PublishPlan(
            uri: try settings.value("uri", uri), tokens: try settings.values("token", token),
            listen: try settings.value("listen", listen),
            video: try settings.value("video", video)?.source, audio: try settings.value("audio", audio)?.source,
            size: try settings.value("size", size) ?? SizeArgument(width: 1_280, height: 720), frameRate: frameRate,
            tags: try settings.values("tag", tag),
            encoding: PublishOptions(
                videoCodec: try settings.value("codec", codec) == .vp8 ? .vp8 : .h264,
                videoBitrate: try settings.value("bitrate", bitrate)?.bitrate),
            duration: try settings.value("for", duration)?.span)
        if plan.listen != nil, !plan.isEmbedded {
            throw CommandFailure(.unusableArguments, "--listen is for the platform started along: leave --uri away.")
        }
        return plan
    }
}
