import PCastEdgeAuth
import PCastIO
import PCastMedia
import PCastNetwork

/// A platform, a publisher of the test picture and viewers, each a process of its own in a network of its own.
final class NetworkScene: Sendable {
    /// Whose way to the platform is bad.
    enum Hop: String, CaseIterable, Sendable { case viewer, publisher }

    struct Options: Sendable {
        var hop = Hop.viewer
        /// What the bad way is like.
        var conditions = LinkConditions.perfect
        var firewall = TunneledHost.Firewall.open
        /// On hosts beside the first one, each behind its own link.
        var others: [LinkConditions] = []
        /// Beside what every row's have.
        var publish: [String] = []
        var serve: [String] = []
        /// Who is behind the bad link comes by TLS on port 443.
        var usesTLS = false
        var seed: UInt64 = 1
    }

    static let webPort = 8_080
    static let uri = "http://\(TunneledNetwork.serverAddress):\(webPort)"
    static let secureURI = "https://\(TunneledNetwork.serverAddress)"

    let network: TunneledNetwork
    let platform: RecordedProcess
    let publisher: RecordedProcess
    let streamID: StreamID
    private let application: (id: String, secret: String)
    private let options: Options
    private let certificate: TrustedCertificate?

    private init(
        _ options: Options, _ network: TunneledNetwork, _ application: (id: String, secret: String),
        _ platform: RecordedProcess, _ publisher: RecordedProcess, _ streamID: StreamID,
        _ certificate: TrustedCertificate?
    ) {
        self.certificate = certificate
        self.options = options
        self.network = network
        self.application = application
        self.platform = platform
        self.publisher = publisher
        self.streamID = streamID
    }

    /// Sets it up, and answers when the publisher is publishing.
    static func start(_ options: Options) async throws -> NetworkScene {
        let plans = ([options.conditions] + options.others).map { conditions in
            var plan = TunneledNetwork.Plan(conditions: NetworkConditions(conditions))
            plan.conditions.seed = options.seed
            return plan
        }
        let network = try TunneledNetwork(plans)
        network.change(0) { $0.firewall = options.firewall }
        var started: [RecordedProcess] = []
        let certificate = options.usesTLS ? try TrustedCertificate(for: "\(TunneledNetwork.serverAddress)") : nil
        do {
            let secret = (0..<4).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
            let application = (id: "bench", secret: secret)
            let address = "\(TunneledNetwork.serverAddress)"
            let platform = try RecordedProcess(
                ["serve", "--listen", "\(address):\(webPort)", "--rtc-port", "8189", "--advertise", address]
                    + options.serve + (certificate?.serving ?? []),
                environment: ["PCAST_SERVE_APPLICATION": "bench:\(secret)"], in: network.server)
            started.append(platform)
            _ = try await platform.first("listening")
            let publisher = try publish(application, options, network, certificate)
            started.append(publisher)
            guard let stream = try await publisher.first("publishing").text("streamId") else {
                throw BenchFailure("the publisher does not tell its stream")
            }
            return NetworkScene(options, network, application, platform, publisher, StreamID(stream), certificate)
        } catch {
            started.reversed().forEach { $0.stop() }
            network.stop()
            throw error
        }
    }

    private static func publish(
        _ application: (id: String, secret: String), _ options: Options, _ network: TunneledNetwork,
        _ certificate: TrustedCertificate?
    ) throws -> RecordedProcess {
        let tokens = [
            try builder(application).forAuthenticationOnly().build(),
            try builder(application).forPublishingOnly().build(),
        ]
        let isSecure = options.hop == .publisher && certificate != nil
        return try RecordedProcess(
            [
                "publish", "--uri", isSecure ? secureURI : uri, "--video", "synthetic", "--audio", "synthetic",
                "--bitrate", "2M",
            ]
                + options.publish,
            environment: ["PCAST_PUBLISH_TOKEN": tokens.joined(separator: ",")],
            in: options.hop == .publisher ? network.hosts[0] : network.server, trusting: certificate)
    }

    private static func builder(_ application: (id: String, secret: String)) -> EdgeTokenBuilder {
        EdgeTokenBuilder().withApplicationId(application.id).withSecret(application.secret)
            .expiresIn(.seconds(3_600), from: MonotonicClock.wallTime())
    }

    /// A further publisher where the first one is, when it publishes.
    func publishAnother() async throws -> RecordedProcess {
        let publisher = try Self.publish(application, options, network, certificate)
        do {
            _ = try await publisher.first("publishing")
            return publisher
        } catch {
            publisher.stop()
            throw error
        }
    }

    /// Starts a viewer of a further publisher.
    func viewAnother(_ publisher: RecordedProcess) async throws -> RecordedProcess {
        guard let stream = try await publisher.first("publishing").text("streamId") else {
            throw BenchFailure("the publisher does not tell its stream")
        }
        return try view(StreamID(stream))
    }

    /// Starts a viewer where viewers of this scene are.
    ///
    /// - Parameter host: another host than the first.
    func view(
        _ stream: StreamID? = nil, from host: Int? = nil, _ arguments: [String] = []
    ) throws -> RecordedProcess {
        let own = options.hop == .viewer ? network.hosts[0] : network.server
        let tokens = [
            try Self.builder(application).forAuthenticationOnly().build(),
            try Self.builder(application).forOriginStream((stream ?? streamID).description).forStreamingOnly().build(),
        ]
        let isSecure = options.hop == .viewer && certificate != nil
        return try RecordedProcess(
            ["subscribe", "--uri", isSecure ? Self.secureURI : Self.uri, "--render", "null"] + arguments,
            environment: ["PCAST_SUBSCRIBE_TOKEN": tokens.joined(separator: ",")],
            in: host.map { network.hosts[$0] } ?? own, trusting: certificate)
    }

    func stop() {
        publisher.stop()
        platform.stop()
        network.stop()
        certificate?.remove()
    }
}
