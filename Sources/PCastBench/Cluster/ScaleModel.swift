/// The costs of a viewer and of a link, as measured, and the nodes that a number of viewers needs. `docs/SCALE.md` has the
/// formulas.
struct ScaleModel: Sendable {
    /// The measured costs.
    struct Costs: Sendable {
        /// The processor time for a viewer at an edge, in seconds per second.
        var viewer: Double
        /// The processor time at the upstream node for a link to another node, in seconds per second.
        var link: Double
        /// The processor time for the join of a viewer, in seconds.
        var join: Double
        /// The media that a viewer or a link receives, in bits per second.
        var bitrate: Double
        /// The memory for a viewer, in bytes.
        var memory: Double
    }

    /// The machine of a node, and the share of it that is used.
    struct Machine: Sendable {
        var processors = 16.0
        /// The capacity of the network card, in bits per second.
        var network = 10e9
        var utilization = 0.6
    }

    /// The nodes that viewers need.
    struct Plan: Sendable, Equatable {
        /// The nodes that serve viewers.
        var edges: Int
        /// The nodes between the origin and the edges; 0 if the origin serves all edges.
        var relays: Int
        /// The number of nodes that a stream passes, the origin included.
        var depth: Int
        /// The links that the origin serves.
        var originLinks: Int
        /// The egress of all nodes, in bits per second.
        var egress: Double
        /// The egress of the origin, in bits per second.
        var originEgress: Double
        /// The memory of the viewers of an edge, in bytes.
        var memory: Double

        var nodes: Int { 1 + relays + edges }
    }

    var costs: Costs
    var machine = Machine()

    /// The number of viewers that a node serves.
    var viewersPerNode: Int { capacity(costs.viewer) }

    /// The number of links that a node serves.
    var linksPerNode: Int { capacity(costs.link) }

    /// The number of joins that a node completes in a second while it serves nothing else.
    var joinsPerSecond: Double { machine.utilization * machine.processors / costs.join }

    private func capacity(_ cost: Double) -> Int {
        let byProcessor = machine.processors / cost
        let byNetwork = machine.network / costs.bitrate
        return max(1, Int(machine.utilization * min(byProcessor, byNetwork)))
    }

    /// Returns the nodes for a number of viewers that watch one stream.
    func plan(viewers: Int) -> Plan { plan(viewers: viewers, edges: Self.divided(viewers, by: viewersPerNode)) }

    /// Returns the nodes for viewers that join within a number of seconds. An edge has to complete the joins while it
    /// serves those that have joined, half of them on average.
    func plan(viewers: Int, joiningWithin seconds: Double) -> Plan {
        let work = Double(viewers) * (costs.join / seconds + costs.viewer / 2)
        let byWork = Int((work / (machine.utilization * machine.processors)).rounded(.up))
        return plan(viewers: viewers, edges: max(byWork, Self.divided(viewers, by: viewersPerNode)))
    }

    private func plan(viewers: Int, edges: Int) -> Plan {
        var layers = [edges]
        while let last = layers.last, last > linksPerNode, linksPerNode > 1 {
            layers.append(Self.divided(last, by: linksPerNode))
        }
        let originLinks = layers.last ?? edges
        let links = layers.reduce(0, +)
        return Plan(
            edges: edges, relays: links - edges, depth: 1 + layers.count, originLinks: originLinks,
            egress: Double(viewers + links) * costs.bitrate, originEgress: Double(originLinks) * costs.bitrate,
            memory: Double(Self.divided(viewers, by: edges)) * costs.memory)
    }

    private static func divided(_ count: Int, by size: Int) -> Int { max(1, (count + size - 1) / size) }
}
