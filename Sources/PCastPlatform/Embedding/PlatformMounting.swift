import HTTPTypes
public import Hummingbird
public import HummingbirdCore
public import NIOCore
import PCastCore
import PCastWeb
import Synchronization

/// The context of requests in a router on which a platform is mounted. The platform needs the connection for the
/// client's address, and to recognize TLS.
public protocol ConnectionRequestContext: RequestContext {
    /// The connection of the client.
    var channel: any Channel { get }
}

/// A request context for routers of hosts that need no context of their own.
public struct PlatformRequestContext: ConnectionRequestContext, RemoteAddressRequestContext {
    /// The context of Hummingbird.
    public var coreContext: CoreRequestContextStorage
    /// The connection of the client.
    public let channel: any Channel

    /// Creates the context of a request.
    public init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }

    /// The address of the other end of the connection; nil if it is closed.
    public var remoteAddress: SocketAddress? { channel.remoteAddress }
}

/// The routes of a platform, by purpose. A host mounts those that do not conflict with its own.
public struct PlatformRoutes: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// WHIP and WHEP: `/whip` and `/whep`.
    public static let media = PlatformRoutes(rawValue: 1 << 0)
    /// The REST interface, its description and the telemetry of Phenix's Web SDK: `/pcast` and `/telemetry`.
    public static let management = PlatformRoutes(rawValue: 1 << 1)
    /// The pages for publishing and watching, and their files: `/publish`, `/watch`, `/channel`, `/overlay`, `/assets`,
    /// `/pcast.mjs` and `/bridge.js`.
    public static let pages = PlatformRoutes(rawValue: 1 << 2)
    /// The dashboard: `/`, `/administration` and `/dashboard/login`. It needs the routes of `management` and `pages`.
    public static let dashboard = PlatformRoutes(rawValue: 1 << 3)
    /// Timelines: `/timeline`.
    public static let timelines = PlatformRoutes(rawValue: 1 << 4)
    /// Health and metrics: `/healthz` and `/metrics`.
    public static let health = PlatformRoutes(rawValue: 1 << 5)
    /// The playlists and media files of HLS, live and recorded: `/video` and `/on-demand`.
    public static let video = PlatformRoutes(rawValue: 1 << 6)
    /// All routes.
    public static let all: PlatformRoutes = [.media, .management, .pages, .dashboard, .timelines, .health, .video]

    private static let paths: [(routes: PlatformRoutes, paths: [RouterPath])] = [
        (.media, ["/whip", "/whip/**", "/whep", "/whep/**"]),
        (.management, ["/pcast/**", "/telemetry/**"]),
        (
            .pages,
            [
                "/publish", "/watch", "/watch/**", "/channel", "/channel/**", "/overlay", "/overlay/**", "/assets/**",
                "/pcast.mjs", "/bridge.js",
            ]
        ),
        (.dashboard, ["/", "/administration", "/dashboard/**"]),
        (.timelines, ["/timeline/**"]),
        (.health, ["/healthz", "/metrics"]),
        (.video, ["/video/**", "/on-demand/**"]),
    ]

    /// The paths of the routes.
    var paths: [RouterPath] { Self.paths.filter { contains($0.routes) }.flatMap(\.paths) }
}

/// The server of a host on which a platform is mounted, as parameters of Hummingbird's `Application`.
public struct PlatformServer: Sendable {
    /// The builder of the server. It accepts WebSockets at the paths of the platform, and limits connections as the
    /// platform's own port does.
    public let builder: HTTPServerBuilder
    private let port: HostPort

    init(builder: HTTPServerBuilder, port: HostPort) {
        self.builder = builder
        self.port = port
    }

    /// Reports the port of the host's server to the platform. Pass this function as `onServerRunning`.
    @Sendable public func didStart(on channel: any Channel) async {
        if let number = channel.localAddress?.port { port.listens(at: number) }
    }
}

/// A port of a host, which the platform receives when the host's server listens.
final class HostPort: Sendable {
    private let state = Mutex<(port: Int?, reader: AsyncStream<Int>.Continuation?)>((nil, nil))

    /// The current port; nil before the server listens.
    var current: Int? { state.withLock { $0.port } }

    func listens(at port: Int) {
        state.withLock { state in
            state.port = port
            _ = state.reader?.yield(port)
        }
    }

    /// Returns the current port and each later one, for one reader at a time.
    func ports() -> AsyncStream<Int> {
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
        state.withLock { state in
            state.reader = continuation
            if let port = state.port { continuation.yield(port) }
        }
        return ports
    }
}

/// The connection between a platform and the application of its host, which may exist before the platform runs.
final class HostApplication: Sendable {
    /// The parts of a running platform that the host's server uses.
    struct Parts: Sendable {
        let responder: HostedResponder
        let connection: HostedConnection
        /// The connections with TLS and TURN; nil if they are not configured.
        let secureConnection: HostedConnection?
    }

    /// The components of the running platform; nil while it does not run.
    let components = Setting<PlatformComponents?>(nil)
    /// Nil while the platform does not run, and if its routes are not mounted.
    let parts = Setting<Parts?>(nil)
    /// Whether the routes are mounted, so that the platform opens no port for HTTP.
    let isMounted = Setting(false)
    let port = HostPort()
    let securePort = HostPort()

    /// Returns the response to a request that the host's router forwards.
    func respond(to request: Request, on channel: any Channel, _ context: some RequestContext) async throws -> Response
    {
        guard let parts = parts.value else {
            return Responses.refusal(
                APIError(.notReady, "The platform is starting or has stopped: retry in a moment."))
        }
        return try await parts.responder.respond(to: request, on: channel, logger: context.logger)
    }
}

extension Platform {
    /// Adds routes of the platform to the router of a host. The platform then opens no port for HTTP and TLS: the
    /// host's application must use ``server`` for WebSockets, and may use ``secureServer`` for TLS and TURN.
    ///
    /// Call it before the host's application is created and before the platform runs, with the router itself or a group
    /// without a path, because the platform's pages and responses contain absolute paths. Requests receive status 503
    /// until the platform runs.
    public func addRoutes<Context: ConnectionRequestContext>(
        to router: some RouterMethods<Context>, _ routes: PlatformRoutes = .all
    ) {
        host.isMounted.value = true
        for path in routes.paths {
            for method: HTTPRequest.Method in [.get, .head, .post, .put, .patch, .delete, .options, .trace] {
                router.on(path, method: method) { [host] request, context in
                    try await host.respond(to: request, on: context.channel, context)
                }
            }
        }
    }

    /// The server of a host without TLS.
    public var server: PlatformServer {
        PlatformServer(
            builder: HostedConnection.server(isSecure: false) { [host] in host.parts.value?.connection },
            port: host.port)
    }

    /// The server of a host with TLS and TURN. It uses the certificate of the configuration, whose `tlsPort` must not be
    /// nil. The host selects the port. Connections are closed until the platform runs.
    public var secureServer: PlatformServer {
        PlatformServer(
            builder: HostedConnection.server(isSecure: true) { [host] in host.parts.value?.secureConnection },
            port: host.securePort)
    }
}
