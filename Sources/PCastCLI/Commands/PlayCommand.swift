import ArgumentParser
import Glibc
import PCastCore
import PCastPlayback

/// The command `pcast play`.
struct PlayCommand: AsyncCommand {
    static let configuration = CommandConfiguration(
        commandName: "play",
        abstract: "Play files, HLS playlists and streams of platforms, one after another.",
        discussion: """
            A URI that ends in .m3u8 is an HLS playlist, live or on demand. pcast://HOST:PORT/STREAM (pcasts: with TLS) \
            and the link that “pcast publish” prints are streams of a platform; append #token=TOKEN if it requires one. \
            Everything else is read as a file.

            Keys in the window or terminal: space toggles playback, left and right seek by 10 s, up and down change the \
            volume, m toggles the audio, s takes a screenshot, f toggles full screen, q stops.

            Examples:
              pcast play film.mp4 --start 90s --speed 1.5
              pcast play https://live.example.com/index.m3u8 --overlay program \\
                --timeline NHL/2354717
            """)

    /// The options for playback.
    struct PlaybackOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "Output of video and audio; null only decodes. (default: window if there is a display, otherwise null)",
                valueName: "output"))
        var render: RenderArgument?

        @Option(help: ArgumentHelp("Start position in the first item.", valueName: "duration"))
        var start: DurationArgument?

        @Option(help: ArgumentHelp("Playback speed, 0.25 to 4, at the same pitch.", valueName: "rate"))
        var speed = 1.0

        @Option(
            help: ArgumentHelp(
                "Show frames of live HLS this long after their capture, as all players with this delay do, such as 3s.",
                valueName: "duration"))
        var playoutDelay: DurationArgument?

        @Option(
            help: ArgumentHelp(
                "Play the audio track in this language, such as de or pt-BR, if there is one.", valueName: "language"))
        var audioLanguage: String?

        @Flag(help: "Start again after the last item.")
        var loop = false

        @Flag(help: "Start without audio. Press m to turn it on.")
        var muted = false

        @Option(
            help: ArgumentHelp(
                "Report when playback passes a position, such as 90s or 90s=goal. Repeatable.", valueName: "cue"))
        var cue: [CueArgument] = []

        @Option(help: ArgumentHelp("Write the last frame at the end, as .png or .jpg.", valueName: "file"))
        var screenshot: String?

        @Option(
            name: .customLong("for"),
            help: ArgumentHelp("Stop after this duration, such as 90s or 10m.", valueName: "duration"))
        var duration: DurationArgument?
    }

    /// The option for the overlay.
    struct OverlayOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "Serve an overlay: the pages of this directory, or the example page for a program with this name.",
                valueName: "name-or-directory"))
        var overlay: String?

        @Option(
            help: ArgumentHelp(
                "Web page that is seen around the video while an overlay scales it down.", valueName: "address"))
        var background: String?

        @Option(help: ArgumentHelp("Chromium program that renders the background.", valueName: "program"))
        var browser = "chromium"

        @Flag(help: "Disable the browser's sandbox, as root requires. A malicious page then has this user's rights.")
        var backgroundWithoutSandbox = false
    }

    @Argument(
        help: ArgumentHelp(
            "File, or URI of http, https or pcast. Several are played in order.", valueName: "uri"))
    var uri: [String]

    @OptionGroup(title: "Playback") var playback: PlaybackOptions

    @OptionGroup(title: "Overlay") var overlays: OverlayOptions

    @OptionGroup(title: "Timeline") var timeline: PlayTimelineOptions

    @OptionGroup(title: "Output") var output: OutputOptions

    func validate() throws {
        if !PlayheadClock.rates.contains(playback.speed) {
            throw ValidationError("--speed \(playback.speed): the speed must be 0.25 to 4.")
        }
        if let error = playback.playoutDelay.flatMap(PlayoutDelayRule.violation) { throw ValidationError(error) }
        if let language = playback.audioLanguage, LanguageTag(language) == nil {
            throw ValidationError("--audio-language \(language): the language must be a tag such as de or pt-BR.")
        }
        if let path = playback.screenshot, ![".png", ".jpg", ".jpeg"].contains(where: path.lowercased().hasSuffix) {
            throw ValidationError("--screenshot \(path): the file name must end in .png, .jpg or .jpeg.")
        }
    }

    func run() async throws {
        let target = playback.render ?? (Self.hasDisplay ? .window : .null)
        if target == .terminal, output.json, isatty(STDOUT_FILENO) == 1 {
            throw CommandFailure.terminalAndJSON
        }
        // The overlay is checked before anything is opened.
        if let overlay = overlays.overlay { _ = try PlayOverlay.folder(overlay) }
        let plan = PlayPlan(
            addresses: uri, cuePoints: playback.cue.map(\.cuePoint), render: target, start: playback.start?.span,
            speed: playback.speed, playoutDelay: playback.playoutDelay?.span, duration: playback.duration?.span,
            screenshot: playback.screenshot,
            isLooping: playback.loop, isMuted: playback.muted,
            audioLanguage: playback.audioLanguage.flatMap { LanguageTag($0) }, overlay: overlays.overlay,
            background: overlays.background, browser: overlays.browser,
            isBackgroundSandboxed: !overlays.backgroundWithoutSandbox,
            timeline: try timeline.plan(), timelineStart: timeline.start)
        try await PlayRun(plan, Console(output)).run()
    }

    private static var hasDisplay: Bool { getenv("DISPLAY") != nil || getenv("WAYLAND_DISPLAY") != nil }
}
