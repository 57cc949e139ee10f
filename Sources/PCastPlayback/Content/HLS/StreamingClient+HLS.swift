public import PCast
import PCastCore
import PCastIO
import PCastRendering
import Synchronization

extension StreamingClient {
    /// The HLS client of the player, with its default configuration.
    public static let hls = StreamingClient { uri, start, outputs in
        try StreamingPlayback(uri, HLSContent.Configuration(), from: start, outputs)
    }

    /// Returns the HLS client of the player.
    ///
    /// - Parameter configuration: The configuration of playlists and segments. Its redirection applies in addition to
    ///   that of `PCastOptions`.
    /// - Returns: The client.
    public static func hls(configuration: HLSContent.Configuration) -> StreamingClient {
        StreamingClient { uri, start, outputs in
            try StreamingPlayback(uri, configuration, from: start, outputs)
        }
    }
}

/// A stream that the HLS client plays for a renderer of the SDK.
final class StreamingPlayback: PlaylistPlayback {
    let isAudioPlayed: Bool
    private let pipeline: MediaPipeline
    private let control: StreamingControl

    /// Begins to play from a target, or at the live edge. Throws an `IOError` if a thread cannot be created.
    init(
        _ uri: String, _ configuration: HLSContent.Configuration, from start: PlaylistTarget?,
        _ outputs: PlaylistOutputs
    ) throws(IOError) {
        var device = outputs.audioOutput
        if device == nil, outputs.playsAudio { device = try? AudioPresenter(name: "default") }
        isAudioPlayed = device != nil
        var output: any AudioOutput = device ?? NullAudioOutput()
        if let tap = outputs.audioTap { output = CapturedAudioOutput(beside: output, tap) }
        let audio = SwitchableAudioOutput(output, isEnabled: outputs.isAudioEnabled)
        let control = StreamingControl(from: start, outputs)
        self.control = control
        pipeline = try MediaPipeline(
            HLSContent(uri, configuration: configuration), audio: audio, onFrame: { control.show($0) },
            onEvent: { control.process($0) })
        control.begin(pipeline)
    }

    deinit { pipeline.stop() }

    var isMuted: Bool {
        get { pipeline.isMuted }
        set { pipeline.isMuted = newValue }
    }

    var volume: Double {
        get { pipeline.volume }
        set { pipeline.volume = newValue }
    }

    var framesDropped: Int { pipeline.statistics.framesDropped }

    var time: WallTime? { pipeline.playhead.timecode }

    var window: ClosedRange<WallTime>? { pipeline.playhead.timecodeRange }

    func play() { control.setPaused(false) }

    func pause() { control.setPaused(true) }

    func seek(to target: PlaylistTarget) { control.seek(to: target) }

    func stop() { pipeline.stop() }
}

/// The control of a pipeline for the SDK: seeks to targets that are known when the playlist is loaded, and the first
/// subtitles, because a stream of the SDK shows its captions.
private final class StreamingControl: Sendable {
    private struct State {
        weak var pipeline: MediaPipeline?
        /// The last properties of the media; nil before the playlist is loaded.
        var overview: ContentOverview?
        /// The target of a seek that has not begun; nil for none.
        var target: PlaylistTarget?
        /// The epoch of the last seek; nil before the first.
        var epoch: PlayheadEpoch?
        /// Whether the start or a seek is complete.
        var hasLanded = false
        var isPaused = false
        var selectsSubtitles = true
    }

    private let outputs: PlaylistOutputs
    private let state: Mutex<State>

    init(from start: PlaylistTarget?, _ outputs: PlaylistOutputs) {
        self.outputs = outputs
        state = Mutex(State(target: start))
    }

    /// Controls a pipeline, whose events may have arrived before.
    func begin(_ pipeline: MediaPipeline) {
        state.withLock { state in
            state.pipeline = pipeline
            Self.update(&state)
            // At the live edge, playback begins as soon as possible. Otherwise it begins when the seek is complete.
            if state.target == nil, state.epoch == nil, !state.isPaused { pipeline.play() }
        }
    }

