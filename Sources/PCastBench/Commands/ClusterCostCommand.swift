import ArgumentParser
import PCastCore
import PCastIO

/// `pcast-bench cluster-cost` measures the costs of links and remote viewers, and derives the nodes for many viewers.
struct ClusterCostCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster-cost",
        abstract:
            "Compare the costs of viewers at an edge with those at the origin, and derive the nodes for many viewers.",
        discussion: """
            In alternating rounds: a platform with one stream and its viewers, and an edge with the same viewers of a \
            stream of another platform. Then: a platform with several streams that have one viewer each, and one whose \
            streams are pulled by an edge. All platforms share a processor, and the load has the other one. CPU times are \
            those of each process as reported by the kernel.

            From the medians, a table is computed of the nodes, the depth and the egress for 10,000, 100,000 and \
            1,000,000 viewers of one stream, and for 500,000 viewers that join within 60 seconds. docs/SCALE.md has the \
            formulas.
            """)

    @Option(help: "Number of viewers.")
    var viewers = 200

    @Option(help: "Number of streams that are pulled.")
    var streams = 16

    @Option(help: "Number of alternating rounds.")
    var rounds = 3

    @Option(help: "Seconds of each round.")
    var seconds = 6

    @Option(help: "Processors of a node in the table.")
    var nodeProcessors = 16

    @Option(help: "Network card of a node in the table, in Gbit/s.")
    var nodeGigabits = 10

    @Option(help: "Share of the processors and of the network card that is used in the table.")
    var utilization = 0.6

    @OptionGroup var options: ReportOptions

    func validate() throws {
        guard (16...5_000).contains(viewers), (2...200).contains(streams), rounds > 0, seconds > 0 else {
            throw ValidationError(
                "--viewers must be 16 to 5000, --streams 2 to 200; --rounds and --seconds at least 1.")
        }
        guard nodeProcessors > 0, nodeGigabits > 0, utilization > 0, utilization <= 1 else {
            throw ValidationError(
                "--node-processors and --node-gigabits must be at least 1, and --utilization above 0 and at most 1.")
        }
    }

    private static let targets = [
        Target("viewerRatio", .atMost(1.05)), Target("linkEgressRatio", .atMost(1.05)), Target("missing", .exactly(0)),
        Target("idle", .exactly(0)),
    ]

    /// The size of a packet of `TrafficProfile.even` with its UDP and IP headers, in bits.
    private static let packetBits = (1_200 + 28) * 8

    /// The results of two platforms, of which one has its viewers at an edge.
    private struct Comparison {
        var near: [ClusterCost.Round] = []
        var far: [ClusterCost.Round] = []
        var nearJoin = 0.0
        var farJoin = 0.0
        var nearMemory = 0.0
        var farMemory = 0.0
        /// The memory of a stream at the origin without and with a link, and of a pulled stream at the edge.
        var nearStreamMemory = 0.0
        var originStreamMemory = 0.0
        var pulledStreamMemory = 0.0

        var all: [ClusterCost.Round] { near + far }
    }

    func run() async throws {
        var report = Report(options)
        let many = try await compare("\(viewers) viewers", streams: 1, viewers: viewers, &report)
        let single = try await compare("\(streams) streams", streams: streams, viewers: streams, &report)
        let near = many.near.median(\.perPacket)
        let far = many.far.median(\.perPacket)
        let count = Double(viewers)
        // For each stream, the origin has the publisher and either a link or a viewer.
        let link = single.far.median(\.publishing).map { $0 / Double(streams) }
        let local = single.near.median(\.publishing).map { $0 / Double(streams) }
        let pulled = single.far.median(\.serving).map { $0 / Double(streams) }
        let bitrate = many.far.median { Double($0.packets) / $0.seconds }
            .map { $0 / count * Double(Self.packetBits) }
        let viewer = many.far.median(\.serving).map { $0 / count }
        if let viewer, let link, let bitrate {
            let costs = ScaleModel.Costs(
                viewer: viewer, link: link, join: many.farJoin, bitrate: bitrate, memory: max(0, many.farMemory))
            let machine = ScaleModel.Machine(
                processors: Double(nodeProcessors), network: Double(nodeGigabits) * 1e9, utilization: utilization)
            write(ScaleModel(costs: costs, machine: machine), &report)
        }
        let egress = single.near.median(\.forwardedPerFrame).flatMap { near in
            single.far.median(\.forwardedPerFrame).map { $0 / near }
        }
        let all = many.all + single.all
        try report.finish(
            [
                "localPerPacket": near, "edgePerPacket": far,
                "viewerRatio": near.flatMap { near in far.map { $0 / near } },
                "localViewer": many.near.median(\.serving).map { $0 / count }, "edgeViewer": viewer,
                "localMemory": many.nearMemory, "edgeMemory": many.farMemory,
                "localJoin": many.nearJoin * 1e6, "edgeJoin": many.farJoin * 1e6,
                "originLink": link, "originViewer": local, "edgePulledStream": pulled,
                "linkRatio": local.flatMap { local in link.map { $0 / local } },
                "linkEgressRatio": egress, "bitrate": bitrate, "localStreamMemory": single.nearStreamMemory,
                "originStreamMemory": single.originStreamMemory, "edgeStreamMemory": single.pulledStreamMemory,
                "missing": Double(all.reduce(0) { $0 + $1.missing }), "idle": Double(all.reduce(0) { $0 + $1.idle }),
                "void": Double(all.count { $0.isVoid }),
            ], targets: Self.targets)
    }

    /// Measures viewers at the origin of their streams, and at an edge of it, in alternating rounds.
    private func compare(
        _ name: String, streams: Int, viewers: Int, _ report: inout Report
    ) async throws -> Comparison {
        let near = try await ClusterCost.start(streams: streams, viewers: viewers, atEdge: false)
        defer { near.stop() }
        let far = try await ClusterCost.start(streams: streams, viewers: viewers, atEdge: true)
        defer { far.stop() }
        var comparison = Comparison()
        (comparison.nearJoin, comparison.farJoin) = (near.joinTime, far.joinTime)
        (comparison.nearMemory, comparison.farMemory) = (near.memoryPerViewer, far.memoryPerViewer)
        comparison.nearStreamMemory = near.originMemoryPerStream
        comparison.originStreamMemory = far.originMemoryPerStream
        comparison.pulledStreamMemory = far.memoryPerStream
        for number in 1...rounds {
            comparison.near.append(try await measure("\(number): \(name), local", near, &report))
            comparison.far.append(try await measure("\(number): \(name), edge", far, &report))
        }
        return comparison
    }

    private func measure(
        _ name: String, _ cost: ClusterCost, _ report: inout Report
    ) async throws -> ClusterCost.Round {
        let round = try await cost.measure(seconds: seconds)
        report.row(
            name,
            [
                "nsPerPacket": round.perPacket, "serving": round.serving, "publishing": round.publishing,
                "packets": Double(round.packets), "forwardedPerFrame": round.forwardedPerFrame,
                "missing": Double(round.missing), "idle": Double(round.idle),
            ], pass: !round.isVoid)
        return round
    }

    /// Writes the nodes for many viewers.
    private func write(_ model: ScaleModel, _ report: inout Report) {
        let plans = [10_000, 100_000, 1_000_000].map { ("\($0) viewers", model.plan(viewers: $0)) }
        let storm = model.plan(viewers: 500_000, joiningWithin: 60)
        for (name, plan) in plans + [("500000 viewers join in 60 s", storm)] {
            report.row(
                name,
                [
                    "nodes": Double(plan.nodes), "edges": Double(plan.edges), "relays": Double(plan.relays),
                    "depth": Double(plan.depth), "originLinks": Double(plan.originLinks),
                    "egressGbps": plan.egress / 1e9, "originEgressGbps": plan.originEgress / 1e9,
                    "edgeMemoryMB": plan.memory / 1e6, "viewersPerNode": Double(model.viewersPerNode),
                    "linksPerNode": Double(model.linksPerNode), "joinsPerSecond": model.joinsPerSecond,
                ])
        }
    }
}
