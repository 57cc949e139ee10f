import ArgumentParser

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
