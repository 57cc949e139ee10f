import ArgumentParser
import PCastJSON

/// `pcast-bench networks` measures the quality of a stream over bad networks.
struct NetworksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "networks",
        abstract: "Measure 720p30 at 2 Mbit/s with audio over bad networks, between separate processes.",
        discussion: """
            Platform, publisher and viewers each have a network namespace. Links of this program connect them and \
            carry every packet. This requires root, or “unshare --user --map-root-user --net” if that is allowed. \
            Each row is one network, between the viewer and the platform or between the publisher and the platform.
            """)

    @Option(help: "Seconds of rows whose network does not change.")
    var seconds = 30

    @Option(help: ArgumentHelp("Rows to measure, by name or prefix, separated by commas.", valueName: "names"))
    var rows: String?

    @Flag(help: "Print the names of the rows without measuring.")
    var list = false

    @OptionGroup var options: ReportOptions

    static let all: [NetworkRow] =
        NetworkTestbed.ImpairedPeer.allCases.flatMap { impairedPeer in
            NetworkRow.steady(impairedPeer) + NetworkRow.narrow(impairedPeer) + NetworkRow.interrupted(impairedPeer)
        } + NetworkRow.otherCodecs + [NetworkRow.lossyPeer, NetworkRow.synchronized, NetworkRow.simulcast]
        + NetworkRow.layers + NetworkRow.browsers

    private var chosen: [NetworkRow] {
        guard let rows else { return Self.all }
        let names = rows.split(separator: ",")
        return Self.all.filter { row in names.contains { row.name.hasPrefix($0) } }
    }

    func validate() throws {
        guard seconds >= 3 else { throw ValidationError("--seconds must be at least 3.") }
        guard !chosen.isEmpty else { throw ValidationError("--rows: the row does not exist; --list prints the names.") }
    }

    func run() async throws {
        var report = Report(options)
        if list { return chosen.forEach { report.event("name", ["name": .string($0.name)], sentence: $0.name) } }
        var passed = 0
        for row in chosen {
            do {
                let metrics = try await row.measure(seconds)
                let pass = row.passes(metrics)
                passed += pass ? 1 : 0
                report.row(row.name, metrics, pass: pass)
            } catch let failure as BenchFailure {
                report.event(
                    "failure", ["name": .string(row.name), "reason": .string(failure.description)],
                    sentence: "\(row.name): \(failure)")
                report.row(row.name, [], pass: false)
            }
        }
        try report.finish(
            ["rows": Double(chosen.count), "missed": Double(chosen.count - passed)],
            targets: [Target("missed", .exactly(0))])
    }
}
