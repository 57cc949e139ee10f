import ArgumentParser
import Dispatch
import Foundation
import PCastCodecs
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastJSON
import PCastPlatform
import PCastWeb

/// The command `pcast serve`.
struct ServeCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the platform that publishers and subscribers connect to.",
        discussion: """
            On a loopback address, programs of this host need no tokens. On any other address, every client needs a \
            token of one of the applications (see “pcast token create”).

            Without --application, one is generated and written to a file that only this user can read. “pcast \
            subscribe” and “pcast streams” of the same user find it automatically.

            With --data, applications, streams, sessions and notifications are persistent. Without it, they are kept in \
            memory.

            SIGHUP and a change of the configuration file reload the configuration.

            A service manager such as systemd is notified of the start, of reloads and of the end, and its watchdog of \
            the platform's responses (sd_notify).

            Examples:
              pcast serve
              pcast serve --listen 0.0.0.0:8080 --advertise 203.0.113.5 \\
                --data /var/lib/pcast --application app:secret
            """)

    @OptionGroup(title: "Configuration") var configuration: ConfigurationOptions

    @OptionGroup(title: "Network") var network: ServeNetworkOptions

    @OptionGroup(title: "TLS and TURN") var tls: ServeTLSOptions

    @OptionGroup(title: "RTMP") var rtmp: ServeRTMPOptions
    @OptionGroup(title: "SRT") var srt: ServeSRTOptions

    @OptionGroup(title: "Authentication") var authentication: ServeApplicationOptions

    @OptionGroup(title: "Storage and webhooks") var records: RecordOptions

    @OptionGroup(title: "Sessions") var sessions: SessionOptions

    @OptionGroup(title: "Ingest and egress") var workers: WorkerOptions

    @OptionGroup(title: "HLS") var hls: ServeHLSOptions
    @OptionGroup(title: "Renditions") var renditions: ServeRenditionOptions

    @OptionGroup(title: "Recordings") var recording: ServeRecordingOptions

    @OptionGroup(title: "Cluster") var cluster: ServeClusterOptions
    @OptionGroup(title: "Edges") var edges: ServeEdgeOptions

    @OptionGroup(title: "Operation") var operation: OperationOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        // With few arenas, clients that join and leave cause less fragmentation. The media threads do not allocate.
        MallocTuning.limitArenas(to: ProcessInfo.processInfo.activeProcessorCount)
        let console = Console(output)
        let notifier = try ServiceNotifier(console)
        defer { notifier.finish() }
        let settings = try Settings(command: "serve", config: configuration.config)
        let applications = try settings.values("application", authentication.application)
        console.apply(try output.verbosity(settings))
        let running = try await RunningPlatform.start(try platformConfiguration(settings), console)
        defer { console.finish() }
        let uri = running.listening.uri
        // A generated application is not known to the user, whether it was generated now or when the database was
        // created.
        let known = running.listening.applications.first
        let file = applications.isEmpty ? try known.map { try leaveCredentials(uri, $0) } : nil
        defer { file?.remove(ifOf: getpid()) }
        // Signals are handled before the platform is announced, so that whoever reads that may reload or stop it at once.
        let ending = Task { try await running.waitForEnd() }
        let interruption = handleInterruption(of: ending, running, console, notifier)
        let reloading = ConfigurationReloader(path: settings.path, console) {
            try await notifier.reload { try await reload(running, console) }
        }
        announce(uri, running.listening, console)
        notifier.didStart("Listening at \(uri).") { await running.isResponsive }
        let result = await ending.result
        try report(result, isInterrupted: interruption.hasCome, console)
        reloading.stop()
    }

    /// Returns the configuration. `resolve` returns the addresses of a STUN server.
    func platformConfiguration(
        _ settings: Settings, resolve: (String) -> [TransportAddress] = NameResolution.resolve
    ) throws -> PlatformConfiguration {
        let listenAddress = try settings.value("listen", network.listen) ?? .standard
        var configuration = PlatformConfiguration(
            host: listenAddress.host, port: Int(listenAddress.port),
            rtcPort: try settings.value("rtc-port", network.rtcPort) ?? PlatformConfiguration.defaultRTCPort,
            advertise: try settings.values("advertise", network.advertise).map(\.address),
            stunServers: try settings.values("stun", network.stun).flatMap(resolve),
            applications: try settings.values("application", authentication.application).map(\.platformApplication),
            tlsPort: try settings.value("tls-port", tls.tlsPort).map(Int.init),
            tlsCertificate: try settings.value("tls-certificate", tls.tlsCertificate),
            tlsKey: try settings.value("tls-key", tls.tlsKey),
            turnHost: try settings.value("turn-host", tls.turnHost),
            storage: try records.configuration(settings))
        configuration.administrator = try settings.value("administrator", authentication.administrator)
            .map { ApplicationID($0) }
        if let administrator = configuration.administrator, !configuration.applications.isEmpty,
            !configuration.applications.contains(where: { $0.id == administrator })
        {
            throw CommandFailure(
                .unusableArguments,
                "--administrator “\(administrator)” is not an application: give the ID of one of --application.")
        }
        configuration.acmeWebroot = try settings.value("acme-webroot", tls.acmeWebroot)
        configuration.tlsSelfSigned = try settings.flag("tls-self-signed", tls.tlsSelfSigned)
        let hasFiles = configuration.tlsCertificate != nil || configuration.tlsKey != nil
        try rtmp.apply(settings, to: &configuration.rtmp)
        try srt.apply(settings, to: &configuration.srt)
        guard configuration.tlsPort != nil || configuration.rtmp.tlsPort != nil || !hasFiles else {
            throw CommandFailure(
                .unusableArguments,
                "--tls-certificate and --tls-key require a TLS port: add --tls-port or --rtmps-port.")
        }
        guard !configuration.tlsSelfSigned || configuration.tlsPort != nil || configuration.rtmp.tlsPort != nil else {
            throw CommandFailure(
                .unusableArguments, "--tls-self-signed requires a TLS port: add --tls-port or --rtmps-port.")
        }
        guard !configuration.tlsSelfSigned || !hasFiles else {
            throw CommandFailure(
                .unusableArguments,
                "--tls-self-signed takes the place of --tls-certificate and --tls-key: leave them out.")
        }
        guard !configuration.tlsSelfSigned || configuration.storage.directory != nil else {
            throw CommandFailure(
                .unusableArguments, "--tls-self-signed keeps the certificate in the data directory: add --data.")
        }
        configuration.shards = try shardCount(settings)
        try sessions.apply(settings, to: &configuration)
        configuration.jobs = try workers.configuration(settings)
        try hls.apply(settings, to: &configuration.hls)
        try renditions.apply(settings, to: &configuration.renditions)
        if let streams = try renditions.secondCodecStreams(settings) { configuration.secondCodec = streams }
        try recording.apply(settings, to: &configuration.recording)
        let isRecording =
            configuration.recording.recordsEveryStream || configuration.recording.directory != nil
            || configuration.recording.upload != nil
        guard configuration.storage.directory != nil || !isRecording else {
            throw CommandFailure(
                .unusableArguments, "--record, --recordings and --s3-bucket need a database: add --data.")
        }
        configuration.streams = settings.streams
        configuration.slates = Bundle.main.executablePath.map {
            SlateConfiguration(program: $0, arguments: ["make-slate"])
        }
        try edges.apply(settings, to: &configuration.edges)
        configuration.cluster = try cluster.configuration(settings, secret: configuration.edges.secret)
        try operation.complete(&configuration, settings)
        return configuration
    }

    private func shardCount(_ settings: Settings) throws -> Int {
        let most = PlatformConfiguration.maximumShards
        guard let count = try settings.value("shards", network.shards) else {
            return min(ProcessInfo.processInfo.activeProcessorCount, most)
        }
        guard (1...most).contains(count) else {
            throw CommandFailure(.unusableArguments, "--shards \(count): the number must be 1 to \(most).")
        }
        return count
    }

    /// Applies the current configuration file. The environment and the command line still have precedence.
    private func reload(_ running: RunningPlatform, _ console: Console) async throws {
        let settings = try Settings(command: "serve", config: configuration.config)
        let verbosity = try output.verbosity(settings)
        let changes = try await running.apply(try platformConfiguration(settings))
        console.apply(verbosity)
        let restart = changes.needRestart.map(\.rawValue)
        console.event(
            "reloaded",
            [
                "changed": .array(changes.applied.map { .string($0.rawValue) }),
                "needRestart": .array(restart.map { .string($0) }),
            ])
        console.inform("The configuration was reloaded.")
        guard !restart.isEmpty else { return }
        console.warn("These changes take effect after a restart: \(restart.joined(separator: ", ")).")
    }

    private func leaveCredentials(
        _ uri: String, _ application: PlatformConfiguration.Application
    ) throws(CommandFailure) -> LocalCredentialsFile {
        let credentials = LocalCredentials(
            uri: uri, applicationId: application.id.description, secret: application.secret, pid: getpid())
        return try LocalCredentialsFile.write(credentials, in: .standard())
    }

    private func announce(
        _ uri: String, _ listening: PlatformListening, _ console: Console
    ) {
        console.event(
            "listening",
            [
                "uri": .string(uri), "rtcPort": .count(listening.rtcPort),
                "tlsPort": listening.tlsPort.map { .count($0) } ?? .null,
                "rtmpPort": listening.rtmp.port.map { .count($0) } ?? .null,
                "rtmpsPort": listening.rtmp.tlsPort.map { .count($0) } ?? .null,
                "srtPort": listening.srtPort.map { .count($0) } ?? .null,
                "tlsFingerprint": listening.tlsFingerprint.map { .string($0) } ?? .null,
            ])
        console.inform("Listening at \(uri), media on port \(listening.rtcPort) (UDP and TCP).")
        if let tlsPort = listening.tlsPort {
            console.inform("HTTPS and TURN are on port \(tlsPort).")
        }
        if let fingerprint = listening.tlsFingerprint {
            console.inform("The certificate is self-signed: browsers warn. Its SHA-256 fingerprint is \(fingerprint).")
        }
        let ports = [("RTMP", listening.rtmp.port), ("RTMPS", listening.rtmp.tlsPort), ("SRT", listening.srtPort)]
        for case (let name, let port?) in ports { console.inform("\(name) publishers connect to port \(port).") }
        if listening.allowsAnonymousLoopback {
            console.inform("Programs of this host can publish and watch without a token: \(uri)/publish")
        } else {
            let names = listening.applications.map(\.id.description).joined(separator: ", ")
            console.inform("Publishers and viewers need a token of the application \(names).")
        }
        console.inform("Press Ctrl-C to stop.")
    }

    /// The time in seconds beyond the drain time after which stopping is aborted.
    private static let abortDelay = 5.0

    /// Returns a handler of signals that stops the platform, and that ends the process if this takes too long.
    private func handleInterruption(
        of ending: Task<Void, any Error>, _ running: RunningPlatform, _ console: Console, _ notifier: ServiceNotifier
    ) -> InterruptHandler {
        InterruptHandler {
            notifier.willStop(within: running.drainTime + TimeSpan(seconds: Self.abortDelay))
            ending.cancel()
            // A disk that does not respond must not keep the process running.
            DispatchQueue.global().asyncAfter(deadline: .now() + running.drainTime.seconds + Self.abortDelay) {
                console.warn("Stopping took too long and was aborted.")
                _exit(ExitStatus.failed.rawValue)
            }
        }
    }

    /// Reports the end of the platform.
    private func report(_ result: Result<Void, any Error>, isInterrupted: Bool, _ console: Console) throws {
        if isInterrupted {
            console.event("ended", ["reason": .string("ended"), "description": .string("interrupted")])
            console.inform("Stopped.")
        } else if case .failure(let error) = result {
            console.event("ended", ["reason": .string("failed"), "description": .string("\(error)")])
            throw CommandFailure(.failed, describing: error, after: "The platform failed: ")
        }
    }
}

