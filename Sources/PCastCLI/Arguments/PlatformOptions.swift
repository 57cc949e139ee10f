import ArgumentParser

/// Where and by what right a stream is asked for, and for how long.
struct PlatformOptions: ParsableArguments {
    @Option(help: "The platform; without it the one that runs on this computer.")
    var uri: String?

    @Option(
        help: ArgumentHelp(
            "An EdgeAuth token; two where one authenticates and the other is for the stream.", valueName: "token"))
    var token: [String] = []

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this long.", valueName: "duration"))
    var duration: DurationArgument?
}
