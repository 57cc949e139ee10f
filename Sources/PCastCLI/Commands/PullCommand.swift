import ArgumentParser
import PCast
import PCastCore
import PCastEdgeAuth

/// The command `pcast pull`.
struct PullCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "pull",
        abstract: "Make a platform pull a stream from a URI, or receive it from an encoder.",
        discussion: """
            The platform opens the URI (http, https, rtsp, srt, rtmp or rtmps) if it may reach the address (“pcast serve \
            --media-allow”). With srt://0.0.0.0:9000?mode=listener, it waits for an encoder on a port that “pcast serve \
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
            maximumFrameRate: stream.maximumFps.map(Double.init), prerollSkip: stream.skip?.span ?? .zero,
            isDetached: stream.detached)
        try await run.run { application throws(EdgeAuthError) in
            try application.publishing(capabilities: ["publish-uri"])
        } begin: { pcast, token throws(PCastError) in
            try await pcast.publishFromUri(streamToken: token, uri: address, tags: stream.tag, connectOptions: options)
        }
    }
}