extension ApplicationArgument {
    var platformApplication: PlatformConfiguration.Application {
        PlatformConfiguration.Application(id: ApplicationID(id), secret: secret)
    }
}

/// The options of `pcast serve` for reconnecting clients.
struct SessionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Time after which a disconnected session ends with its streams. (default: 180s)",
            valueName: "duration"))
    var sessionTimeout: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "Time in which publishers can resume streams after the platform crashed. (default: 15s)",
            valueName: "duration"))
    var reconnectGrace: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "Time for which a disconnected member stays in its room. (default: 15s)", valueName: "duration"))
    var memberTimeout: DurationArgument?

    @Flag(help: "Create an unknown channel when a client joins it that may publish. (default: on loopback only)")
    var createRooms = false

    @Option(
        help: ArgumentHelp(
            "Time for which messages of rooms are kept, and stored with --data. (default: the newest 128, in memory)",
            valueName: "duration"))
    var conversationRetention: DurationArgument?

    func apply(_ settings: Settings, to configuration: inout PlatformConfiguration) throws {
        if let absence = try settings.value("session-timeout", sessionTimeout) {
            configuration.sessionTimeout = absence.span.duration
        }
        if let time = try settings.value("reconnect-grace", reconnectGrace) {
            configuration.reconnectGrace = time.span.duration
        }
        if let time = try settings.value("member-timeout", memberTimeout) {
            configuration.rooms.memberTimeout = time.span.duration
        }
        if try settings.flag("create-rooms", createRooms) { configuration.rooms.createsOnJoin = true }
        if let time = try settings.value("conversation-retention", conversationRetention) {
            configuration.rooms.conversationRetention = time.span.duration
        }
    }
}

