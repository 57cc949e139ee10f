import ArgumentParser
import PCastEdgeAuth
import PCastMedia

/// `pcast-bench impair`: a proxy that makes a bad network.
struct ImpairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "impair",
        abstract: "A proxy for UDP and TCP that delays and loses what passes.",
        discussion: """
            To bring it between a platform and its viewers, give the platform an address of the proxy's and both the \
            same ports:

            pcast serve --listen 127.0.0.1:8080 --rtc-port 8189 --advertise 127.0.0.2
            pcast-bench impair --listen 127.0.0.2:8080 --to 127.0.0.1:8080 --delay 25ms
            pcast-bench impair --listen 127.0.0.2:8189 --to 127.0.0.1:8189 --delay 25ms

            Conditions hold in each direction. Connections are delayed and lose nothing; opening one costs its round \
            trip. It ends with Ctrl-C.
            """)

    @Option(help: ArgumentHelp("Where clients come.", valueName: "address:port"))
    var listen: String

    @Option(help: ArgumentHelp("Where the server is.", valueName: "address:port"))
    var to: String

    @Option(help: ArgumentHelp("One way, such as 25ms.", valueName: "duration"))
    var delay = MillisecondsArgument(span: .zero)

    @Option(help: ArgumentHelp("Up to this much more, evenly spread.", valueName: "duration"))
    var jitter = MillisecondsArgument(span: .zero)

    @Option(help: ArgumentHelp("The share of datagrams that vanish, from 0 to 1.", valueName: "share"))
    var loss = 0.0

    @Option(help: "Of the losses and the jitter.")
    var seed: UInt64 = 1

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard TransportAddress(listen) != nil, TransportAddress(to) != nil else {
            throw ValidationError("--listen and --to are an address and a port, such as 127.0.0.2:8189.")
        }
        guard (0...1).contains(loss) else { throw ValidationError("--loss is from 0 to 1.") }
    }

    func run() async throws {
        guard let address = TransportAddress(listen), let server = TransportAddress(to) else { return }
        let conditions = NetworkConditions(delay: delay.span, jitter: jitter.span, loss: loss, seed: seed)
        let link = try ImpairedLink(from: address, to: server, conditions)
        Report(options).event(
            "listening", ["listen": .string(listen), "to": .string(to)],
            sentence: "\(listen) leads to \(to). Ctrl-C ends it.")
        await Interruption.wait()
        link.stop()
    }
}
