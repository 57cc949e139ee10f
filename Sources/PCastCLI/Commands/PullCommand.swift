import ArgumentParser
import PCast
import PCastCore
import PCastEdgeAuth

/// The command `pcast pull`.
struct PullCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "pull",
        abstract: "Have a platform publish what an address holds, or what an encoder pushes to it.",
        discussion: """
            The platform opens the address itself: http, https, rtsp, srt, rtmp or rtmps, where it may reach it (“pcast \
            serve --media-allow”). srt://0.0.0.0:9000?mode=listener listens for an encoder on a port that “pcast serve \
            --srt-pull-ports” allows. A token needs the capability publish-uri.
            """)

    @Argument(help: ArgumentHelp("What is pulled, or listened on.", valueName: "address"))
    var address: String

    @OptionGroup var platform: PlatformOptions

    @Option(help: ArgumentHelp("A tag of the stream; may be repeated.", valueName: "tag"))
    var tag: [String] = []

    @Option(help: ArgumentHelp("Pictures a second at most.", valueName: "count"))
    var maximumFps: Int?

    @Option(help: ArgumentHelp("How much of the beginning is left out.", valueName: "duration"))
    var skip: DurationArgument?

    @Flag(help: "The stream goes on when this command ends, until its source does.")
    var detached = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let run = RemoteRun(
            role: .viewer, uri: platform.uri, tokens: platform.token, duration: platform.duration?.span,
            isDetached: detached, console: Console(output))
        let options = ConnectOptions(
            maximumFrameRate: maximumFps.map(Double.init), prerollSkip: skip?.span ?? .zero, isDetached: detached)
        try await run.run { application throws(EdgeAuthError) in
            try application.publishing(capabilities: ["publish-uri"])
        } begin: { pcast, token throws(PCastError) in
            try await pcast.publishFromUri(streamToken: token, uri: address, tags: tag, connectOptions: options)
        }
    }
}