/// The options of `pcast serve` for addresses and ports.
struct ServeNetworkOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "HTTP address to listen on; port 0 selects a free port. (default: 127.0.0.1:8080)", valueName: "host:port"))
    var listen: ListenArgument?

    @Option(
        help: ArgumentHelp("UDP and TCP port of all media; 0 selects a free port. (default: 8189)", valueName: "port"))
    var rtcPort: UInt16?

    @Option(
        help: ArgumentHelp("Number of media threads, at most 64. (default: one per processor)", valueName: "count"))
    var shards: Int?

    @Option(
        help: ArgumentHelp(
            "Address in ICE candidates and links instead of the listening address. Repeatable.", valueName: "address"))
    var advertise: [AddressArgument] = []

    @Option(
        help: ArgumentHelp(
            "STUN server that is queried for the public address, at startup and every 2 minutes. Repeatable.",
            valueName: "host:port"))
    var stun: [String] = []
}

/// The options of `pcast serve` for persistent data.
struct RecordOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Directory of persistent data; created if missing. (default: data is kept in memory)",
            valueName: "directory"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "File with the key that encrypts secrets: 32 bytes in Base64. (default: generated in --data)",
            valueName: "file"))
    var dataKey: String?

    @Option(
        help: ArgumentHelp(
            "Time that ended streams and their views are kept. (default: 720h)", valueName: "duration"))
    var retention: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "Network that webhooks may reach although it is not public, such as 10.0.0.0/8. Repeatable.",
            valueName: "network"))
    var webhookAllow: [NetworkArgument] = []

    func configuration(_ settings: Settings) throws -> StorageConfiguration {
        let directory = try settings.value("data", data)
        let keyFile = try settings.value("data-key", dataKey)
        guard directory != nil || keyFile == nil else {
            throw CommandFailure(.unusableArguments, "--data-key encrypts persistent data: add --data.")
        }
        return StorageConfiguration(
            directory: directory, keyFile: keyFile,
            retention: try settings.value("retention", retention)?.span.duration
                ?? StorageConfiguration.defaultRetention,
            webhookAllowedNetworks: try settings.values("webhook-allow", webhookAllow).map(\.network),
            fallback: RandomApplication.make(id: "local").platformApplication)
    }
}

