import ArgumentParser
import Foundation
import PCastEdgeAuth
import PCastIO
import PCastMedia
import PCastPlatform

/// `pcast serve`
struct ServeCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the platform that publishers publish to and viewers watch from.",
        discussion: """
            Listening on loopback, it serves the people of this computer without tokens. On any other address \
            everyone needs a token of one of the applications (“pcast token create”).

            Without --application one is made up, and left in a file for your own programs on this computer: \
            “pcast subscribe” and “pcast streams” find it by themselves.
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
    var tlsName: String?

    @Option(help: ArgumentHelp("Where lasting things go; this version keeps none.", valueName: "directory"))
    var data: String?

    @Option(help: ArgumentHelp("An application whose tokens count; may be repeated.", valueName: "id:secret"))
    var application: [ApplicationArgument] = []

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let console = Console(output)
        let settings = try Settings(command: "serve", config: configuration.config)
        var applications = try settings.values("application", application)
        let isMadeUp = applications.isEmpty
        if isMadeUp { applications = [RandomApplication.make(id: "local")] }
        if let directory = try settings.value("data", data) { try prepare(directory, console) }
        let running = try await start(settings, applications, console)
        defer { console.finish() }
        let uri = running.listening.uri
        let file = isMadeUp ? try leaveCredentials(uri, applications[0]) : nil
        defer { file?.remove(ifOf: getpid()) }
        announce(uri, running.listening, applications, console)
        try await serve(running, console)
    }

    private func start(
        _ settings: Settings, _ applications: [ApplicationArgument], _ console: Console
    ) async throws -> RunningPlatform {
        let place = try settings.value("listen", listen) ?? .standard
        return try await RunningPlatform.start(
            PlatformConfiguration(
                host: place.host, port: Int(place.port),
                rtcPort: try settings.value("rtc-port", rtcPort) ?? PlatformConfiguration.defaultRTCPort,
                advertise: try settings.values("advertise", advertise).map(\.address),
                stunServers: try settings.values("stun", stun).flatMap(NameResolution.resolve),
                applications: applications.map(\.platformApplication),
                tlsPort: try settings.value("tls-port", tlsPort).map(Int.init),
                tlsCertificate: try settings.value("tls-certificate", tlsCertificate),
                tlsKey: try settings.value("tls-key", tlsKey), tlsName: try settings.value("tls-name", tlsName)),
            console)
    }

    private func prepare(_ directory: String, _ console: Console) throws {
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure(.unusableArguments, "The directory \(directory) cannot be made or entered.")
        }
        console.say("Nothing is kept in \(directory) yet: this version records no streams.")
    }

    private func leaveCredentials(
        _ uri: String, _ application: ApplicationArgument
    ) throws(CommandFailure) -> LocalCredentialsFile {
        let credentials = LocalCredentials(
            uri: uri, applicationId: application.id, secret: application.secret, pid: getpid())
        return try LocalCredentialsFile.write(credentials, in: .standard())
    }

    private func announce(
        _ uri: String, _ listening: PlatformListening, _ applications: [ApplicationArgument], _ console: Console
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
        if listening.isOpenToThisMachine {
            console.say("Everyone on this computer may publish and watch: \(uri)/publish")
        } else {
            console.say("Publishers and viewers need a token of \(applications.map(\.id).joined(separator: ", ")).")
        }
        console.say("Ctrl-C ends it.")
    }

    private func serve(_ running: RunningPlatform, _ console: Console) async throws {
        let task = Task { try await running.waitForEnd() }
        let interruption = Interruption { task.cancel() }
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
