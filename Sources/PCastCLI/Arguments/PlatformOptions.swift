import ArgumentParser

/// The options for the platform, the tokens and the duration of a command.
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