/// The options of `pcast serve` for HLS.
struct ServeHLSOptions: ParsableArguments {
    @Flag(help: "Package every stream, also without the capability “streaming”.")
    var hls = false

    @Option(help: ArgumentHelp("Duration of parts, from 100ms to 1s. (default: 200ms)", valueName: "duration"))
    var hlsPart: DurationArgument?

    @Option(help: ArgumentHelp("Duration of segments, from 1s to 6s. (default: 2s)", valueName: "duration"))
    var hlsSegment: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "Duration in which viewers can rewind, from 10s to 24h. (default: 10m)", valueName: "duration"))
    var hlsWindow: DurationArgument?

    @Flag(help: "Keep that duration in memory, also with --data.")
    var hlsWindowInMemory = false

    @Option(
        help: ArgumentHelp(
            "Encrypt media with AES-128, with a new key after this number of segments, from 1 to 10000.",
            valueName: "segments"))
    var hlsEncryption: Int?

    func apply(_ settings: Settings, to configuration: inout HLSConfiguration) throws {
        configuration.packagesEveryStream = try settings.flag("hls", hls)
        configuration.thumbnails = Bundle.main.executablePath.map {
            ThumbnailConfiguration(program: $0, arguments: ["thumbnail"])
        }
        if let part = try settings.value("hls-part", hlsPart)?.span {
            guard HLSConfiguration.partDurations.contains(part.duration) else {
                throw CommandFailure(.unusableArguments, "--hls-part \(part): the duration must be 100ms to 1s.")
            }
            configuration.partDuration = part.duration
        }
        if let segment = try settings.value("hls-segment", hlsSegment)?.span {
            guard HLSConfiguration.segmentDurations.contains(segment.duration) else {
                throw CommandFailure(.unusableArguments, "--hls-segment \(segment): the duration must be 1s to 6s.")
            }
            configuration.segmentDuration = segment.duration
        }
        if let window = try settings.value("hls-window", hlsWindow)?.span {
            guard HLSConfiguration.windows.contains(window.duration) else {
                throw CommandFailure(.unusableArguments, "--hls-window \(window): the duration must be 10s to 24h.")
            }
            configuration.window = window.duration
        }
        configuration.keepsWindowInMemory = try settings.flag("hls-window-in-memory", hlsWindowInMemory)
        if let count = try settings.value("hls-encryption", hlsEncryption) {
            guard HLSConfiguration.keyPeriods.contains(count) else {
                throw CommandFailure(
                    .unusableArguments, "--hls-encryption \(count): the number of segments must be 1 to 10000.")
            }
            configuration.segmentsPerKey = count
        }
    }
}

