import ArgumentParser

/// The options for the platform, the tokens and the duration of a command.
struct PlatformOptions: ParsableArguments {
    @Option(help: "Platform to connect to. (default: the one in the token, otherwise the one on this host)")
    var uri: String?

    @Option(
        help: ArgumentHelp(
            "EdgeAuth token. Repeat it if one token authenticates and another is for the stream.", valueName: "token"))
    var token: [String] = []

    @Option(name: .customLong("for"), help: ArgumentHelp("Stop after this duration.", valueName: "duration"))
    var duration: DurationArgument?
}
