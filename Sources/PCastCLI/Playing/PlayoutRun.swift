import PCast
import PCastCore
import PCastJSON
import PCastOverlay
import PCastPlayback

/// A run of `pcast playout`: a channel, including the platform that it may start.
struct PlayoutRun: Sendable {
    let plan: PlayoutPlan
    private let client: ClientRun

    /// The delay before a page is opened again after a crash.
    private static let pageReopenDelay = Duration.seconds(1)

    private var console: Console { client.console }

    init(_ plan: PlayoutPlan, _ console: Console) {
        self.plan = plan
        client = ClientRun(as: .publisher, console)
    }

    /// Plays and publishes until the end, and reports its cause.
    ///
    /// - Throws: ``CommandFailure`` unless it ended as requested.
    func run() async throws { try await client.publish(plan.publication, broadcast) }

    private func broadcast(by pcast: PCast, to target: PublishTarget) async throws -> RunEnd.Cause {
        let capture = PlaybackCapture(frameRate: Double(plan.frameRate))
        let player = Player(.media(playsAudio: false, capturedBy: capture, subscribe: PlayStreams.subscribe))
        player.loop = plan.isLooping
        let timeline = plan.timeline.map { PlayTimeline($0, of: player) }
        let overlay = try makeOverlay(of: player, timeline)
        defer {
            timeline?.end()
            overlay?.destroy()
        }
        // The page may send messages before anything is published.
        let messages = overlay?.messages()
        // The page is opened first, so that an error is reported before anything is published.
        let page = try await openPage(over: capture, overlay)
        let publishing = try await client.begin(capture.mediaStream, by: pcast, at: target, plan.publication)
        let events = player.events()
        player.set(videos: plan.videos, play: true)
        return await withTaskGroup { group in
            group.addTask { await client.reportPublication(publishing, of: nil, at: target, plan.publication) }
            group.addTask { await client.elapse(plan.publication.duration) }
            group.addTask { await follow(events, of: player) }
            if let page { group.addTask { await keep(page, over: capture, overlay) } }
            if let messages { group.addTask { await follow(messages) } }
            // The end of the timeline does not end the channel.
            if let timeline { group.addTask { try? await timeline.follow(console) } }
            let cause = await client.end.wait()
            timeline?.end()
            overlay?.destroy()
            publishing.stop()
            group.cancelAll()
            player.reset()
            await player.settled()
            await group.waitForAll()
            return cause
        }
    }

    // MARK: Page

    /// Returns the overlay whose messages the page receives; nil without a page.
    ///
    /// - Throws: ``CommandFailure``.
    private func makeOverlay(of player: Player, _ timeline: PlayTimeline?) throws -> Overlay? {
        guard plan.overlay != nil else { return nil }
        do throws(OverlayError) {
            // A page that does not connect is no error.
            let overlay = try Overlay(
                program: "channel", player: PlayerOverlayPlugin(player),
                configuration: OverlayCore.Configuration(fatal: nil, expectsPages: false))
            overlay.use(PlayedItemOverlayPlugin(player))
            if let timeline { overlay.use(timeline.plugin) }
            overlay.load()
            return overlay
        } catch {
            throw CommandFailure(.unusableArguments, error.reason)
        }
    }

    /// Reports the messages of the page.
    private func follow(_ messages: AsyncStream<OverlayMessage>) async {
        for await message in messages {
            switch message {
            case .easeLiveReady: console.event("overlayReady")
            case .bridgeMessage(let text): console.event("overlayMessage", ["message": .string(text)])
            default: break
            }
        }
    }

    private func openPage(over capture: PlaybackCapture, _ overlay: Overlay?) async throws -> RenderedPage? {
        guard let address = plan.overlay else { return nil }
        do throws(PageError) {
            let page = try await RenderedPage.open(
                address, dimensions: plan.overlaySize, over: capture, browser: plan.browser,
                isSandboxed: plan.isOverlaySandboxed, overlay: overlay)
            if let reason = page.audioFailure {
                console.warn("The audio of the overlay is left out: \(reason).")
            }
            return page
        } catch {
            if error == .needsUser { throw CommandFailure(.unusableArguments, "\(error).") }
            throw CommandFailure(.nothingToPlay, describing: error)
        }
    }