    func setPaused(_ isPaused: Bool) {
        state.withLock { state in
            state.isPaused = isPaused
            guard let pipeline = state.pipeline else { return }
            if isPaused { pipeline.pause() } else if state.hasLanded { pipeline.play() }
        }
    }

    func seek(to target: PlaylistTarget) {
        state.withLock { state in
            state.target = target
            Self.update(&state)
        }
    }

    /// Passes a frame on with its capture time, unless a seek to another one is pending.
    func show(_ frame: VideoFrame) {
        let (isWaiting, pipeline) = state.withLock { ($0.target != nil, $0.pipeline) }
        guard !isWaiting else { return }
        let time = frame.captureTime ?? pipeline?.playhead.timecode
        outputs.onFrame(time == nil ? frame : frame.retimed(captureTime: time, timestamp: frame.timestamp))
    }

    func process(_ event: PipelineEvent) {
        switch event.kind {
        case .overview(let overview):
            state.withLock { state in
                state.overview = overview
                Self.update(&state)
            }
        case .landed(let position): landed(at: position, event.epoch)
        case .position(let position):
            if let time = state.withLock({ $0.pipeline })?.timecode(at: position) { outputs.onPosition(time) }
        case .subtitle(let text): outputs.onCaption(text)
        case .ended: outputs.onEnd(nil)
        case .failed(let error): outputs.onEnd(error.description)
        default: break
        }
    }

    /// Reports the completion of the start or of the last seek, and plays.
    private func landed(at position: TimeSpan, _ epoch: PlayheadEpoch) {
        let (isCurrent, pipeline) = state.withLock { state in
            guard state.target == nil, state.epoch.map({ epoch >= $0 }) ?? true else { return (false, state.pipeline) }
            state.hasLanded = true
            if !state.isPaused { state.pipeline?.play() }
            return (true, state.pipeline)
        }
        if isCurrent { outputs.onLanded(pipeline?.timecode(at: position)) }
    }

    /// Begins what waits for the playlist: a seek, and the selection of subtitles.
    private static func update(_ state: inout State) {
        guard let pipeline = state.pipeline, let overview = state.overview else { return }
        if state.selectsSubtitles, let track = overview.tracks.first(where: { $0.kind == .subtitles })?.id {
            state.selectsSubtitles = false
            pipeline.select(track, of: .subtitles)
        }
        guard let target = state.target, let position = position(of: target, in: pipeline) else { return }
        state.target = nil
        state.epoch = pipeline.seek(to: position)
    }

    /// Returns the position of a target in the seekable range; nil if it is not known yet.
    private static func position(of target: PlaylistTarget, in pipeline: MediaPipeline) -> TimeSpan? {
        guard let range = pipeline.playhead.seekableRange else { return nil }
        let (beginning, end) = (TimeSpan(range.lowerBound), TimeSpan(range.upperBound))
        let wanted: TimeSpan? =
            switch target {
            case .time(let time): pipeline.position(of: time)
            case .beginning(let offset): beginning + offset
            case .end(let offset): end + offset
            }
        return wanted.map { max(min($0, end), beginning) }
    }
}

/// An output that plays audio only while a track is enabled.
final class SwitchableAudioOutput: AudioOutput {
    private let output: any AudioOutput
    private let isEnabled: @Sendable () -> Bool

    /// Creates an output that plays on another one while `isEnabled` returns true.
    init(_ output: any AudioOutput, isEnabled: @escaping @Sendable () -> Bool) {
        (self.output, self.isEnabled) = (output, isEnabled)
    }

    var lead: TimeSpan { output.lead }

    var volume: Double {
        get { output.volume }
        set { output.volume = newValue }
    }

    func present(_ frame: AudioFrame, at due: Instant) { if isEnabled() { output.present(frame, at: due) } }

    func discardPending() { output.discardPending() }

    func stop() { output.stop() }
}
