import HTTPTypes
import Hummingbird
import PCastCluster
import PCastCore
import PCastJWT
import PCastWeb

/// The requests about the nodes of a cluster: `GET /pcast/nodes` and `POST /pcast/nodes/:node/drain`. They concern all
/// applications, so they are for programs of this host, and for the dashboard of the application that administers the
/// platform.
struct ClusterRoutes: Sendable {
    private struct NodeDescription: Encodable {
        let name: String
        let region: String
        let address: String
        /// The used share of the processors, from 0 to 1.
        let processor: Double
        /// The media that leave the node, in bits per second.
        let egress: UInt64
        let streams: Int
        let viewers: Int
        let capacity: Int
        let draining: Bool

        init(_ node: ClusterNode) {
            name = node.name
            region = node.region
            address = node.address
            processor = node.load.processor
            egress = node.load.egress
            streams = node.load.streams
            viewers = node.load.viewers
            capacity = node.load.capacity
            draining = node.isDraining
        }
    }

    private struct StreamDescription: Encodable {
        let name: String
        let streamId: String
        let applicationId: String
        /// The name of the origin.
        let node: String
        let codecs: [String]
        /// Whether the node that answers pulls the stream.
        let pulled: Bool
        /// The number of nodes that pull the stream from the node that answers.
        let links: Int
    }

    private struct NodeList: Encodable {
        let status = "ok"
        /// Whether the directory is connected. Otherwise, the nodes are those that were known last.
        let connected: Bool
        /// The name of the node that answers.
        let node: String
        let nodes: [NodeDescription]
        /// The streams of all nodes, at most `maximumStreams`, by name.
        let streams: [StreamDescription]
        /// The number of streams, including those that are not listed.
        let streamCount: Int
    }

    /// The maximum number of listed streams.
    private static let maximumStreams = 1_000

    /// The node of this platform; nil if it belongs to no cluster.
    let service: ClusterService?
    let directory: StreamDirectory
    let dashboard: DashboardAccess
    let administration: PlatformAdministration
    let audit: AuditLog

    func addRoutes(to router: Router<WebRequestContext>) {
        router.get("/pcast/nodes") { request, context in
            await answer(request, context, needing: .view) { service in
                ApplicationAnswer.json(await list(service.cluster))
            }
        }
        router.post("/pcast/nodes/:node/drain") { request, context in
            await answer(request, context, needing: .operate) { service in
                let name = context.parameters.get("node").flatMap { PercentEncoding.decode($0) }
                let isKnown = name.map { service.drain($0) } ?? false
                return isKnown ? ApplicationAnswer.done : ApplicationFailure.notFound.response
            }
        }
        router.refuseOthers("/pcast/nodes", than: [.get])
        router.refuseOthers("/pcast/nodes/:node/drain", than: [.post])
    }

    private func list(_ cluster: Cluster) async -> NodeList {
        let (node, links) = (cluster.node.name, await directory.nodeLinks)
        let own = await directory.clusterStreams.values.map { stream in
            var stream = stream
            stream.node = node
            return stream
        }
        let all = (own + cluster.remoteStreams).sorted { ($0.name, $0.node) < ($1.name, $1.node) }
        let streams = all.prefix(Self.maximumStreams).map { stream in
            StreamDescription(
                name: stream.name, streamId: stream.stream, applicationId: stream.application, node: stream.node,
                codecs: stream.codecs, pulled: links.pulled[StreamID(stream.stream)] != nil,
                links: links.pulling[StreamID(stream.stream)] ?? 0)
        }
        return NodeList(
            connected: cluster.isConnected, node: node, nodes: cluster.nodes.map { NodeDescription($0) },
            streams: streams, streamCount: all.count)
    }

    /// Whether a client may use the nodes: a user of the dashboard with a role, or a program of this host.
    private func isPermitted(
        _ request: Request, _ context: WebRequestContext, _ login: DashboardLogins.Login?, _ needed: AdministrationRole
    ) -> Bool {
        guard let login else { return request.clientContext(context).isOnThisMachine }
        return administration.isAdministrator(login.application) && login.role >= needed
    }

    /// Answers a request. Changes that a user of the dashboard requests are in the audit log.
    private func answer(
        _ request: Request, _ context: WebRequestContext, needing role: AdministrationRole,
        _ body: (ClusterService) async -> Response
    ) async -> Response {
        let login = dashboard.login(for: request, context)
        let response = await response(to: request, context, login, needing: role, body)
        if let login, request.method == .post {
            let author = RequestAuthor(
                .dashboard, subject: login.subject, address: context.clientAddress.map { "\($0)" } ?? "unknown",
                method: request.method.rawValue, path: request.uri.path)
            audit.record(author, of: login.application, login.role, status: Int(response.status.code))
        }
        return response
    }

    private func response(
        to request: Request, _ context: WebRequestContext, _ login: DashboardLogins.Login?,
        needing role: AdministrationRole, _ body: (ClusterService) async -> Response
    ) async -> Response {
        guard isPermitted(request, context, login, role) else {
            return ApplicationFailure(
                .forbidden, "forbidden",
                "The nodes are available to programs of this host, and to the dashboard of the application that "
                    + "administers the platform. A user who drains them needs the role “operate”."
            ).response
        }
        guard let service else {
            return ApplicationFailure(
                .notFound, "not-found", "The platform belongs to no cluster: start it with --cluster."
            ).response
        }
        return await body(service)
    }
}