    /// Reopens the page when its browser crashes. Meanwhile the channel continues without it.
    private func keep(_ page: RenderedPage, over capture: PlaybackCapture, _ overlay: Overlay?) async {
        var open: RenderedPage? = page
        while let page = open {
            let reason = await withTaskCancellationHandler {
                await page.ended()
            } onCancel: {
                Task { await page.close() }
            }
            await page.close()
            open = nil
            while open == nil {
                if Task.isCancelled { return }
                console.event("overlay", ["open": .boolean(false), "description": .string("\(reason)")])
                console.warn("The overlay is not rendered: \(reason). Reopening it.")
                try? await Task.sleep(for: Self.pageReopenDelay)
                open = try? await openPage(over: capture, overlay)
            }
            console.event("overlay", ["open": .boolean(true)])
            console.inform("The overlay is rendered again.")
        }
    }

    // MARK: Playlist

    /// Skips items that cannot be played, and ends the run if all of them fail.
    private func follow(_ events: AsyncStream<PlayerEvent>, of player: Player) async {
        var failures = 0
        for await event in events {
            if let line = PlayFields(event.kind) { console.event(line.name, line.fields) }
            switch event.kind {
            case .videoChanged(let video?): console.inform("Playing \(video.preferredSource?.name ?? "nothing").")
            case .ready: failures = 0
            case .error(let error):
                failures += 1
                console.warn("Skipped an item: \(error).")
                if failures >= plan.addresses.count { return client.end.end(.unplayable(error)) }
                skipItem(player)
            case .playlistCompleted where !plan.isLooping: client.end.end(.played)
            default: break
            }
        }
    }

    private func skipItem(_ player: Player) {
        if player.advanceToNext() { return }
        if plan.isLooping { player.set(videos: plan.videos, play: true) } else { client.end.end(.played) }
    }
}

/// The options of a `pcast playout` run.
struct PlayoutPlan: Sendable {
    var addresses: [String]
    var isLooping: Bool
    /// The timeline that is delivered as the channel reaches its events; nil for none.
    var timeline: PlayTimeline.Plan?
    /// The capture time of the first frame of the first item; nil for the time in the media.
    var timelineStart: WallTime?
    /// The page over the video; nil for none.
    var overlay: String?
    var overlaySize: Dimensions
    var browser: String
    /// Whether the browser uses its sandbox, without which a page may do everything that the user may.
    var isOverlaySandboxed: Bool
    var frameRate: Int
    let publication: PublicationPlan

    var videos: [Video] {
        addresses.enumerated().map { index, address in
            Video(address, wallClock: index == 0 ? timelineStart.map { .start($0) } : nil)
        }
    }
}

/// Subscribes to platform streams for `pcast play`, with the token of the address or the credentials of a platform on
/// this host.
enum PlayStreams {
    @Sendable static func subscribe(_ source: Source) async throws(PlaybackError) -> MediaStream {
        guard let address = StreamAddress(source.address) else { throw .unsupportedAddress(source.name) }
        let plan = SubscribePlan(
            uri: address.platform, tokens: address.token.map { [$0] } ?? [], stream: address.stream, duration: nil,
            render: .null, screenshot: nil, recording: nil, noReconnect: true)
        let target: SubscribeTarget
        do {
            target = try await SubscribeTarget.find(plan)
        } catch {
            throw refusal(of: address.name, error)
        }
        let found = StreamAddress(platform: target.uri ?? address.platform, stream: target.stream)
        return try await found.subscribe(
            authenticationToken: target.tokens.authentication, streamToken: target.tokens.stream)
    }

    /// Converts the error of a stream that could not be requested, so that the exit status is the same as that of
    /// `pcast subscribe`.
    static func refusal(of name: String, _ error: any Error) -> PlaybackError {
        guard let failure = error as? CommandFailure else {
            return .noStream(name, status: .failed, reason: "\(error)")
        }
        // `pcast play` has no option `--token`.
        if failure == .needsToken {
            return .noStream(
                name, status: .unauthorized, reason: "the platform requires a token: append #token=TOKEN to the URI")
        }
        let status: RequestStatus? =
            switch failure.status {
            case .platformUnreachable: nil
            case .notAuthorized: .unauthorized
            case .nothingToPlay: .noStreamPlaying
            case .unusableArguments: .badRequest
            default: .failed
            }
        let sentence = failure.sentence ?? "unknown reason"
        return .noStream(
            name, status: status, reason: sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence)
    }
}
