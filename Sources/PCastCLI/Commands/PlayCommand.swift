import ArgumentParser
import Glibc
import PCastCore
import PCastPlayback

/// The command `pcast play`.
struct PlayCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "play",
        abstract: "Play files, HTTP Live Streaming and streams of platforms, one after another.",
        discussion: """
            Of an address that ends in .m3u8 the playlist is followed, live or not; pcast://HOST:PORT/STREAM, pcasts: with \
            TLS, and the link that “pcast publish” prints are streams of a platform, with #token=TOKEN behind them where \
            it is not on this computer; everything else is read as a file.

            In a window or in the terminal, space plays and pauses, left and right go back and on by ten seconds, up and \
            down change the volume, m mutes and unmutes, s takes a picture, f fills the display, and q ends it.
            """)

    @Argument(
        help: ArgumentHelp(
            "A file, or an address of http, https or pcast; several are played in turn.", valueName: "uri"))
    var uri: [String]

    @Option(
        help: ArgumentHelp(
            "Where it is shown, and its sound heard: window, terminal, or null, which decodes and keeps time. "
                + "(default: window where there is a display, else null)", valueName: "place"))
    var render: RenderArgument?

    @Option(
        help: ArgumentHelp(
            "Tell when playback passes a place of each item, as 90s or 90s=goal; may be repeated.", valueName: "cue"))
    var cue: [CueArgument] = []

    @Option(help: ArgumentHelp("Begin the first item here.", valueName: "duration"))
    var start: DurationArgument?

    @Option(help: ArgumentHelp("How fast, from 0.25 to 4, with the pitch kept.", valueName: "rate"))
    var speed = 1.0

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this long.", valueName: "duration"))
    var duration: DurationArgument?

    @Option(help: ArgumentHelp("Write the last picture at the end, as .png or .jpg.", valueName: "file"))
    var screenshot: String?

    @Option(
        help: ArgumentHelp(
            "Serve a web overlay that follows the player and steers it: of this programme's name, with pages of our own, or "
                + "of this folder's pages.", valueName: "program"))
    var overlay: String?

    @OptionGroup(title: "Timeline") var timeline: PlayTimelineOptions

    @Flag(help: "Begin again when the last item has been played.")
    var loop = false

    @Flag(help: "Without sound, until m is pressed.")
    var muted = false

    @OptionGroup var output: OutputOptions

    func validate() throws {
        if !PlayheadClock.rates.contains(speed) { throw ValidationError("--speed is 0.25 to 4.") }
        if let path = screenshot, ![".png", ".jpg", ".jpeg"].contains(where: path.lowercased().hasSuffix) {
            throw ValidationError("--screenshot writes a .png, .jpg or .jpeg file.")
        }
    }

    func run() async throws {
        let place = render ?? (Self.hasDisplay ? .window : .null)
        if place == .terminal, output.json, isatty(STDOUT_FILENO) == 1 {
            throw CommandFailure(
                .unusableArguments,
                "--render terminal and --json would write over each other here: send standard output elsewhere.")
        }
        // The overlay is checked before anything is opened.
        if let overlay { _ = try PlayOverlay.folder(overlay) }
        let plan = PlayPlan(
            addresses: uri, cuePoints: cue.map(\.cuePoint), render: place, start: start?.span, speed: speed,
            duration: duration?.span, screenshot: screenshot, isLooping: loop, isMuted: muted,
            overlay: overlay, timeline: try timeline.plan(), timelineStart: timeline.start)
        try await PlayRun(plan, Console(output)).run()
    }

    private static var hasDisplay: Bool { getenv("DISPLAY") != nil || getenv("WAYLAND_DISPLAY") != nil }
}
