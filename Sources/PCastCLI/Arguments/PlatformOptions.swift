import ArgumentParser

/// The options for the platform, the tokens and the duration of a command.
struct PlatformOptions: ParsableArguments {
    @Option(help: "Platform to connect to. (default: the one in the token, otherwise the one on this host)")
    var uri: String?

    @Option(
        help: ArgumentHelp(
            "EdgeAuth token. Repeat it if one token authenticates and another is for the stream.", valueName: "token"))
    var token: [String] = []

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Stop after this duration, such as 90s or 10m.", valueName: "duration"))
    var duration: DurationArgument?
}

/// The options for the platform and the application to administer.
struct AdministrationOptions: ParsableArguments {
    @Option(help: "Platform to connect to. (default: the one that this user started last on this host)")
    var uri: String?

    @Option(
        help: ArgumentHelp(
            "Application and its secret. (default: those of the platform on this host)", valueName: "id:secret"))
    var application: ApplicationArgument?

    func administration() throws(CommandFailure) -> PlatformAdministration {
        if let uri, let application { return PlatformAdministration(uri: uri, application: application) }
        let running = LocalCredentialsFile.running(in: .standard())
        guard let local = running.first(where: { uri == nil || $0.isOf(uri: uri) }) else {
            throw uri == nil
                ? CommandFailure(
                    .nothingToPlay,
                    "No platform with a generated application was found: start “pcast serve”, or give --uri and "
                        + "--application.")
                : CommandFailure(
                    .notAuthorized, "The platform requires an application: give --application ID:SECRET.")
        }
        return PlatformAdministration(uri: local.uri, application: application ?? local.application)
    }
}
