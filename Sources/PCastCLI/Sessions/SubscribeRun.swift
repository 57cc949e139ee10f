import PCast
import PCastCore
import PCastJSON
import Synchronization

/// A run of `pcast subscribe`.
struct SubscribeRun: Sendable {
    let plan: SubscribePlan
    private let client: ClientRun

    private var console: Console { client.console }

    init(_ plan: SubscribePlan, _ console: Console) {
        self.plan = plan
        client = ClientRun(as: .viewer, console)
    }

    func run() async throws {
        try await client.run {
            let target = try await SubscribeTarget.find(plan)
            let showing = try await DisplayTarget.open(plan.render, title: "PCast")
            if showing?.coversTerminal == true { console.holdMessages() }
            defer {
                showing?.close()
                console.releaseMessages()
            }
            return try await client.withClient(at: target.uri, playoutDelay: plan.playoutDelay) {
                try await watch(target, at: showing, by: $0)
            }
        }
    }

    /// Subscribes until the run ends.
    private func watch(
        _ target: SubscribeTarget, at showing: DisplayTarget?, by pcast: PCast
    ) async throws -> RunEnd.Cause {
        let beginning = SystemClock.monotonic()
        let policy = ClientRun.policy(noReconnect: plan.noReconnect)
        let watching = try await client.settingUp(pcast) { () throws(PCastError) in
            try await subscribe(to: target, by: pcast, as: policy)
        }
        guard let stream = watching.current.value else { return .stream(await watching.ended) }
        let first = try RenderedStream(stream, at: showing, recording: plan.recording)
        let shown = LastRenderedStream(first)
        if showing != nil, !first.isAudioPlayed {
            console.warn("There is no audio output, so the audio is not played.")
        }
        let cause = await withTaskGroup { group in
            group.addTask {
                await client.follow(watching, as: policy) { stream in
                    guard stream !== first.stream else {
                        return await reportSubscription(first, target, since: beginning)
                    }
                    let now = SystemClock.monotonic()
                    shown.value.renderer.stop()
                    // A stream that cannot be rendered has ended already, and its end is reported.
                    guard let next = try? RenderedStream(stream, at: showing, recording: nil) else { return }
                    if shown.value.renderer.isAudioMuted { next.renderer.muteAudio() }
                    shown.value = next
                    await reportSubscription(next, target, since: now)
                }
            }
            group.addTask { await client.elapse(plan.duration) }
            if let showing { group.addTask { await showing.follow { await perform($0, shown.value.renderer) } } }
            let cause = await client.end.wait()
            // The last frames of a stream that has ended are shown.
            if case .stream = cause, shown.value.stream.endedInfo != nil { await shown.value.renderer.stopped }
            shown.value.renderer.stop()
            group.cancelAll()
            return cause
        }
        let last = shown.value
        last.recording?.stop()
        watching.stop()
        try await conclude(last.renderer, last.recording)
        return cause
    }

    private func reportSubscription(_ shown: RenderedStream, _ target: SubscribeTarget, since beginning: Instant) async
    {
        report(shown.stream, target)
        let renderer = shown.renderer
        await withTaskGroup { group in
            group.addTask { await reportFirstFrame(of: renderer, since: beginning) }
            group.addTask { for await size in shown.sizes { report(size) } }
            group.addTask { await reportStatistics(shown.statistics, of: renderer) }
            group.addTask { for await quality in renderer.dataQualities { client.report(quality) } }
            group.addTask { await reportCaptions(of: renderer) }
            group.addTask { await reportTimeShift(of: renderer) }
        }
    }

    /// Authenticates and subscribes in one round trip. If the session is rejected, both requests fail, and the error of
    /// the session is thrown.
    ///
    /// - Throws: `PCastError`.
    private func subscribe(
        to target: SubscribeTarget, by pcast: PCast, as policy: RecoveryPolicy
    ) async throws(PCastError) -> RecoveringStream<MediaStream> {
        if let uri = target.uri, EndpointURI.isWHEP(uri) {
            return try await pcast.subscribe(
                recovering: policy, fromWHEP: uri, token: target.tokens.stream.isEmpty ? nil : target.tokens.stream)
        }
        // The task begins before the subscription.
        let starting = Task.immediate { () async -> PCastError? in
            do throws(PCastError) {
                _ = try await pcast.start(authenticationToken: target.tokens.authentication)
                return nil
            } catch {
                return error
            }
        }
        do {
            return try await pcast.subscribe(
                recovering: policy, streamID: target.stream.map { StreamID($0) }
            ) { () throws(PCastError) in target.tokens.stream }
        } catch {
            throw await starting.value ?? error
        }
    }

    /// The distance of a seek with the arrow keys.
    private static let step = Duration.seconds(10)

