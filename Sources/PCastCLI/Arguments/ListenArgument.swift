import ArgumentParser

/// The address that a platform listens on, such as `127.0.0.1:8080`, `[::1]:8080` or `0.0.0.0:0`.
struct ListenArgument: ExpressibleByArgument, Equatable {
    let host: String
    let port: UInt16

    /// The default address.
    static let standard = ListenArgument(host: "127.0.0.1", port: 8080)

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"), let port = UInt16(argument[argument.index(after: colon)...])
        else { return nil }
        var host = argument[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        self.init(host: String(host), port: port)
    }

    /// Whether only programs of this host can reach the address.
    var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}

extension ListenArgument: CustomStringConvertible {
    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
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
