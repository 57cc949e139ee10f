import ArgumentParser
import Foundation
import PCastCore
import PCastIO
import PCastJSON

/// `pcast-bench cluster` measures how long viewers of a cluster have no video after faults.
struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Kill, separate and restart the parts of a cluster, and measure how long viewers have no video.",
        discussion: """
            NATS with JetStream, three nodes, publishers and viewers are processes, each in a network namespace behind a \
            link of this program. This requires root, or “unshare --user --map-root-user --net” if that is allowed. A \
            publisher sends 30 frames per second to one node, and four viewers watch at the two others. The publishers \
            and viewers are ours: they connect to another node if their connection closes, their session ends, or video \
            is missing for a second. Two more viewers load parts of low-latency HLS, from the next node if a request fails. One \
            more viewer is headless Chromium, which uses WHEP, if it is installed and this starts in the package's folder.

            Each row is a fault. It reports the longest time between two frames of a viewer in milliseconds, the limit, \
            and the number of times that viewers connected again, also for the viewers by HLS and in Chromium. If a further \
            viewer joins after the fault, it reports the time until that one receives video. A row that cannot run here is \
            skipped, and the reason is printed.
            """)

    @Option(help: ArgumentHelp("Row to run; --list prints the names. (default: all)", valueName: "name"))
    var row: String?

    @Flag(help: "Print the names of the rows without running them.")
    var list = false

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard !ClusterRow.rows(named: row).isEmpty else {
            throw ValidationError("--row: the row does not exist; --list prints the names.")
        }
    }

    func run() async throws {
        if list {
            let report = Report(options)
            for row in ClusterRow.rows(named: row) {
                report.event("name", ["name": .string(row.name)], sentence: "\(row.name): \(row.fault)")
            }
            return
        }
        // An interrupted run ends its processes and removes its network.
        let rows = Task { try await measure() }
        let signals = StopSignals()
        let stop = Task {
            await signals.wait()
            rows.cancel()
        }
        defer { stop.cancel() }
        try await rows.value
    }

    private func measure() async throws {
        var report = Report(options)
        let rows = ClusterRow.rows(named: row)
        var (missed, skipped) = (0, 0)
        for row in rows {
            if let obstacle = row.obstacle {
                skipped += 1
                report.event(
                    "skipped", ["name": .string(row.name), "reason": .string(obstacle)],
                    sentence: "\(row.name) cannot run here: \(obstacle)")
                continue
            }
            var metrics = ClusterRow.Metrics()
            do {
                metrics = try await row.measure()
            } catch let error as CancellationError {
                throw error
            } catch {
                report.event(
                    "failure", ["name": .string(row.name), "reason": .string("\(error)")],
                    sentence: "\(row.name): \(error)")
            }
            if let reason = metrics.lateFailure {
                report.event(
                    "failure", ["name": .string(row.name), "reason": .string(reason)],
                    sentence: "\(row.name): the further viewer did not receive video: \(reason)")
            }
            let holds = row.passes(metrics)
            missed += holds ? 0 : 1
            report.row(
                row.name,
                [
                    "withoutVideo": metrics.withoutVideo, "limit": row.limit, "rejoins": metrics.rejoins,
                    "hlsWithoutVideo": metrics.hlsWithoutVideo, "hlsLimit": row.hlsLimit,
                    "hlsRejoins": metrics.hlsRejoins, "lateJoin": metrics.lateJoin,
                    "browserWithoutVideo": metrics.browserWithoutVideo,
                    "browserRejoins": metrics.browserRejoins,
                ], pass: holds)
        }
        try report.finish(
            ["rows": Double(rows.count), "missed": Double(missed), "skipped": Double(skipped)],
            targets: [Target("missed", .exactly(0))])
    }
}

/// `pcast-bench cluster-clients` runs the publisher or the viewers of `pcast-bench cluster` in a network namespace.
struct ClusterClientsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster-clients", abstract: "Publish to or watch a cluster; started by “cluster”.",
        shouldDisplay: false)

    @Option(help: "URIs of the nodes, separated by commas, in the order in which they are tried.")
    var nodes: String

    @Option(help: "Name of the stream.")
    var stream: String

    @Option(help: "Source address and first source port.")
    var from: String

    @Option(help: "Number of viewers; 0 publishes.")
    var viewers: Int

    @Option(help: "Number of nodes, from the first one, at which the viewers begin.")
    var homes = 1

    @Flag(help: "Watch by HLS.")
    var hls = false

    @OptionGroup var options: ReportOptions

    /// The time after all viewers have video until the measurement begins.
    private static let settlingTime = Duration.seconds(3)
    private static let startTime = TimeSpan.seconds(60 as Int64)

    func run() async throws {
        let token = ProcessInfo.processInfo.environment[LightViewersCommand.tokenVariable] ?? ""
        let uris = nodes.split(separator: ",").map(String.init)
        guard let first = TransportAddress(from), first.port > 0, (1...uris.count).contains(homes), viewers >= 0 else {
            throw ValidationError("--from must be an address and a port, and --homes at most the number of nodes.")
        }
        let endpoint = ClusterEndpoint(nodes: uris, stream: stream, token: token)
        if viewers == 0 { try await publish(to: endpoint, from: first) } else { try await watch(endpoint, from: first) }
    }

    private func publish(to endpoint: ClusterEndpoint, from first: TransportAddress) async throws {
        let report = Report(options)
        let publisher = try ClusterPublisher(at: endpoint, from: first)
        defer { publisher.leave() }
        let running = Task { await publisher.run() }
        defer { running.cancel() }
        try await publisher.waitUntilConnected(within: Self.startTime)
        let stop = StopSignals()
        report.event("publishing", [:], sentence: "The publisher is connected. Press Ctrl-C to stop.")
        await stop.wait()
    }

    private func watch(_ endpoint: ClusterEndpoint, from first: TransportAddress) async throws {
        var report = Report(options)
        let group: any ClusterViewerGroup
        if hls {
            group = ClusterHLSViewers(viewers, at: endpoint, homes: homes)
        } else {
            group = try ClusterViewers(viewers, at: endpoint, homes: homes, from: first)
        }
        defer { group.leave() }
        let running = Task { await group.run() }
        defer { running.cancel() }
        try await group.waitUntilWatching(within: Self.startTime)
        report.event("joined", [:], sentence: "All viewers receive video.")
        try await Task.sleep(for: Self.settlingTime)
        group.begin()
        let stop = StopSignals()
        report.event("watching", [:], sentence: "The measurement has begun. Press Ctrl-C to stop.")
        await stop.wait()
        let gaps = group.longestGaps().compactMap { $0?.milliseconds }
        report.row(
            "viewers",
            [
                "viewers": Double(viewers), "longestGap": gaps.count == viewers ? gaps.max() : nil,
                "shortestGap": gaps.min(), "rejoins": Double(group.rejoins), "fewestFrames": Double(group.fewestFrames),
            ])
    }
}
