import ArgumentParser
import Foundation
import PCast
import PCastCore
import PCastEdgeAuth
import PCastIO

/// The command `pcast worker`, which a platform starts for an ingest or egress job.
struct WorkerCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "worker",
        abstract: "Process one ingest or egress job of a platform, which starts this command.",
        discussion:
            "It reads the job from standard input and reports to standard output. It ends when either is closed.",
        shouldDisplay: false)

    func run() async throws {
        guard let line = readLine(), let order = IngestJob(line: line) else {
            throw CommandFailure(
                .unusableArguments, "There is no job on standard input: workers are started by “pcast serve”.")
        }
        // The platform holds the other end of standard input while it runs. This process must end with it, even if the
        // platform crashes.
        let watch = Thread {
            while readLine() != nil {}
            _exit(0)
        }
        watch.start()
        if order.guardAddress == nil, let hold = JobSandbox.Restriction.available(for: order) {
            let guarded = JobSandbox(order, hold) { StandardOutput.write($0) }
            await guarded?.run(
                Bundle.main.executablePath, ["worker"], environment: ProcessInfo.processInfo.environment)
            return
        }
        await StreamJob(order) { report in
            StandardOutput.write(report.line)
        }.run()
    }
}

/// The command `pcast pull`.
struct PullCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "pull",
        abstract: "Make a platform pull a stream from a URI, or receive it from an encoder.",
        discussion: """
            The platform opens the URI (http, https, whep, wheps, rtsp, srt, rtmp or rtmps) if it may reach the address \
            (“pcast serve --media-allow”). With srt://0.0.0.0:9000?mode=listener, it waits for an encoder on a port that “pcast serve \
            --srt-pull-ports” allows. The token needs the capability publish-uri.

            Examples:
              pcast pull https://live.example.com/index.m3u8 --tag channel-1
              pcast pull "srt://0.0.0.0:9000?mode=listener" --detached
            """)

    /// The options for the published stream.
    struct StreamOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Tag of the stream. Repeatable.", valueName: "tag"))
        var tag: [String] = []

        @Option(help: ArgumentHelp("Maximum frame rate.", valueName: "count"))
        var maximumFps: Int?

        @Option(help: ArgumentHelp("Skip this duration at the beginning of the source.", valueName: "duration"))
        var skip: DurationArgument?

        @Flag(help: "Exit after the start. The stream continues until its source ends.")
        var detached = false
    }

    @Argument(help: ArgumentHelp("URI to pull from or to listen on.", valueName: "address"))
    var address: String

    @OptionGroup(title: "Connection") var platform: PlatformOptions

    @OptionGroup(title: "Stream") var stream: StreamOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let run = RemoteRun(
            role: .viewer, uri: platform.uri, tokens: platform.token, duration: platform.duration?.span,
            isDetached: stream.detached, console: Console(output))
        let options = ConnectOptions(
            maximumFrameRate: stream.maximumFps.map(Double.init), prerollSkip: stream.skip?.span.duration ?? .zero,
            isDetached: stream.detached)
        try await run.run { application throws(EdgeAuthError) in
            try application.publishing(capabilities: ["publish-uri"])
        } begin: { pcast, token throws(PCastError) in
            try await pcast.publishFromUri(streamToken: token, uri: address, tags: stream.tag, connectOptions: options)
        }
    }
}

/// The command `pcast push`.
struct PushCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Make a platform push a stream to a URI.",
        discussion: """
            The platform connects to the URI (srt, rtmp, rtmps, rtsp, or whip or whips for WHIP) if it may reach the \
            address (“pcast serve --media-allow”). Except for WHIP, the stream's video must be H.264. The token is for \
            streaming and needs the capability egress.

            Examples:
              pcast push STREAM rtmp://live.example.com/app/key
              pcast push STREAM whips://TOKEN@live.example.com/whip/endpoint
            """)

    @Argument(help: ArgumentHelp("ID of the stream.", valueName: "stream"))
    var stream: String

    @Argument(help: ArgumentHelp("URI to push to.", valueName: "address"))
    var address: String

    @OptionGroup(title: "Connection") var platform: PlatformOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        let run = RemoteRun(
            role: .viewer, uri: platform.uri, tokens: platform.token, duration: platform.duration?.span,
            isDetached: false, console: Console(output))
        try await run.run { application throws(EdgeAuthError) in
            try application.viewing(stream: stream, capabilities: ["egress"])
        } begin: { pcast, token throws(PCastError) in
            try await pcast.egress(streamToken: token, streamID: StreamID(stream), uri: address)
        }
    }
}
