import ArgumentParser
import PCast
import PCastCodecs
import PCastDevices

/// The command `pcast publish`.
struct PublishCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publish a camera, a screen, a file or the test pattern, and print the link to watch it.",
        discussion: """
            Without --uri, an embedded platform is started for this host only. “pcast subscribe” in another terminal \
            shows the stream. If --listen is not a loopback address, the link contains a token, and anybody with the \
            link can watch the stream. With --uri whip://… (whips: with TLS), the stream is published to a WHIP endpoint \
            of any server; --token is its bearer token.

            Sources: camera or camera:ID, microphone or microphone:ID, screen or screen:DISPLAY, application:NAME, \
            synthetic, null, or a path or URI of anything that FFmpeg opens (film.mp4, rtsp://…, srt://…; ?loop=1 plays \
            a file in a loop). application:NAME is the audio that a program plays, without that of others. In a Wayland \
            session, “screen” asks the desktop portal, whose dialog offers the monitors; screen:portal:window asks for a \
            window, and ?pointer=hidden hides the pointer.

            Constraints: width=1280 is ideal; width:min=640, height:max=720 and facing-mode:exact=environment are \
            required. Video: width, height, frame-rate, facing-mode, flash-mode, device-id, location, \
            video-source-rotation-mode, auto-focus-mode, auto-focus-target=X,Y. Audio: device-id, location, \
            polar-pattern, audio-echo-cancellation-mode, audio-channel-layout.

            Examples:
              pcast publish
              pcast publish --uri https://live.example.com --token TOKEN \\
                --video film.mp4?loop=1 --audio null
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions

    @OptionGroup(title: "Connection") var connection: PublishingConnectionOptions

    @OptionGroup(title: "Connection") var resumption: PublishResumeOptions

    @OptionGroup(title: "Source") var source: PublishSourceOptions

    @OptionGroup(title: "Encoding") var encoding: EncodingOptions

    @OptionGroup(title: "Encoding") var encoder: PublishEncodingOptions

    @OptionGroup(title: "Stream") var stream: PublishedStreamOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let settings = try Settings(command: "publish", config: configuration.config)
        let plan = try plan(settings)
        try await PublishRun(plan, Console(output, try output.verbosity(settings))).run()
    }

    func plan(_ settings: Settings) throws -> PublishPlan {
        let frameRate = try settings.value("fps", source.fps)
        if let frameRate, !(1...120).contains(frameRate) {
            throw CommandFailure(.unusableArguments, "--fps \(frameRate): the frame rate must be 1 to 120.")
        }
        let layers = try settings.value("layers", encoder.layers)
        if let layers, !(1...3).contains(layers) {
            throw CommandFailure(.unusableArguments, "--layers \(layers): the number must be 1, 2 or 3.")
        }
        let videoCodec = try settings.value("codec", encoding.codec)?.codec ?? .h264
        let passesThrough = try !settings.flag("reencode", encoder.reencode)
        if videoCodec == .h265, !passesThrough {
            throw CommandFailure(
                .unusableArguments, "--codec h265: H.265 is published as it is, and not encoded: remove --reencode.")
        }
        var options = PublishOptions(
            videoCodec: videoCodec,
            videoEncoder: try Self.encoderChoice(
                settings.value("encoder", encoder.encoder) ?? "automatic", of: videoCodec),
            videoBitrate: try settings.value("bitrate", encoding.bitrate)?.bitrate, layers: layers)
        options.resumes = try settings.flag("resume", resumption.resume)
        return PublishPlan(
            publication: try PublicationPlan(
                uri: try settings.value("uri", connection.uri), tokens: try settings.values("token", connection.token),
                listen: try settings.value("listen", connection.listen), tags: try settings.values("tag", stream.tag),
                encoding: options, duration: try settings.value("for", stream.duration)?.span,
                noReconnect: try settings.flag("no-reconnect", connection.noReconnect)),
            video: try settings.value("video", source.video)?.source,
            audio: try settings.value("audio", source.audio)?.source,
            videoConstraints: try Self.constraints(
                settings.values("video-constraint", source.videoConstraint), .video,
                size: try settings.value("size", source.size), frameRate: frameRate),
            audioConstraints: try Self.constraints(settings.values("audio-constraint", source.audioConstraint), .audio),
            passesThrough: passesThrough,
            allowsScaling: try !settings.flag("no-scale", source.noScale),
            isOnDemand: try settings.flag("on-demand", source.onDemand),
            isPreviewed: try settings.flag("preview", source.preview),
            captions: try settings.value("captions", source.captions).map { try CaptionsArgument(file: $0) })
    }

    /// Parses the choice of an encoder. A misspelled name must be found now and not when subscribers wait.
    ///
    /// - Throws: ``CommandFailure`` if the encoder is unknown.
    private static func encoderChoice(_ text: String, of codec: Codec) throws(CommandFailure) -> VideoEncoderChoice {
        let choice = VideoEncoderChoice(text)
        let names = VideoEncoders.names(of: codec)
        if case .named(let name) = choice, !names.contains(name) {
            let words = (["automatic", "software"] + names).joined(separator: ", ")
            throw CommandFailure(
                .unusableArguments, "--encoder \(name) does not encode \(codec.rawValue): give one of \(words).")
        }
        return choice
    }

    private static func constraints(
        _ texts: [String], _ mediaType: MediaType, size: SizeArgument? = nil, frameRate: Int? = nil
    ) throws -> DeviceConstraints {
        do throws(DeviceError) {
            var constraints = try DeviceConstraints.parse(texts, for: mediaType)
            let candidates: [(DeviceCapability, Int?)] = [
                (.width, size?.width), (.height, size?.height), (.frameRate, frameRate),
            ]
            for case (let capability, let value?) in candidates {
                constraints[capability, default: []].append(DeviceConstraint(.number(Double(value))))
            }
            return constraints
        } catch {
            throw CommandFailure(.unusableArguments, "\(error)")
        }
    }
}

/// The option of `pcast publish` for resuming a stream.
struct PublishResumeOptions: ParsableArguments {
    @Flag(help: "Resume the stream of a disconnected publisher with an equivalent token and the same tags.")
    var resume = false
}

/// The options of `pcast publish` for the encoder, besides ``EncodingOptions``.
struct PublishEncodingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Video encoder: automatic, software, or a name from “pcast devices --capabilities”. (default: automatic)",
            valueName: "encoder"))
    var encoder: String?

    @Option(
        help: ArgumentHelp(
            "Number of simulcast layers, 1 to 3, each half as wide and high as the next. (default: 1)",
            discussion: """
                Each viewer receives the best layer for its bandwidth. A layer without viewers is not encoded. With the \
                token's capability multi-bitrate-contribution, the default is 3.
                """, valueName: "count"))
    var layers: Int?

    @Flag(help: "Encode H.264 from the source again instead of publishing it unchanged.")
    var reencode = false
}

/// The options of `pcast publish` for the sources and their requested properties.
struct PublishSourceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Video source. (default: best camera, otherwise synthetic)", valueName: "source"))
    var video: SourceArgument?

    @Option(help: ArgumentHelp("Audio source. (default: best microphone, otherwise synthetic)", valueName: "source"))
    var audio: SourceArgument?

    @Option(
        help: ArgumentHelp(
            "Ideal size of a camera's or a screen's video. (default: the source's nearest to 1280x720)",
            discussion: """
                A larger frame is scaled: that of a camera is cut to this aspect ratio, and that of a screen fits within \
                the size. No frame is enlarged.
                """, valueName: "size"))
    var size: SizeArgument?

    @Option(
        help: ArgumentHelp(
            "Ideal frame rate of a camera's or a screen's video. Frames above it are dropped evenly. (default: the "
                + "source's nearest to 30)", valueName: "count"))
    var fps: Int?

    @Flag(help: "Use only sizes and frame rates that the source has itself.")
    var noScale = false

    @Option(help: ArgumentHelp("Constraint of the video source. Repeatable.", valueName: "constraint"))
    var videoConstraint: [String] = []

    @Option(help: ArgumentHelp("Constraint of the audio source. Repeatable.", valueName: "constraint"))
    var audioConstraint: [String] = []

    @Flag(help: "Open the camera and the microphone only while there are subscribers.")
    var onDemand = false

    @Flag(help: "Show the video in a window, mirrored if the camera faces the user. Press q to stop.")
    var preview = false

    @Option(
        help: ArgumentHelp(
            "Send captions: a WebVTT or SubRip file whose times count from the first frame, or - for lines of standard "
                + "input, each shown for 4 s from when it is read.", valueName: "file"))
    var captions: String?
}
