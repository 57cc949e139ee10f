import ArgumentParser
import PCast
import PCastCore
import PCastEdgeAuth

/// The command `pcast push`.
struct PushCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Have a platform push a stream to an address.",
        discussion: """
            The platform connects to the address itself: srt, rtmp, rtmps or rtsp, where it may reach it (“pcast serve \
            --media-allow”). The stream's pictures must be H.264. A token is one for streaming and needs the capability \
            egress.
            """)

    @Argument(help: ArgumentHelp("The stream's id.", valueName: "stream"))
    var stream: String

    @Argument(help: ArgumentHelp("Where it is pushed to.", valueName: "address"))
    var address: String

    @OptionGroup var platform: PlatformOptions

    @OptionGroup var output: OutputOptions

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
