import ArgumentParser

/// An application and its secret, written as `ID:SECRET`. The secret may contain colons.
struct ApplicationArgument: ExpressibleByArgument, Equatable {
    let id: String
    let secret: String

    init(id: String, secret: String) {
        self.id = id
        self.secret = secret
    }

    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":") else { return nil }
        id = String(argument[..<colon])
        secret = String(argument[argument.index(after: colon)...])
        guard !id.isEmpty, !secret.isEmpty else { return nil }
    }
}

/// The text forms do not contain the secret, so that logs do not reveal it.
extension ApplicationArgument: CustomStringConvertible, CustomReflectable {
    var description: String { "\(id):…" }

    var customMirror: Mirror { Mirror(self, children: ["id": id]) }
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
                    "This user runs no platform on this host: give --uri and --application, or start “pcast serve”.")
                : CommandFailure(
                    .notAuthorized, "The platform requires an application: give --application ID:SECRET.")
        }
        return PlatformAdministration(uri: local.uri, application: application ?? local.application)
    }
}
