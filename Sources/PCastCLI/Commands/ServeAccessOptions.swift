import ArgumentParser
import PCastCodecs
import PCastCore
import PCastEdgeAuth
import PCastPlatform
import PCastWeb

/// The options of `pcast serve` for applications.
struct ServeApplicationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Application whose tokens are accepted. Repeatable. (default: a generated one)", valueName: "id:secret"))
    var application: [ApplicationArgument] = []

    @Option(
        help: ArgumentHelp(
            "Application that administers the platform: applications, limits and draining. (default: the only one)",
            valueName: "id"))
    var administrator: String?
}

/// The options of `pcast serve` for TLS, and for TURN on the TLS port.
struct ServeTLSOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Port for HTTPS, such as 443, and for TURN over TLS; 0 selects a free port. (default: none)",
            discussion: "Clients whose network blocks UDP and the media port send media through it.", valueName: "port")
    )
    var tlsPort: UInt16?

    @Option(
        help: ArgumentHelp(
            "Certificate of the TLS port with its chain, in PEM. (default: self-signed, browsers warn)",
            valueName: "file"))
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("Private key of --tls-certificate, in PEM.", valueName: "file"))
    var tlsKey: String?

    @Flag(help: "Keep a self-signed certificate for this host's names and addresses in --data. (browsers warn)")
    var tlsSelfSigned = false

    @Option(
        help: ArgumentHelp(
            "Folder in which certbot proves the control of the domain name, over HTTP.",
            discussion: "While the files of --tls-certificate do not exist, a self-signed certificate is used.",
            valueName: "directory"))
    var acmeWebroot: String?

    @Option(
        help: ArgumentHelp(
            "Host name that clients use for TURN. (default: the host of their request)", valueName: "host"))
    var turnHost: String?
}

/// The options of `pcast serve` for streams of other nodes.
struct ServeEdgeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Platform from which streams are pulled that this one does not have. Repeatable.",
            discussion: "Such as https://origin.example.com. Several ones are tried in their order.", valueName: "url"))
    var origin: [String] = []

    @Option(
        help: ArgumentHelp(
            "Secret of all nodes, of at least 16 bytes. (default: no node may pull streams)", valueName: "text"))
    var clusterSecret: String?

    @Option(
        help: ArgumentHelp(
            "Memory for HLS of other nodes in MB. (default: 256)",
            discussion: "If it is full, what was not requested for the longest time is removed.",
            valueName: "megabytes"))
    var edgeCache: Int?

    /// The sizes of the cache of HLS in megabytes.
    private static let cacheSizes = 16...1_000_000

    func apply(_ settings: Settings, to configuration: inout EdgeConfiguration) throws {
        configuration.secret = try settings.value("cluster-secret", clusterSecret)
        if let secret = configuration.secret, secret.utf8.count < NodeSignature.minimumSecretSize {
            throw CommandFailure(
                .unusableArguments,
                "--cluster-secret: a secret has at least \(NodeSignature.minimumSecretSize) bytes, and this one has "
                    + "\(secret.utf8.count).")
        }
        if let size = try settings.value("edge-cache", edgeCache) {
            guard Self.cacheSizes.contains(size) else {
                throw CommandFailure(
                    .unusableArguments, "--edge-cache \(size): the size must be 16 to 1000000 MB.")
            }
            configuration.cacheSize = size << 20
        }
        configuration.origins = try settings.values("origin", origin).map { uri in
            guard let address = try? WebAddress(uri), uri.hasPrefix("http://") || uri.hasPrefix("https://") else {
                throw CommandFailure(
                    .unusableArguments,
                    "--origin \(MediaName.withoutSecrets(uri)): use https://HOST or http://HOST:PORT.")
            }
            return address.origin
        }
        guard configuration.origins.isEmpty || configuration.secret != nil else {
            throw CommandFailure(
                .unusableArguments, "--origin requires the secret of all nodes: add --cluster-secret.")
        }
    }
}
