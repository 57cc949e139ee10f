public import PCast
import PCastCore
import PCastIO
import PCastRendering
import Synchronization

extension StreamingClient {
    /// The HLS client of the player, with its default configuration.
    public static let hls = StreamingClient { uri, outputs in
        try StreamingPlayback(uri, HLSContent.Configuration(), outputs)
    }

    /// Returns the HLS client of the player.
    ///
    /// - Parameter configuration: The configuration of playlists and segments. Its redirection applies in addition to
    ///   that of `PCastOptions`.
    /// - Returns: The client.
    public static func hls(configuration: HLSContent.Configuration) -> StreamingClient {
        StreamingClient { uri, outputs in try StreamingPlayback(uri, configuration, outputs) }
    }
}

/// A stream that the HLS client plays for a renderer of the SDK.
final class StreamingPlayback: PlaylistPlayback {
    let isAudioPlayed: Bool
    private let pipeline: MediaPipeline

    /// Begins to play. Throws an `IOError` if a thread cannot be created.
    init(_ uri: String, _ configuration: HLSContent.Configuration, _ outputs: PlaylistOutputs) throws(IOError) {
        let device = outputs.playsAudio ? try? AudioPresenter(name: "default") : nil
        isAudioPlayed = device != nil
        let audio = SwitchableAudioOutput(device ?? NullAudioOutput(), isEnabled: outputs.isAudioEnabled)
        let selection = SubtitleSelection()
        pipeline = try MediaPipeline(
            HLSContent(uri, configuration: configuration), audio: audio, onFrame: outputs.onFrame
        ) { event in
            switch event.kind {
            case .overview(let overview): selection.select(in: overview)
            case .subtitle(let text): outputs.onCaption(text)
            case .ended: outputs.onEnd(nil)
            case .failed(let error): outputs.onEnd(error.description)
            default: break
            }
        }
        selection.begin(pipeline)
        pipeline.play()
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

    func stop() { pipeline.stop() }
}

/// Selects the first subtitles of a stream, because a stream of the SDK shows its captions.
private final class SubtitleSelection: Sendable {
    private struct State {
        weak var pipeline: MediaPipeline?
        var track: ContentTrack.ID?
    }

    private let state = Mutex(State())

    /// Selects subtitles of the pipeline, those that are known already or those that appear later.
    func begin(_ pipeline: MediaPipeline) {
        let track = state.withLock { state in
            state.pipeline = pipeline
            return state.track
        }
        if let track { pipeline.select(track, of: .subtitles) }
    }

    /// Selects the first subtitles of an overview, once.
    func select(in overview: ContentOverview) {
        guard let track = overview.tracks.first(where: { $0.kind == .subtitles })?.id else { return }
        let pipeline = state.withLock { state -> MediaPipeline? in
            guard state.track == nil else { return nil }
            state.track = track
            return state.pipeline
        }
        pipeline?.select(track, of: .subtitles)
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