/// The options of `pcast serve` for limits, proxies, metrics and stopping.
struct OperationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Limit of a number or rate, such as viewers=5000. Repeatable.",
            discussion: "The names and defaults are listed in configs/pcast.yaml.", valueName: "name=number"))
    var limit: [LimitArgument] = []

    @Option(
        help: ArgumentHelp(
            "Network of a reverse proxy whose forwarded client addresses are trusted, such as 10.0.0.0/8. Repeatable.",
            valueName: "network"))
    var trustedProxy: [NetworkArgument] = []

    @Option(
        help: ArgumentHelp(
            "Header with the client address: x-forwarded-for or forwarded. (default: x-forwarded-for)",
            valueName: "name"))
    var forwardedHeader: ProxyFieldArgument?

    @Option(
        help: ArgumentHelp(
            "Token for /metrics from other hosts, as bearer token or Basic password. (default: this host only)",
            valueName: "token"))
    var metricsToken: String?

    @Option(
        help: ArgumentHelp(
            "Public keys (JWK Set) of JSON Web Tokens: a file, or an https address. (default: none)",
            valueName: "file|uri"))
    var jwtKeys: String?

    @Option(help: ArgumentHelp("Issuer of JSON Web Tokens, the claim iss.", valueName: "text"))
    var jwtIssuer: String?

    @Option(help: ArgumentHelp("Audience of JSON Web Tokens, in the claim aud.", valueName: "text"))
    var jwtAudience: String?

    @Option(
        help: ArgumentHelp(
            "Collector of OpenTelemetry that receives spans by OTLP over HTTP, such as http://127.0.0.1:4318. (default: none)",
            valueName: "uri"))
    var otlpEndpoint: String?

    @Option(
        help: ArgumentHelp(
            "Origin that may embed the watch page, such as https://www.example.com. Repeatable. (default: any)",
            valueName: "source"))
    var frameAncestor: [String] = []

    @Option(
        help: ArgumentHelp(
            "Maximum time to notify clients and webhooks when stopping. (default: 10s)", valueName: "duration"))
    var drainTime: DurationArgument?

    func complete(_ configuration: inout PlatformConfiguration, _ settings: Settings) throws {
        for limit in try settings.values("limit", limit) { try limit.set(in: &configuration.limits) }
        configuration.trustedProxies = try settings.values("trusted-proxy", trustedProxy).map(\.network)
        configuration.forwardedHeader = try settings.value("forwarded-header", forwardedHeader)?.field ?? .forwardedFor
        configuration.metricsToken = try settings.value("metrics-token", metricsToken)
        configuration.tokenIssuer = try tokenIssuer(settings)
        configuration.otlpEndpoint = try settings.value("otlp-endpoint", otlpEndpoint)
        if let endpoint = configuration.otlpEndpoint {
            guard let address = try? WebAddress(endpoint), endpoint.hasPrefix("http"), !address.path.contains("?")
            else {
                throw CommandFailure(
                    .unusableArguments,
                    "--otlp-endpoint “\(endpoint)” is invalid: give the address of a collector such as http://127.0.0.1:4318."
                )
            }
        }
        configuration.frameAncestors = try settings.values("frame-ancestor", frameAncestor)
        for source in configuration.frameAncestors where !Self.isSource(source) {
            throw CommandFailure(
                .unusableArguments,
                "--frame-ancestor “\(source)” is invalid: give 'none', 'self' or an origin such as https://www.example.com."
            )
        }
        configuration.drainTime =
            try settings.value("drain-time", drainTime)?.span.duration ?? PlatformConfiguration.defaultDrainTime
    }

    /// Returns the issuer of JSON Web Tokens; nil for none.
    private func tokenIssuer(_ settings: Settings) throws -> TokenIssuerConfiguration? {
        let keys = try settings.value("jwt-keys", jwtKeys)
        let issuer = try settings.value("jwt-issuer", jwtIssuer)
        let audience = try settings.value("jwt-audience", jwtAudience)
        guard keys != nil || issuer != nil || audience != nil else { return nil }
        guard let keys, let issuer, let audience else {
            throw CommandFailure(
                .unusableArguments,
                "--jwt-keys, --jwt-issuer and --jwt-audience belong together: give all three or none.")
        }
        let configuration = TokenIssuerConfiguration(keys: keys, issuer: issuer, audience: audience)
        if let problem = configuration.problem {
            throw CommandFailure(.unusableArguments, "--jwt-keys cannot be used: \(problem).")
        }
        return configuration
    }

    /// Returns whether text is a valid source of a Content Security Policy: one word that does not end the directive.
    private static func isSource(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x3B && $0 != 0x2C }
    }
}
