import ArgumentParser
import Dispatch
import Foundation
import Glibc
import PCastCore
import PCastJSON
import PCastTestSupport

/// `pcast-bench impair` is a proxy that emulates a bad network.
struct ImpairCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "impair",
        abstract: "Run a UDP and TCP proxy that emulates delay, loss and limited bandwidth.",
        discussion: """
            To place it between a platform and its viewers, let the platform advertise the proxy's address, and use the \
            same ports for both. Several ports share one link:

            pcast serve --listen 127.0.0.1:8080 --rtc-port 8189 --advertise 127.0.0.2
            pcast-bench impair --listen 127.0.0.2:8080 --to 127.0.0.1:8080 \
            --listen 127.0.0.2:8189 --to 127.0.0.1:8189 --delay 25ms --both rate=4M,queue=100ms

            CONDITIONS are separated by commas: delay=30ms, jitter=10ms, ordered or reordered (whether datagrams \
            overtake each other by it), loss=2% (or 0.02), burst=4 (the mean length of loss bursts in the Gilbert-Elliott \
            model), duplicate=1%, rate=4M (or 800k, or none), queue=100ms (or 64kB; drop-tail, before the rate limit), \
            stall=200ms/5s (all packets wait for 200 ms at the end of each 5 s), mtu=1280 (larger packets are dropped, IP \
            header included), down (all packets are dropped) or up.

            --at "10s rate=800k" changes the conditions after a time, --at "10s down rate=800k" in one direction; up is \
            from clients to the server. --step "rate=800k" is a change at the signal USR2; each signal applies the next \
            step. --rebind 20s changes the clients' address towards the server after a time. The signal USR1 does so at \
            once.

            TCP connections share the link's rate and queue and have no loss, because TCP retransmits and a proxy does \
            not see segments. Opening one takes a round trip. Ctrl-C stops the proxy, which then prints the statistics \
            of all packets.
            """)

    @Option(help: ArgumentHelp("Address for clients. Repeatable.", valueName: "address:port"))
    var listen: [String]

    @Option(help: ArgumentHelp("Address of the server, one for each --listen.", valueName: "address:port"))
    var to: [String]

    @Option(help: ArgumentHelp("One-way delay, such as 25ms.", valueName: "duration"))
    var delay = MillisecondsArgument(span: .zero)

    @Option(help: ArgumentHelp("Maximum additional delay, uniformly distributed.", valueName: "duration"))
    var jitter = MillisecondsArgument(span: .zero)

    @Option(help: ArgumentHelp("Fraction of lost datagrams, 0 to 1.", valueName: "share"))
    var loss = 0.0

    @Option(help: ArgumentHelp("Bandwidth in both directions.", valueName: "conditions"))
    var both: LinkConditionsArgument?

    @Option(help: ArgumentHelp("Bandwidth from clients to the server.", valueName: "conditions"))
    var up: LinkConditionsArgument?

    @Option(help: ArgumentHelp("Bandwidth from the server to clients.", valueName: "conditions"))
    var down: LinkConditionsArgument?

    @Option(
        help: ArgumentHelp(
            "Change of the conditions after a time. Repeatable, in order.", valueName: "time [up|down] conditions"))
    var at: [LinkChangeArgument] = []

    @Option(
        help: ArgumentHelp(
            "Change of the conditions at SIGUSR2. Repeatable, in order.", valueName: "[up|down] conditions"))
    var step: [LinkStepArgument] = []

    @Option(help: ArgumentHelp("Change the clients' addresses after this time. Repeatable.", valueName: "duration"))
    var rebind: [MillisecondsArgument] = []

    @Option(
        help: ArgumentHelp(
            "Client address whose datagrams pass unchanged.", valueName: "address"))
    var exempt: String?

    @Flag(name: .customLong("block-udp"), help: "Drop all datagrams.")
    var blockUDP = false

    @Option(help: "Seed of the random numbers.")
    var seed: UInt64 = 1

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (listen + to).allSatisfy({ TransportAddress($0) != nil }) else {
            throw ValidationError("--listen and --to must be an address and a port, such as 127.0.0.2:8189.")
        }
        guard listen.count == to.count else { throw ValidationError("Each --listen needs a --to.") }
        guard exempt.map({ IPAddress($0) != nil }) ?? true else {
            throw ValidationError("--exempt must be an address.")
        }
        guard (0...1).contains(loss) else { throw ValidationError("--loss must be 0 to 1.") }
        guard zip(at, at.dropFirst()).allSatisfy({ $0.age <= $1.age }) else {
            throw ValidationError("--at: the changes must be in the order of their times.")
        }
    }

    func run() async throws {
        let ports = zip(listen, to).compactMap { pair in
            TransportAddress(pair.0).flatMap { address in
                TransportAddress(pair.1).map { ImpairedLink.Port(address: address, server: $0) }
            }
        }
        let link = try ImpairedLink(ports, conditions)
        let report = Report(options)
        let rebinding = StopSignals.on(SIGUSR1) { link.rebind() }
        let stepping = StopSignals.on(SIGUSR2) {
            let number = link.step()
            report.event(
                "stepped", ["number": .number(Double(number))], sentence: "Step \(number) of the network's conditions.")
        }
        let stop = StopSignals()
        for (address, server) in zip(listen, to) {
            report.event(
                "listening", ["listen": .string(address), "to": .string(server)],
                sentence: "Forwarding \(address) to \(server). Press Ctrl-C to stop.")
        }
        await stop.wait()
        rebinding.cancel()
        stepping.cancel()
        link.stop()
        writeStatistics(link.statistics.up, "up", report)
        writeStatistics(link.statistics.down, "down", report)
    }

    private var conditions: NetworkConditions {
        var initial = LinkConditions(
            delay: delay.span, jitter: jitter.span, loss: loss > 0 ? .random(loss) : .none)
        both?.apply(to: &initial)
        var conditions = NetworkConditions(
            up: schedule(initial, up, at.filter(\.step.isUp)),
            down: schedule(initial, down, at.filter(\.step.isDown)))
        conditions.blocksUDP = blockUDP
        conditions.exempt = exempt.flatMap { IPAddress($0) }
        conditions.rebindings = rebind.map(\.span)
        conditions.seed = seed
        conditions.steps = step.map { step in
            NetworkConditions.Step(isUp: step.isUp, isDown: step.isDown) { step.conditions.apply(to: &$0) }
        }
        return conditions
    }

    private func schedule(
        _ initial: LinkConditions, _ own: LinkConditionsArgument?, _ changes: [LinkChangeArgument]
    ) -> LinkSchedule {
        var initial = initial
        own?.apply(to: &initial)
        return changes.reduce(LinkSchedule(initial)) { schedule, change in
            schedule.changed(at: change.age) { change.step.conditions.apply(to: &$0) }
        }
    }

    private func writeStatistics(_ statistics: LinkStatistics, _ direction: String, _ report: Report) {
        report.event(
            "passed",
            [
                "direction": .string(direction), "sent": .number(Double(statistics.sent)),
                "delivered": .number(Double(statistics.delivered)), "lost": .number(Double(statistics.lost)),
                "overflowed": .number(Double(statistics.overflowed)),
                "oversized": .number(Double(statistics.oversized)), "cutOff": .number(Double(statistics.cutOff)),
                "duplicated": .number(Double(statistics.duplicated)),
            ],
            sentence: "\(direction): \(statistics.delivered) of \(statistics.sent) packets arrived, "
                + "\(statistics.lost) were lost, \(statistics.overflowed) found the queue full, "
                + "\(statistics.oversized) were too large.")
    }
}

/// The signals of Ctrl-C and of a supervisor.
///
/// Without it, they end the process. A command creates it before it reports that it runs, so that whoever reads the report
/// may stop the command at once.
struct StopSignals {
    private let signals: AsyncStream<Void>
    private let sources: [any DispatchSourceSignal]

    init() {
        let (signals, continuation) = AsyncStream<Void>.makeStream()
        self.signals = signals
        sources = [SIGINT, SIGTERM].map { Self.source(of: $0) { continuation.yield() } }
    }

    /// Returns when the first signal has arrived since the creation. Further ones are ignored.
    func wait() async {
        for await _ in signals { break }
        sources.forEach { $0.cancel() }
    }

    /// Calls `action` at each signal of this number, until the returned source is cancelled.
    static func on(_ number: Int32, _ action: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
        source(of: number, action)
    }

    private static func source(
        of number: Int32, _ action: @escaping @Sendable () -> Void
    ) -> any DispatchSourceSignal {
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number)
        source.setEventHandler(handler: action)
        source.resume()
        return source
    }
}
