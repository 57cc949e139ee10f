import ArgumentParser

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

    @Option(
        help: ArgumentHelp(
            "Host name that clients use for TURN. (default: the host of their request)", valueName: "host"))
    var turnHost: String?
}
