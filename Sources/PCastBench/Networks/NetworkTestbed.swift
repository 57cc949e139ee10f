import Foundation
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastTestSupport

/// A platform, a publisher of the test pattern and viewers, each in its own process; the impaired ones are in
/// namespaces of their own.
final class NetworkTestbed: Sendable {
    /// The peer whose link to the platform is impaired.
    enum ImpairedPeer: String, CaseIterable, Sendable { case viewer, publisher }

    struct Options: Sendable {
        var impairedPeer = ImpairedPeer.viewer
        /// The conditions of the impaired link.
        var conditions = LinkConditions.perfect
        var firewall = TunneledHost.Firewall.open
        /// The conditions of further hosts, each with its own link.
        var others: [LinkConditions] = []
        /// The capabilities in the publisher's token.
        var capabilities: [String] = []
        /// Further arguments of `pcast publish` and `pcast serve`.
        var publish: [String] = []
        var serve: [String] = []
        /// Whether the peer behind the impaired link connects by TLS to port 443.
        var usesTLS = false
        var seed: UInt64 = 1
    }

    static let webPort = 8_080
    static let uri = "http://\(TunneledNetwork.serverAddress):\(webPort)"
    static let secureURI = "https://\(TunneledNetwork.serverAddress)"

    let network: TunneledNetwork
    let platform: RecordedProcess
    private let application: (id: String, secret: String)
    private let options: Options
    private let certificate: TrustedCertificate?

    /// Creates the network and starts the platform; returns when the platform listens. Throws `BenchFailure` if either
    /// fails.
    init(_ options: Options) async throws {
        self.options = options
        let plans = ([options.conditions] + options.others).map { conditions in
            var plan = TunneledNetwork.Plan(conditions: NetworkConditions(conditions), firewall: options.firewall)
            plan.conditions.seed = options.seed
            return plan
        }
        certificate = options.usesTLS ? try TrustedCertificate(for: "\(TunneledNetwork.serverAddress)") : nil
        let secret = (0..<4).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
        application = (id: "bench", secret: secret)
        let address = "\(TunneledNetwork.serverAddress)"
        network = try TunneledNetwork(plans)
        do {
            platform = try RecordedProcess(
                ["serve", "--listen", "\(address):\(Self.webPort)", "--rtc-port", "8189", "--advertise", address]
                    + options.serve + (certificate?.serving ?? []),
                environment: ["PCAST_SERVE_APPLICATION": "bench:\(secret)"], in: network.server)
        } catch {
            network.stop()
            throw error
        }
        do {
            _ = try await platform.first("listening")
        } catch {
            stop()
            throw error
        }
    }

    /// The namespaces of publishers and of viewers.
    var publishersNamespace: NetworkNamespace { options.impairedPeer == .publisher ? network.hosts[0] : network.server }
    var viewersNamespace: NetworkNamespace { options.impairedPeer == .viewer ? network.hosts[0] : network.server }

    // MARK: Processes

    /// Starts a publisher of the test pattern; returns when it publishes. Throws `BenchFailure` if it does not.
    func publish() async throws -> (process: RecordedProcess, stream: StreamID) {
        let isSecure = options.impairedPeer == .publisher && certificate != nil
        let publisher = try RecordedProcess(
            [
                "publish", "--uri", isSecure ? Self.secureURI : Self.uri, "--video", "synthetic", "--audio",
                "synthetic", "--bitrate", "2M",
            ] + options.publish,
            environment: [
                "PCAST_PUBLISH_TOKEN": [try authenticationToken(), try publishingToken()].joined(separator: ",")
            ],
            in: publishersNamespace, trusting: certificate)
        do {
            guard let stream = try await publisher.first("publishing").text("streamId") else {
                throw BenchFailure("the publisher did not report its stream")
            }
            return (publisher, StreamID(stream))
        } catch {
            publisher.stop()
            throw error
        }
    }

    /// Starts a viewer in the viewers' namespace, or on the given host. Throws `BenchFailure` if it cannot be started.
    func view(_ stream: StreamID, from host: Int? = nil, _ arguments: [String] = []) throws -> RecordedProcess {
        let isSecure = options.impairedPeer == .viewer && certificate != nil
        return try RecordedProcess(
            ["subscribe", "--uri", isSecure ? Self.secureURI : Self.uri, "--render", "null"] + arguments,
            environment: [
                "PCAST_SUBSCRIBE_TOKEN": [try authenticationToken(), try viewingToken(stream)].joined(separator: ",")
            ], in: host.map { network.hosts[$0] } ?? viewersNamespace, trusting: certificate)
    }

    /// Starts `pcast-bench light-viewers` in the platform's namespace.
    func startLightViewers(_ stream: StreamID, count: Int) throws -> RecordedProcess {
        try RecordedProcess(
            [
                "light-viewers", "--uri", Self.uri, "--stream", "\(stream)", "--viewers", "\(count)", "--from",
                "\(TunneledNetwork.serverAddress):20000",
            ], of: "pcast-bench", environment: [LightViewersCommand.tokenVariable: try viewingToken(stream)],
            in: network.server)
    }

    func stop() {
        platform.stop()
        network.stop()
        certificate?.remove()
    }

    // MARK: Tokens

    private var builder: EdgeTokenBuilder {
        EdgeTokenBuilder().withApplicationId(application.id).withSecret(application.secret)
            .expiresIn(.seconds(3_600), from: MonotonicClock.wallTime())
    }

    private func authenticationToken() throws -> String { try builder.forAuthenticationOnly().build() }

    func publishingToken() throws -> String {
        try options.capabilities.reduce(builder.forPublishingOnly()) { $0.withCapability($1) }.build()
    }

    func viewingToken(_ stream: StreamID) throws -> String {
        try builder.forOriginStream(stream.description).forStreamingOnly().build()
    }
}

/// A self-signed certificate for an IP address that selected processes trust like one of the system's certificate
/// authorities.
final class TrustedCertificate: Sendable {
    private static let authorities = "/etc/ssl/certs/ca-certificates.crt"

    private let folder: String
    private var certificate: String { "\(folder)/certificate.pem" }
    private var key: String { "\(folder)/key.pem" }

    /// Creates a certificate with the program `openssl`. Throws `BenchFailure` if that fails or is not installed.
    init(for address: String) throws {
        folder = NSTemporaryDirectory() + "pcast-bench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try SystemProgram.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=\(address)", "-addext", "subjectAltName=IP:\(address)", "-keyout", key, "-out",
                certificate,
            ])
    }

    /// The arguments of `pcast serve` that enable TLS with the certificate.
    var serving: [String] { ["--tls-port", "443", "--tls-certificate", certificate, "--tls-key", key] }

    /// The words to put before a command. They mount the certificate over the system's certificate authorities in a
    /// mount namespace of that command only.
    var prefix: [String] {
        [
            "unshare", "--mount", "sh", "-c", "mount --bind \"$0\" \(Self.authorities) && exec \"$@\"", certificate,
        ]
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }
}
