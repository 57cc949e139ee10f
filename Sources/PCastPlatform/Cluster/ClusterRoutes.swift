import HTTPTypes
import Hummingbird
import PCastCluster
import PCastCore
import PCastWeb

/// The requests about the nodes of a cluster: `GET /pcast/nodes` and `POST /pcast/nodes/:node/drain`. They are for
/// programs of this host only, because they concern all applications.
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

    private struct NodeList: Encodable {
        let status = "ok"
        /// Whether the directory is connected. Otherwise, the nodes are those that were known last.
        let connected: Bool
        let nodes: [NodeDescription]
    }

    /// The node of this platform; nil if it belongs to no cluster.
    let service: ClusterService?

    func addRoutes(to router: Router<WebRequestContext>) {
        router.get("/pcast/nodes") { request, context in
            answer(request, context) { service in
                let nodes = service.cluster.nodes.map { NodeDescription($0) }
                return ApplicationAnswer.json(NodeList(connected: service.cluster.isConnected, nodes: nodes))
            }
        }
        router.post("/pcast/nodes/:node/drain") { request, context in
            answer(request, context) { service in
                let name = context.parameters.get("node").flatMap { PercentEncoding.decode($0) }
                let isKnown = name.map { service.drain($0) } ?? false
                return isKnown ? ApplicationAnswer.done : ApplicationFailure.notFound.response
            }
        }
        router.refuseOthers("/pcast/nodes", than: [.get])
        router.refuseOthers("/pcast/nodes/:node/drain", than: [.post])
    }

    private func answer(
        _ request: Request, _ context: WebRequestContext, _ body: (ClusterService) -> Response
    ) -> Response {
        guard request.clientContext(context).isOnThisMachine else {
            return ApplicationFailure(
                .forbidden, "forbidden", "The nodes are available to programs of this host only."
            ).response
        }
        guard let service else {
            return ApplicationFailure(
                .notFound, "not-found", "The platform belongs to no cluster: start it with --cluster."
            ).response
        }
        return body(service)
    }
}