    /// Processes a key of the window or terminal.
    private func perform(_ request: DisplayTarget.UserRequest, _ renderer: Renderer) async {
        switch request {
        case .quit: client.end.end(.interrupted)
        case .mute:
            if renderer.isAudioMuted { renderer.unmuteAudio() } else { renderer.muteAudio() }
            console.event("muted", ["muted": .boolean(renderer.isAudioMuted)])
        case .screenshot:
            let path = ScreenshotName.free(at: SystemClock.now())
            do throws(PCastError) {
                report(try await renderer.screenshot(to: path), writtenTo: path)
            } catch {
                console.warn("The screenshot failed: \(error).")
            }
        case .step(let isForward):
            do throws(PCastError) {
                try renderer.seek(by: isForward ? Self.step : .zero - Self.step)
            } catch {
                console.warn("The seek failed: \(error).")
            }
        case .pause:
            let timeShift = renderer.timeShift
            if timeShift.state.value == .paused { timeShift.play() } else { timeShift.pause() }
        case .live: renderer.timeShift.stop()
        }
    }

    /// Reports the states of the time shift.
    private func reportTimeShift(of renderer: Renderer) async {
        var last = TimeShift.State.live
        for await state in renderer.timeShift.state.values where state != last {
            last = state
            let timecode = renderer.timeShift.playbackHead.value?.timestampText
            console.event("timeShift", ["state": .string(state.name), "timecode": .text(timecode)])
            if case .failed(let reason) = state { console.warn("The window cannot be played: \(reason).") }
        }
    }

    private func report(_ size: Dimensions, writtenTo path: String) {
        console.event(
            "screenshot", ["path": .string(path), "width": .count(size.width), "height": .count(size.height)])
    }

    /// Writes the summary, the last frame and the recording.
    private func conclude(_ renderer: Renderer, _ recording: StreamRecording?) async throws {
        console.finish()
        console.event("summary", ViewerMetrics.summary(await renderer.summary()))
        if let path = plan.screenshot {
            report(try await renderer.screenshot(to: path), writtenTo: path)
            console.inform("Wrote the last frame to \(path).")
        }
        if let recording {
            if let failure = recording.failure {
                throw CommandFailure(.deviceFailure, "The recording \(recording.path) is incomplete: \(failure).")
            }
            console.event(
                "recording", ["path": .string(recording.path), "frames": .count(recording.framesWritten)])
            console.inform("Recorded \(recording.framesWritten) frames to \(recording.path).")
        }
    }

    // MARK: Reports

    private func report(_ stream: MediaStream, _ target: SubscribeTarget) {
        console.event("subscribed", ["streamId": .text(target.stream ?? stream.streamID?.description)])
        if let uri = target.uri, EndpointURI.isWHEP(uri) {
            console.inform("Subscribed to \(EndpointURI.shown(uri)).")
        } else {
            let place = target.uri.map { " at \($0)" } ?? ""
            console.inform("Subscribed to \(target.stream ?? "the newest stream")\(place).")
        }
        if !console.isLive { console.inform("Press Ctrl-C to stop.") }
    }

    private func reportFirstFrame(of renderer: Renderer, since beginning: Instant) async {
        guard let instant = await renderer.firstFrame else { return }
        let wait = instant - beginning
        console.event("firstFrame", ["milliseconds": .measured(wait.milliseconds)])
        console.inform("First frame after \(Figure.milliseconds(wait.milliseconds)).")
    }

    private func reportCaptions(of renderer: Renderer) async {
        var last: String?
        for await text in renderer.caption.values where text != last {
            last = text
            console.event("caption", ["text": .text(text)])
            if let text { console.subtitle(text) }
        }
    }

    private func report(_ size: Dimensions) {
        console.event("dimensions", ["width": .count(size.width), "height": .count(size.height)])
    }

    private func reportStatistics(_ all: AsyncStream<ViewerStatistics>, of renderer: Renderer) async {
        let beginning = SystemClock.monotonic()
        var seconds = 0
        for await statistics in all {
            let elapsed = SystemClock.monotonic() - beginning
            console.event("stats", ViewerMetrics.fields(statistics))
            console.show(
                ViewerMetrics.block(
                    statistics, elapsed: elapsed, link: client.link.current,
                    dimensions: renderer.videoDisplayDimensions, quality: renderer.dataQuality))
            seconds += 1
            if !console.isLive, seconds % 10 == 0 { console.inform(ViewerMetrics.line(statistics, elapsed: elapsed)) }
        }
    }
}

extension TimeShift.State {
    /// The name in the event `timeShift`.
    fileprivate var name: String {
        switch self {
        case .live: "live"
        case .seeking: "seeking"
        case .playing: "playing"
        case .paused: "paused"
        case .ended: "ended"
        case .failed: "failed"
        }
    }
}

/// A stream of a `pcast subscribe` run that is decoded, rendered and recorded.
struct RenderedStream: Sendable {
    let stream: MediaStream
    let renderer: Renderer
    let recording: StreamRecording?
    let sizes: AsyncStream<Dimensions>
    let statistics: AsyncStream<ViewerStatistics>

    /// Whether the audio is played.
    let isAudioPlayed: Bool

