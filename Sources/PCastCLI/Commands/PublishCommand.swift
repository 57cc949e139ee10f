import ArgumentParser
import PCast

/// The command `pcast publish`.
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

            Constraints: width=1280 is a wish, width:min=640, height:max=720 and facing-mode:exact=environment are \
            demands. Of pictures: width, height, frame-rate, facing-mode, flash-mode, device-id, location, \
            video-source-rotation-mode, auto-focus-mode, auto-focus-target=X,Y; of sound: device-id, location, \
            polar-pattern, audio-echo-cancellation-mode, audio-channel-layout.
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

    @Option(
        help: ArgumentHelp(
            "Send captions: a WebVTT or SubRip file whose times count from the first frame, or - for lines of standard "
                + "input, each shown for 4 s from when it is read.", valueName: "file"))
    var captions: String?

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
            "automatic, software, or the name of one that “pcast devices --capabilities” lists. (default: automatic)",
            valueName: "encoder"))
    var encoder: String?

    @Option(
        help: ArgumentHelp(
            "What the video encoder aims at, such as 2500k or 2.5M. (default: by the picture's size)",
            valueName: "bitrate"))
    var bitrate: BitrateArgument?

    @Option(
        help: ArgumentHelp(
            "1 to 3 layers of the picture side by side, each half as wide and high as the next: each viewer gets the best "
                + "that its link carries, and a layer that nobody gets is not encoded. (default: 3 where the token has "
                + "the capability multi-bitrate-contribution, else 1)", valueName: "count"))
    var layers: Int?

    @Option(help: ArgumentHelp("A wish to sources that can choose. (default: 1280x720)", valueName: "size"))
    var size: SizeArgument?

    @Option(
        help: ArgumentHelp("Pictures a second, a wish to sources that can choose. (default: 30)", valueName: "count"))
    var fps: Int?

    @Option(help: ArgumentHelp("What is asked of the camera; may be repeated.", valueName: "constraint"))
    var videoConstraint: [String] = []

    @Option(help: ArgumentHelp("What is asked of the microphone; may be repeated.", valueName: "constraint"))
    var audioConstraint: [String] = []

    @Flag(help: "Decode and encode pictures that come coded in H.264 already, rather than publish them as they are.")
    var reencode = false

    @Flag(help: "Show in a window what is published, a camera that faces you as in a mirror; q there ends it.")
    var preview = false

    @Flag(help: "Have the camera and the microphone open only while somebody watches.")
    var onDemand = false

    @Flag(
        help: """
            Go on with the stream that this token, or one that applies the same tags, published before with the same \
            tags, where its publisher is gone.
            """)
    var resume = false

    @Flag(
        help: "End with the stream, whatever the reason, rather than publish again when the platform has lost it.")
    var noReconnect = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let plan = try plan(Settings(command: "publish", config: configuration.config))
        try await PublishRun(plan, Console(output)).run()
    }

    func plan(_ settings: Settings) throws -> PublishPlan {
        let frameRate = try settings.value("fps", fps)
        if let frameRate, !(1...120).contains(frameRate) {
            throw CommandFailure(.unusableArguments, "--fps is from 1 to 120 pictures a second.")
        }
        let layers = try settings.value("layers", layers)
        if let layers, !(1...3).contains(layers) {
            throw CommandFailure(.unusableArguments, "--layers is 1, 2 or 3.")
        }
        let videoCodec: Codec = try settings.value("codec", codec) == .vp8 ? .vp8 : .h264
        var encoding = PublishOptions(
            videoCodec: videoCodec,
            videoEncoder: try Self.encoderChoice(settings.value("encoder", encoder) ?? "automatic", of: videoCodec),
            videoBitrate: try settings.value("bitrate", bitrate)?.bitrate, layers: layers)
        encoding.resumes = try settings.flag("resume", resume)
        return PublishPlan(
            publication: try PublicationPlan(
                uri: try settings.value("uri", uri), tokens: try settings.values("token", token),
                listen: try settings.value("listen", listen), tags: try settings.values("tag", tag),
                encoding: encoding, duration: try settings.value("for", duration)?.span,
                noReconnect: try settings.flag("no-reconnect", noReconnect)),
            video: try settings.value("video", video)?.source, audio: try settings.value("audio", audio)?.source,
            videoConstraints: try Self.constraints(
                settings.values("video-constraint", videoConstraint), .video,
                size: try settings.value("size", size), frameRate: frameRate),
            audioConstraints: try Self.constraints(settings.values("audio-constraint", audioConstraint), .audio),
            passesThrough: try !settings.flag("reencode", reencode),
            isOnDemand: try settings.flag("on-demand", onDemand),
            isPreviewed: try settings.flag("preview", preview),
            captions: try settings.value("captions", captions).map { try CaptionsArgument(file: $0) })
    }

    /// Parses the choice of an encoder. A misspelled name must be found now and not when subscribers wait.
    ///
    /// - Throws: ``CommandFailure`` if the encoder is unknown.
    private static func encoderChoice(_ text: String, of codec: Codec) throws(CommandFailure) -> VideoEncoderChoice {
        let choice = VideoEncoderChoice(text)
        let names = VideoEncoders.names(of: codec)
        if case .named(let name) = choice, !names.contains(name) {
            let words = (["automatic", "software"] + names).joined(separator: ", ")
            throw CommandFailure(.unusableArguments, "--encoder is one of \(words) for \(codec.rawValue).")
        }
        return choice
    }

    private static func constraints(
        _ texts: [String], _ mediaType: MediaType, size: SizeArgument? = nil, frameRate: Int? = nil
    ) throws -> DeviceConstraints {
        do throws(DeviceError) {
            var constraints = try DeviceConstraints.parse(texts, for: mediaType)
            let wishes: [(DeviceCapability, Int?)] = [
                (.width, size?.width), (.height, size?.height), (.frameRate, frameRate),
            ]
            for case (let capability, let value?) in wishes {
                constraints[capability, default: []].append(DeviceConstraint(.number(Double(value))))
            }
            return constraints
        } catch {
            throw CommandFailure(.unusableArguments, "\(error)")
        }
    }
}
