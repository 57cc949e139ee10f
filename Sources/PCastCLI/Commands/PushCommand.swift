import ArgumentParser
import PCast
import PCastCore
import PCastEdgeAuth

/// The command `pcast push`.
struct PushCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Make a platform push a stream to a URI.",
        discussion: """
            The platform connects to the URI (srt, rtmp, rtmps or rtsp) if it may reach the address (“pcast serve \
            --media-allow”). The stream's video must be H.264. The token is for streaming and needs the capability \
            egress.

            Example:
              pcast push STREAM rtmp://live.example.com/app/key
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
