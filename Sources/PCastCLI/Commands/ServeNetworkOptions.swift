import ArgumentParser

/// The options of `pcast serve` for addresses and ports.
struct ServeNetworkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "HTTP address to listen on; port 0 selects a free port. (default: 127.0.0.1:8080)", valueName: "host:port"))
    var listen: ListenArgument?

    @Option(
        help: ArgumentHelp("UDP and TCP port of all media; 0 selects a free port. (default: 8189)", valueName: "port"))
    var rtcPort: UInt16?

    @Option(
        help: ArgumentHelp("Number of media threads, at most 64. (default: one per processor)", valueName: "count"))
    var shards: Int?

    @Option(
        help: ArgumentHelp(
            "Address in ICE candidates and links instead of the listening address. Repeatable.", valueName: "address"))
    var advertise: [AddressArgument] = []

    @Option(
        help: ArgumentHelp(
            "STUN server that is queried at startup for the public address. Repeatable.", valueName: "host:port"))
    var stun: [String] = []
}
