import ArgumentParser
import Dispatch
import Foundation
import PCastCore
import PCastIO
import PCastJSON
import PCastPlatform

/// The command `pcast serve`.
struct ServeCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the platform that publishers publish to and viewers watch from.",
        discussion: """
            Listening on loopback, it serves the people of this computer without tokens. On any other address \
            everyone needs a token of one of the applications (“pcast token create”).

            Without --application one is made up, and left in a file for your own programs on this computer: \
            “pcast subscribe” and “pcast streams” find it by themselves.

            With --data, applications, streams and their history, sessions and notifications outlast the platform. \
            Without it they are kept in memory, and gone when it ends.
            """)

    @OptionGroup var configuration: ConfigurationOptions

    @Option(
        help: ArgumentHelp(
            "Where to listen; port 0 takes a free one. (default: 127.0.0.1:8080)", valueName: "host:port"))
    var listen: ListenArgument?

    @Option(
        help: ArgumentHelp("The UDP and TCP port of all media; 0 takes a free one. (default: 8189)", valueName: "port"))
    var rtcPort: UInt16?

    @Option(
        help: ArgumentHelp(
            "Threads among which media is shared out, at most 64. (default: one for each processor)",
            valueName: "count"))
    var shards: Int?

    @Option(
        help: ArgumentHelp(
            "What candidates and links name instead of the listening address; may be repeated.", valueName: "address"))
    var advertise: [AddressArgument] = []

    @Option(
        help: ArgumentHelp(
            "A STUN server that is asked for our public address at the start; may be repeated.",
            valueName: "host:port"))
    var stun: [String] = []

    @Option(
        help: ArgumentHelp(
            "Serve everything by TLS on this port too, such as 443, and media for those who get no further.",
            discussion: "Where neither UDP nor the media port gets through, media goes there (TURN). 0: a free one.",
            valueName: "port"))
    var tlsPort: UInt16?

    @Option(
        help: ArgumentHelp(
            "The certificate of the TLS port with its chain, in PEM; without it one is made that browsers warn of.",
            valueName: "file"))
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("The key of --tls-certificate, in PEM.", valueName: "file"))
    var tlsKey: String?

    @Option(
        help: ArgumentHelp(
            "The host that clients are told for TURN. (default: the one that they have come by)", valueName: "host"))
    var turnHost: String?

    @OptionGroup var records: RecordOptions

    @OptionGroup var sessions: SessionOptions

    @OptionGroup var workers: WorkerOptions

    @OptionGroup var operation: OperationOptions

    @Option(help: ArgumentHelp("An application whose tokens count; may be repeated.", valueName: "id:secret"))
    var application: [ApplicationArgument] = []

    @OptionGroup var output: OutputOptions

    func run() async throws {
        // With few arenas, clients that join and leave cause less fragmentation. The media threads do not allocate.
        MallocTuning.limitArenas(to: ProcessInfo.processInfo.activeProcessorCount)
        let console = Console(output)
        let settings = try Settings(command: "serve", config: configuration.config)
        let applications = try settings.values("application", application)
        console.threshold.change(to: try operation.level(settings))
        let running = try await RunningPlatform.start(try platformConfiguration(settings), console)
        defer { console.finish() }
        let uri = running.listening.uri
        // A generated application is not known to the user, whether it was generated now or when the database was
        // created.
        let known = running.listening.applications.first
        let file = applications.isEmpty ? try known.map { try leaveCredentials(uri, $0) } : nil
        defer { file?.remove(ifOf: getpid()) }
        announce(uri, running.listening, console)
        let reloading = Reloading(path: settings.path, console) { try await reload(running, console) }
        try await serve(running, console)
        reloading.stop()
    }

    private func platformConfiguration(_ settings: Settings) throws -> PlatformConfiguration {
        let place = try settings.value("listen", listen) ?? .standard
        var configuration = PlatformConfiguration(
            host: place.host, port: Int(place.port),
            rtcPort: try settings.value("rtc-port", rtcPort) ?? PlatformConfiguration.defaultRTCPort,
            advertise: try settings.values("advertise", advertise).map(\.address),
            stunServers: try settings.values("stun", stun).flatMap(NameResolution.resolve),
            applications: try settings.values("application", application).map(\.platformApplication),
            tlsPort: try settings.value("tls-port", tlsPort).map(Int.init),
            tlsCertificate: try settings.value("tls-certificate", tlsCertificate),
            tlsKey: try settings.value("tls-key", tlsKey), turnHost: try settings.value("turn-host", turnHost),
            records: try records.keeping(settings))
        let hasFiles = configuration.tlsCertificate != nil || configuration.tlsKey != nil
        guard configuration.tlsPort != nil || !hasFiles else {
            throw CommandFailure(
                .unusableArguments,
                "--tls-certificate and --tls-key are for the port that speaks TLS: give --tls-port as well.")
        }
        configuration.shards = try shardCount(settings)
        try sessions.apply(settings, to: &configuration)
        configuration.workers = try workers.configuration(settings)
        try operation.complete(&configuration, settings)
        return configuration
    }

    private func shardCount(_ settings: Settings) throws -> Int {
        let most = PlatformConfiguration.maximumShards
        guard let count = try settings.value("shards", shards) else {
            return min(ProcessInfo.processInfo.activeProcessorCount, most)
        }
        guard (1...most).contains(count) else {
            throw CommandFailure(.unusableArguments, "--shards is from 1 to \(most).")
        }
        return count
    }

    /// Applies the current configuration file. The environment and the command line still have precedence.
    private func reload(_ running: RunningPlatform, _ console: Console) async throws {
        let settings = try Settings(command: "serve", config: configuration.config)
        let level = try operation.level(settings)
        let changes = try await running.apply(try platformConfiguration(settings))
        console.threshold.change(to: level)
        let restart = changes.needRestart.map(\.rawValue)
        console.event(
            "reloaded",
            [
                "changed": .array(changes.applied.map { .string($0.rawValue) }),
                "needRestart": .array(restart.map { .string($0) }),
            ])
        console.say("The configuration was read again.")
        guard !restart.isEmpty else { return }
        console.say("These stay as they are until a restart: \(restart.joined(separator: ", ")).")
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
            ])
        console.say("The platform listens at \(uri), media on port \(listening.rtcPort) (UDP and TCP).")
        if let tlsPort = listening.tlsPort {
            console.say("By TLS, for networks that let nothing else through, everything is on port \(tlsPort).")
        }
        if listening.allowsAnonymousLoopback {
            console.say("Everyone on this computer may publish and watch: \(uri)/publish")
        } else {
            let names = listening.applications.map(\.id.description).joined(separator: ", ")
            console.say("Publishers and viewers need a token of \(names).")
        }
        console.say("Ctrl-C ends it.")
    }

    /// The time in seconds beyond the drain time after which stopping is aborted.
    private static let overtime = 5.0

    private func serve(_ running: RunningPlatform, _ console: Console) async throws {
        let task = Task { try await running.waitForEnd() }
        let interruption = Interruption {
            task.cancel()
            // A disk that does not respond must not keep the process running.
            DispatchQueue.global().asyncAfter(deadline: .now() + running.drainTime.seconds + Self.overtime) {
                console.say("The end took too long, and was cut short.")
                _exit(ExitStatus.failed.rawValue)
            }
        }
        let result = await task.result
        if interruption.hasCome {
            console.event("ended", ["reason": .string("ended"), "description": .string("interrupted")])
            console.say("Ended: every stream was told.")
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