    /// Starts rendering. `target` is the target; nil for none. Audio is played if there is a target and an audio output.
    /// `path` is the file of the recording; nil for none.
    ///
    /// - Throws: ``CommandFailure`` if the stream cannot be decoded, or `PCastError` if it cannot be recorded.
    init(_ stream: MediaStream, at target: DisplayTarget?, recording path: String?) throws {
        self.stream = stream
        // Audio is played where video is shown.
        renderer = stream.createRenderer(
            target == nil ? .nullDevices : RendererOptions())
        if let target { renderer.setRenderSurface(target.surface) }
        (sizes, statistics) = (renderer.videoDisplayDimensionsChanges, renderer.statistics)
        do throws(PCastError) {
            try renderer.start()
        } catch {
            throw CommandFailure(.failed, "The stream cannot be decoded: \(error).")
        }
        isAudioPlayed = renderer.isAudioPlayed
        recording = try path.map { path throws(PCastError) in try stream.record(to: path) }
    }
}

/// The stream that is rendered, or was rendered last.
final class LastRenderedStream: Sendable {
    private let state: Mutex<RenderedStream>

    init(_ first: RenderedStream) { state = Mutex(first) }

    var value: RenderedStream {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// The statistics of a subscriber as events, as a status block and as a line of text.
enum ViewerMetrics {
    static func fields(_ statistics: ViewerStatistics) -> KeyValuePairs<String, JSONValue> {
        [
            "framesDecoded": .count(statistics.framesDecoded),
            "framesRendered": .count(statistics.framesRendered),
            "framesDropped": .count(statistics.framesDropped),
            "freezeCount": .count(statistics.freezeCount),
            "freezeDuration": .measured(statistics.freezeDuration),
            "bitrate": .count(statistics.bitrate),
            "packetsLost": .count(statistics.packetsLost),
            "nackCount": .count(statistics.nackCount),
            "pliCount": .count(statistics.pliCount),
            "jitter": .measured(statistics.jitter),
            "roundTripTime": .measured(statistics.roundTripTime),
            "latencyP50": .measured(statistics.latencyP50),
            "latencyP99": .measured(statistics.latencyP99),
            "framesBroken": statistics.framesBroken.map { JSONValue.count($0) } ?? .null,
            "audioVideoSkew": .measured(statistics.audioVideoSkew),
            "audioConcealed": .measured(statistics.audioConcealed),
            "packetsRepeated": .count(statistics.packetsRepeated),
            "playoutDelay": .measured(statistics.playoutDelay),
            "playoutGroup": .text(statistics.playoutGroup?.rawValue),
        ]
    }

    /// Returns the fields of the event `summary`: all statistics, and those of the start-up phase and of the time after
    /// it.
    static func summary(_ statistics: ViewerStatistics) -> [(key: String, value: JSONValue)] {
        Array(fields(statistics)) + [
            ("timeToLiveEdge", .measured(statistics.timeToLiveEdge)),
            ("startUpFramesRendered", statistics.startUpFramesRendered.map { JSONValue.count($0) } ?? .null),
            ("startUpFramesSkipped", .count(statistics.startUpFramesSkipped)),
            ("startUpLatencyMaximum", .measured(statistics.startUpLatencyMaximum)),
            ("steadyLatencyP50", .measured(statistics.steadyLatencyP50)),
            ("steadyLatencyP99", .measured(statistics.steadyLatencyP99)),
        ]
    }

    static func block(
        _ statistics: ViewerStatistics, elapsed: TimeSpan, link: LinkState.Value, dimensions: Dimensions?,
        quality: DataQuality
    ) -> StatusBlock {
        let size = dimensions.map { "\($0.width)x\($0.height), " } ?? ""
        return StatusBlock(
            title: "Subscribed  \(elapsed.clockText)  \(link.rawValue)  (Ctrl-C stops)",
            rows: [
                .init("receiving", "\(size)\(Figure.bitrate(Double(statistics.bitrate)))"),
                .init(
                    "frames",
                    "\(statistics.framesRendered) rendered, \(statistics.framesDropped) dropped, "
                        + "\(statistics.freezeCount) freezes"),
                .init(
                    "network",
                    "round trip \(Figure.milliseconds(statistics.roundTripTime)), "
                        + "jitter \(Figure.milliseconds(statistics.jitter)), \(statistics.packetsLost) packets lost"),
                .init(
                    "latency",
                    "\(Figure.milliseconds(statistics.latencyP50)) median, "
                        + "99 % within \(Figure.milliseconds(statistics.latencyP99))\(skew(statistics))"),
                .init("quality", quality.text),
            ])
    }

    private static func skew(_ statistics: ViewerStatistics) -> String {
        guard let skew = statistics.audioVideoSkew else { return "" }
        return
            ", audio \(Figure.milliseconds(skew < .zero ? .zero - skew : skew)) \(skew < .zero ? "ahead of" : "behind") video"
    }

    static func line(_ statistics: ViewerStatistics, elapsed: TimeSpan) -> String {
        "\(elapsed.clockText)  \(Figure.bitrate(Double(statistics.bitrate))), \(statistics.framesRendered) frames, "
            + "\(statistics.packetsLost) packets lost, round trip \(Figure.milliseconds(statistics.roundTripTime)), "
            + "latency \(Figure.milliseconds(statistics.latencyP50))"
    }
}
