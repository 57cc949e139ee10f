import ArgumentParser

/// The options for the properties and the duration of a published stream.
struct PublishedStreamOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Tag of the stream. Repeatable.", valueName: "tag"))
    var tag: [String] = []

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Stop after this duration, such as 90s or 10m.", valueName: "duration"))
    var duration: DurationArgument?
}

/// The options for the video encoder.
struct EncodingOptions: ParsableArguments {
    @Option(help: "Video codec. H.265 of an address or a file is published as it is. (default: h264)")
    var codec: CodecArgument?

    @Option(
        help: ArgumentHelp(
            "Target bit rate of the video encoder, such as 2500k or 2.5M. (default: depends on the frame size)",
            valueName: "bitrate"))
    var bitrate: BitrateArgument?
}

/// The options for the platform of a publisher.
struct PublishingConnectionOptions: ParsableArguments {
    @Option(help: "Platform to connect to. Starts an embedded one if omitted.")
    var uri: String?

    @Option(
        help: ArgumentHelp(
            "EdgeAuth token. Repeat it if one token authenticates and another publishes.", valueName: "token"))
    var token: [String] = []

    @Option(
        help: ArgumentHelp(
            "Address of the embedded platform. (default: 127.0.0.1:8080, otherwise a free port)",
            valueName: "host:port"))
    var listen: ListenArgument?

    @Flag(help: "Stop when the stream ends for any reason. Otherwise it is published again after a failure.")
    var noReconnect = false
}
