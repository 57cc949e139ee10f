import PCast
import PCastCodecs
import PCastCore
import PCastJSON
import PCastPlayback

/// A run of `pcast play`.
struct PlayRun: Sendable {
    let plan: PlayPlan
    private let console: Console
    private let end = PlayEnd()

    /// The distance of a seek with the arrow keys.
    private static let step = TimeSpan.seconds(10)
    private static let volumeStep = 0.1

    init(_ plan: PlayPlan, _ console: Console) {
        (self.plan, self.console) = (plan, console)
    }

    /// Plays until the end and reports its cause.
    ///
    /// - Throws: ``CommandFailure`` unless it ended as requested.
    func run() async throws {
        let end = end
        let interruption = InterruptHandler { end.end(.interrupted) }
        defer { withExtendedLifetime(interruption) {} }
        let showing = try await DisplayTarget.open(plan.render, title: Source(plan.addresses[0]).name)
        if showing?.coversTerminal == true { console.holdMessages() }
        let cause: PlayEnd.Cause
        do {
            defer {
                showing?.close()
                console.releaseMessages()
            }
            cause = try await play(at: showing)
        }
        console.finish()
        try reportCause(cause)
    }

    private func play(at showing: DisplayTarget?) async throws -> PlayEnd.Cause {
        let controls = showing.map { PlayerControls(on: $0.surface) }
        let player = Player(
            .media(
                playsAudio: showing != nil, shownOn: controls?.surface,
                configuration: HLSContent.Configuration(playoutDelay: plan.playoutDelay?.duration),
                subscribe: PlayStreams.subscribe))
        controls?.attach(player)
        defer { controls?.close() }
        (player.speed, player.loop, player.muted) = (plan.speed, plan.isLooping, plan.isMuted)
        let timeline = plan.timeline.map { PlayTimeline($0, of: player) }
        let overlay = try plan.overlay.map { try PlayOverlay($0, of: player, with: controls, timeline: timeline) }
        let background = try await openBackground(behind: player)
        let (events, positions) = (player.events(), player.positions())
        player.set(videos: plan.videos, play: true)
        if let start = plan.start { player.startSeek(to: start.duration) }
        if !console.isLive, showing == nil { console.inform("Press Ctrl-C to stop.") }
        let session = player.session
        return try await withThrowingTaskGroup { group in
            group.addTask { await follow(events, of: player) }
            group.addTask { await show(positions, of: player) }
            if let duration = plan.duration {
                group.addTask {
                    try? await Task.sleep(for: duration.duration)
                    if !Task.isCancelled { end.end(.elapsed) }
                }
            }
            if let showing { group.addTask { await handleKeys(player, by: showing) } }
            if let controls { group.addTask { await follow(controls) } }
            if let overlay { group.addTask { try await overlay.serve(console) } }
            if let timeline { group.addTask { try await timeline.follow(console) } }
            if let background { group.addTask { await keep(background) } }
            let cause = await end.wait()
            overlay?.end()
            timeline?.end()
            let last = player.displayedFrame ?? (player.session ?? session)?.lastFrame
            group.cancelAll()
            if let path = plan.screenshot { try write(last, to: path) }
            // The threads of playback have ended when the player has no session.
            player.reset()
            await player.settled()
            return cause
        }
    }

    // MARK: Background

    private func openBackground(behind player: Player) async throws -> RenderedPage? {
        guard let address = plan.background else { return nil }
        do throws(PageError) {
            return try await RenderedPage.open(
                address, behind: player, browser: plan.browser, isSandboxed: plan.isBackgroundSandboxed)
        } catch {
            if error == .needsUser { throw CommandFailure(.unusableArguments, "\(error).") }
            throw CommandFailure(.nothingToPlay, describing: error)
        }
    }

    /// Keeps the background until the run ends. If its browser ends before, the background is black.
    private func keep(_ page: RenderedPage) async {
        let reason = await withTaskCancellationHandler {
            await page.ended()
        } onCancel: {
            Task { await page.close() }
        }
        await page.close()
        if !Task.isCancelled { console.warn("The background is not rendered any more: \(reason).") }
    }

    // MARK: Keys

    private func handleKeys(_ player: Player, by showing: DisplayTarget) async {
        for await event in showing.surface.events {
            switch event {
            case .key(.character("q")), .key(.escape), .closed, .lost: end.end(.interrupted)
            case .key(.character(" ")): player.toggle()
            case .key(.left): seek(by: TimeSpan.zero - Self.step, player)
            case .key(.right): seek(by: Self.step, player)
            case .key(.up): player.volume += Self.volumeStep
            case .key(.down): player.volume -= Self.volumeStep
            case .key(.character("m")): player.muted.toggle()
            case .key(.character("f")): showing.toggleFullscreen()
            case .key(.character("s")):
                do {
                    try write(player.displayedFrame, to: ScreenshotName.free(at: SystemClock.now()))
                } catch {
                    console.warn("The screenshot failed: \(error).")
                }
            case .key, .clicked, .ready, .resized: break
            }
        }
    }

    /// Several seeks in quick succession add up, because the playhead is already at the target of a seek.
    private func seek(by step: TimeSpan, _ player: Player) {
        guard let playhead = player.playhead else { return }
        player.startSeek(to: playhead.position + step.duration)
    }

