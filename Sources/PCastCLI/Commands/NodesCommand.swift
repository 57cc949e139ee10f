import ArgumentParser
import Foundation
import PCastJSON
import PCastPlatform
import PCastWeb

/// The command `pcast nodes`.
struct NodesCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "nodes",
        abstract: "List and drain the nodes of a cluster.",
        subcommands: [NodesListCommand.self, NodesDrainCommand.self])
}

/// The command `pcast nodes list`.
struct NodesListCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the nodes of the cluster with their load.",
        discussion: """
            It asks a platform of this host, which answers from its directory. Nodes that do not renew their lease are not \
            listed.

            Example:
              pcast nodes list
            """)

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        let (nodes, isConnected) = try await administration.administration().nodes()
        for node in nodes { report(node, console) }
        if !isConnected { console.warn("The directory is disconnected: these are the last known nodes.") }
    }

    private func report(_ node: PlatformAdministration.Node, _ console: Console) {
        console.event(
            "node",
            [
                "name": .string(node.name), "region": .string(node.region), "address": .string(node.address),
                "processor": .number(node.processor), "egress": .count(node.egress),
                "streams": .count(node.streams), "viewers": .count(node.viewers), "capacity": .count(node.capacity),
                "draining": .boolean(node.draining),
            ])
        let columns = [
            node.name, node.region.isEmpty ? "–" : node.region, node.address,
            "\(Int((node.processor * 100).rounded())) % CPU", "\(node.egress / 1_000) kbit/s",
            "\(node.streams) streams", "\(node.viewers) viewers",
        ]
        console.result((columns + (node.draining ? ["draining"] : [])).joined(separator: "  "))
    }
}

/// The command `pcast nodes drain`.
struct NodesDrainCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Send new clients of a node to other nodes, before it is stopped.",
        discussion: """
            Streams and viewers that are at the node stay there until it stops. The node accepts new clients again after \
            its restart.

            Example:
              pcast nodes drain a
            """)

    @Argument(help: "Name of the node, as “pcast nodes list” prints it.")
    var node: String

    @OptionGroup(title: "Connection") var administration: AdministrationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        try await administration.administration().drain(node: node)
        console.event("draining", ["node": .string(node)])
        console.inform("The node \(node) drains.")
    }
}

extension PlatformAdministration {
    /// A node of a cluster.
    struct Node: Decodable, Equatable {
        let name: String
        let region: String
        let address: String
        let processor: Double
        let egress: UInt64
        let streams: Int
        let viewers: Int
        let capacity: Int
        let draining: Bool
    }

    private struct NodeList: Decodable {
        let connected: Bool
        let nodes: [Node]
    }

    private struct Rejection: Decodable { let reason: String? }

    /// Returns the nodes, and whether the directory is connected.
    ///
    /// - Throws: ``CommandFailure``.
    func nodes() async throws -> (nodes: [Node], isConnected: Bool) {
        let answer = try await request("GET", "/pcast/nodes", body: nil)
        guard answer.status == 200, let list = try? JSONDecoder().decode(NodeList.self, from: Data(answer.body)) else {
            throw nodeFailure(answer)
        }
        return (list.nodes, list.connected)
    }

    /// Requests a node to drain.
    ///
    /// - Throws: ``CommandFailure``.
    func drain(node: String) async throws {
        let unreserved = CharacterSet(charactersIn: "-._~").union(.alphanumerics)
        let name = node.addingPercentEncoding(withAllowedCharacters: unreserved) ?? node
        let answer = try await request("POST", "/pcast/nodes/\(name)/drain", body: nil)
        guard answer.status == 200 else { throw nodeFailure(answer) }
    }

    private func nodeFailure(_ answer: HTTPResult) -> CommandFailure {
        let reason = (try? JSONDecoder().decode(Rejection.self, from: Data(answer.body)))?.reason
        if let reason { return CommandFailure(answer.status == 403 ? .notAuthorized : .failed, reason) }
        guard answer.status == 404 else { return failure(answer) }
        return CommandFailure(.failed, "The cluster has no such node: “pcast nodes list” prints its nodes.")
    }
}

/// The options of `pcast serve` for a node of a cluster.
struct ServeClusterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "NATS server of the cluster's directory, such as nats://10.0.0.2 or tls://user:password@host. Repeatable.",
            discussion: "It needs JetStream. --node and --cluster-secret are required with it.", valueName: "uri"))
    var cluster: [String] = []

    @Option(help: ArgumentHelp("Name of this node, which no other node has.", valueName: "name"))
    var node: String?

    @Option(help: ArgumentHelp("Region of this node, such as eu-west.", valueName: "name"))
    var region: String?

    @Option(
        help: ArgumentHelp(
            "URI at which clients and other nodes reach this node. (default: that of the HTTP server)",
            valueName: "uri"))
    var clusterAddress: String?

    @Option(help: ArgumentHelp("Credentials file of the NATS user.", valueName: "file"))
    var clusterCredentials: String?

    @Option(
        help: ArgumentHelp(
            "Authority of the NATS servers' certificates, in PEM. (default: those of the system)", valueName: "file"))
    var clusterAuthority: String?

    /// Returns the configuration; nil without a cluster. `secret` is that of all nodes, which edges without a directory have
    /// too.
    func configuration(_ settings: Settings, secret: String?) throws -> ClusterConfiguration? {
        let servers = try settings.values("cluster", cluster)
        let name = try settings.value("node", node)
        let region = try settings.value("region", region)
        let address = try settings.value("cluster-address", clusterAddress)
        let credentials = try settings.value("cluster-credentials", clusterCredentials)
        let authority = try settings.value("cluster-authority", clusterAuthority)
        guard !servers.isEmpty else {
            guard [name, region, address, credentials, authority].allSatisfy({ $0 == nil }) else {
                throw CommandFailure(
                    .unusableArguments,
                    "--node, --region, --cluster-address, --cluster-credentials and --cluster-authority need a directory: "
                        + "add --cluster.")
            }
            return nil
        }
        // The URI may contain a password, which is not repeated.
        guard servers.allSatisfy(Self.isServer) else {
            throw CommandFailure(
                .unusableArguments, "--cluster: the address must be such as nats://10.0.0.2:4222 or tls://host.")
        }
        guard let name, (1...64).contains(name.utf8.count), name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw CommandFailure(
                .unusableArguments, "--cluster needs the name of this node: add --node with 1 to 64 ASCII characters.")
        }
        guard let secret else {
            throw CommandFailure(
                .unusableArguments, "--cluster requires the secret of all nodes: add --cluster-secret.")
        }
        if let address, !Self.isAddress(address) {
            throw CommandFailure(
                .unusableArguments, "--cluster-address \(address): the address must be such as https://a.example.com.")
        }
        if let region, region.utf8.count > 64 {
            throw CommandFailure(.unusableArguments, "--region: the name must have at most 64 bytes.")
        }
        var configuration = ClusterConfiguration(servers: servers, node: name, secret: secret)
        configuration.region = region ?? ""
        configuration.address = address
        configuration.credentialsFile = credentials
        configuration.authorityFile = authority
        return configuration
    }

    private static func isServer(_ text: String) -> Bool {
        guard let rest = ["nats://", "tls://"].first(where: text.hasPrefix).map({ text.dropFirst($0.count) }) else {
            return false
        }
        let host = rest.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        return (try? WebAddress("http://\(host)")) != nil
    }

    private static func isAddress(_ text: String) -> Bool {
        text.lowercased().hasPrefix("http") && (try? WebAddress(text)).map { $0.path == "/" } == true
    }
}
