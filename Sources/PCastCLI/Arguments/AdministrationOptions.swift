import ArgumentParser

/// The options for the platform and the application to administer.
struct AdministrationOptions: ParsableArguments {
    @Option(help: "The platform; without it, the one that this user started last on this computer.")
    var uri: String?

    @Option(help: ArgumentHelp("The application and its secret.", valueName: "id:secret"))
    var application: ApplicationArgument?

    func administration() throws(CommandFailure) -> PlatformAdministration {
        if let uri, let application { return PlatformAdministration(uri: uri, application: application) }
        let running = LocalCredentialsFile.running(in: .standard())
        guard let local = running.first(where: { uri == nil || $0.isOf(uri: uri) }) else {
            throw uri == nil
                ? CommandFailure(.nothingToPlay, "No platform of yours runs here: give --uri and --application.")
                : CommandFailure(.notAuthorized, "Give the application and its secret with --application ID:SECRET.")
        }
        return PlatformAdministration(uri: local.uri, application: application ?? local.application)
    }
}
