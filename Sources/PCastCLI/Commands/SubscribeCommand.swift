import ArgumentParser
import Glibc
import PCast

/// The command `pcast subscribe`.
struct SubscribeCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Watch a stream, measure it, take its picture, record it.",
        discussion: """
            Alone, it finds the platform that “pcast publish” or “pcast serve” started on this computer, and watches \
            its newest stream. For a platform elsewhere give --uri and --token.

            In a window or in the terminal, q ends it, m mutes and unmutes, s takes a picture, and f fills the display.
            """)

    @OptionGroup var configuration: ConfigurationOptions

    @Option(help: "The platform; without it, the one that the token names or that runs on this computer.")
    var uri: String?

    @Option(
        help: ArgumentHelp(
            "An EdgeAuth token; two where one authenticates and the other views.", valueName: "token"))
    var token: [String] = []

    @Option(
        help: ArgumentHelp("The stream, where the token leaves that open. (default: the newest)", valueName: "id"))
    var stream: String?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this long.", valueName: "duration"))
    var duration: DurationArgument?

    @Option(
        help: ArgumentHelp(
            "Where it is shown, and its sound heard: window, terminal, or null, which decodes and measures. "
                + "(default: null)", valueName: "place"))
    var render: RenderArgument?

    @Option(help: ArgumentHelp("Write the last picture at the end, as .png or .jpg.", valueName: "file"))
    var screenshot: String?

    @Option(
        help: ArgumentHelp("Record what arrives, without encoding it anew; ends with the stream.", valueName: "file"))
    var record: String?

    @Flag(help: "End with the stream, whatever the reason, rather than watch again when it has failed.")
    var noReconnect = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let plan = try plan(Settings(command: "subscribe", config: configuration.config))
        try await SubscribeRun(plan, Console(output)).run()
    }

    func plan(_ settings: Settings) throws -> SubscribePlan {
        let place = try settings.value("render", render) ?? .null
        if place == .terminal, output.json, isatty(STDOUT_FILENO) == 1 {
            throw CommandFailure(
                .unusableArguments,
                "--render terminal and --json would write over each other here: send standard output elsewhere.")
        }
        let recording = try settings.value("record", record)
        let plan = SubscribePlan(
            uri: try settings.value("uri", uri), tokens: try settings.values("token", token),
            stream: try settings.value("stream", stream), duration: try settings.value("for", duration)?.span,
            render: place,
            screenshot: try settings.value("screenshot", screenshot), recording: recording,
            noReconnect: try settings.flag("no-reconnect", noReconnect) || recording != nil)
        if let path = plan.screenshot, ![".png", ".jpg", ".jpeg"].contains(where: path.lowercased().hasSuffix) {
            throw CommandFailure(.unusableArguments, "--screenshot writes a .png, .jpg or .jpeg file.")
        }
        if let recording, !MediaWriter.endings.contains(where: recording.lowercased().hasSuffix) {
            let endings = MediaWriter.endings.joined(separator: ", ")
            throw CommandFailure(.unusableArguments, "--record writes a file that ends with one of \(endings).")
        }
        return plan
    }
}
