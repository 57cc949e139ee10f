import ArgumentParser

/// The options of `pcast publish` for the sources and their requested properties.
struct PublishSourceOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Video source. (default: best camera, otherwise synthetic)", valueName: "source"))
    var video: SourceArgument?

    @Option(help: ArgumentHelp("Audio source. (default: best microphone, otherwise synthetic)", valueName: "source"))
    var audio: SourceArgument?

    @Option(
        help: ArgumentHelp(
            "Ideal size of the video, if the source has a choice. (default: 1280x720)", valueName: "size"))
    var size: SizeArgument?

    @Option(
        help: ArgumentHelp(
            "Ideal frame rate of the video, if the source has a choice. (default: 30)", valueName: "count"))
    var fps: Int?

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