    private func write(_ frame: VideoFrame?, to path: String) throws {
        guard let frame else { return console.warn("There is no frame for a screenshot yet.") }
        try StillImage.write(frame, to: path)
        let size = frame.dimensions
        console.event(
            "screenshot", ["path": .string(path), "width": .count(size.width), "height": .count(size.height)])
        console.inform("Wrote the screenshot to \(path).")
    }

    // MARK: Reports

    private func follow(_ events: AsyncStream<PlayerEvent>, of player: Player) async {
        var audio: ContentTrack?
        for await event in events {
            if let line = PlayFields(event.kind) { console.event(line.name, line.fields) }
            switch event.kind {
            case .videoChanged(let video?): console.inform("Playing \(video.preferredSource?.name ?? "nothing").")
            case .error(let error): end.end(.failed(error))
            case .tracksChanged(let tracks, let selected):
                guard let wanted = track(in: plan.audioLanguage, among: tracks) else { break }
                guard selected.contains(wanted.id) else {
                    try? player.select(wanted.id, of: .audio)
                    break
                }
                guard audio != wanted else { break }
                audio = wanted
                console.event("audioTrack", ["name": .string(wanted.name), "language": .text(wanted.language)])
            case .playlistCompleted where !plan.isLooping: end.end(.completed)
            case .subtitleChanged(let text?): console.subtitle(text)
            default: break
            }
        }
    }

    /// Returns the audio track in a language, preferably of the same region; nil if there is none.
    private func track(in language: LanguageTag?, among tracks: [ContentTrack]) -> ContentTrack? {
        guard let language else { return nil }
        let audio = tracks.compactMap { track in
            track.kind == .audio ? track.language.flatMap { LanguageTag($0) }.map { (track, $0) } : nil
        }
        return (audio.first { $0.1 == language } ?? audio.first { $0.1.isSameLanguage(as: language) })?.0
    }

    private func follow(_ controls: PlayerControls) async {
        for await change in controls.changes { console.event("controls", ["controls": .string(change.rawValue)]) }
    }

    /// Reports the position once per second.
    private func show(_ positions: AsyncStream<Duration>, of player: Player) async {
        var reported: Int64?
        for await position in positions {
            let second = position.components.seconds
            guard second != reported else { continue }
            reported = second
            let (playhead, now) = (player.playhead, SystemClock.now())
            let duration = player.session?.duration
            console.event(
                "position",
                [
                    "position": .measured(position.seconds), "duration": .measured(duration?.seconds),
                    "buffered": .measured(player.bufferedPosition),
                    "timecode": .text(playhead?.timecode?.timestampText),
                    "latency": .measured(playhead?.timecode.map { $0.duration(to: now) }),
                ])
        }
    }

    private func reportCause(_ cause: PlayEnd.Cause) throws {
        switch cause {
        case .interrupted: reportEnd("interrupted")
        case .elapsed: reportEnd("elapsed")
        case .completed: reportEnd("completed")
        case .failed(let error):
            reportEnd("failed", "\(error)")
            throw CommandFailure(.of(error), describing: error)
        }
    }

    private func reportEnd(_ reason: String, _ description: String? = nil) {
        console.event("ended", ["reason": .string(reason), "description": .text(description)])
    }
}

/// The end of a `pcast play` run. Only the first cause is used.
final class PlayEnd: Sendable {
    enum Cause: Sendable {
        /// Ctrl-C, the key q, a closed window, or SIGTERM.
        case interrupted
        /// The requested duration has passed.
        case elapsed
        /// The last item was played to its end.
        case completed
        case failed(PlaybackError)
    }

    private let (causes, continuation) = AsyncStream.makeStream(of: Cause.self, bufferingPolicy: .bufferingOldest(1))

    func end(_ cause: Cause) { continuation.yield(cause) }

    /// Waits for the end and returns its cause. It must be called once.
    func wait() async -> Cause { await causes.first { _ in true } ?? .interrupted }
}

/// The options of a `pcast play` run.
struct PlayPlan: Sendable {
    var addresses: [String]
    /// The cue points of each item.
    var cuePoints: [CuePoint]
    var render: RenderArgument
    var start: TimeSpan?
    var speed: Double
    /// The time from capture at which frames of live HLS are displayed; nil for the least.
    var playoutDelay: TimeSpan?
    var duration: TimeSpan?
    var screenshot: String?
    var isLooping: Bool
    var isMuted: Bool
    /// The language of the audio track; nil for the default track.
    var audioLanguage: LanguageTag?
    /// The name of a program, or a folder with the pages of an overlay; nil for no overlay.
    var overlay: String?
    /// The address of the page around scaled video; nil for black.
    var background: String?
    /// The browser that renders the background.
    var browser = "chromium"
    var isBackgroundSandboxed = true
    var timeline: PlayTimeline.Plan?

    /// The capture time of the first frame of the first item; nil for the time in the media.
    var timelineStart: WallTime?

    var videos: [Video] {
        addresses.enumerated().map { index, address in
            Video(address, cuePoints: cuePoints, wallClock: index == 0 ? timelineStart.map { .start($0) } : nil)
        }
    }
}
