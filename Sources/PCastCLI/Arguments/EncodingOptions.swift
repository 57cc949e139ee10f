import ArgumentParser

/// The options for the video encoder.
struct EncodingOptions: ParsableArguments {
    @Option(help: "Video codec. (default: h264)")
    var codec: CodecArgument?

    @Option(
        help: ArgumentHelp(
            "Target bit rate of the video encoder, such as 2500k or 2.5M. (default: depends on the frame size)",
            valueName: "bitrate"))
    var bitrate: BitrateArgument?
}
