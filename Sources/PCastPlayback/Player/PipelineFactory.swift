public import PCast
internal import PCastCore
import PCastIO
public import PCastRendering

/// A factory for the pipelines of a player. It is called on a thread that may block, one call at a time, and only after
/// the previous pipeline has stopped. Therefore all pipelines can share a surface and an audio output.
public struct PipelineFactory: Sendable {
    /// A function that receives the events of a pipeline, on its thread, without blocking.
    package typealias Handler = @Sendable (PipelineEvent) -> Void

    private let body: @Sendable (Source, @escaping Handler) throws(PlaybackError) -> any PlaybackPipeline
    private let preloading: @Sendable (Source) -> (any PipelinePreload)?
    /// The composition of frames with an overlay's scale; nil if frames are displayed unchanged.
    let composition: FrameComposition?
    /// The outlet that displays the composed frames; nil for none.
    private let capture: PlaybackCapture?
    /// The surface that displays the frames; nil for none.
    private let surface: (any RenderSurface)?

    /// Creates a factory from a function that makes pipelines. `preloading` begins to preload the next source while
    /// another one plays; it returns nil for a source that cannot be preloaded.
    package init(
        _ body: @escaping @Sendable (Source, @escaping Handler) throws(PlaybackError) -> any PlaybackPipeline,
        preloading: @escaping @Sendable (Source) -> (any PipelinePreload)? = { _ in nil }
    ) {
        self.init(composition: nil, body, preloading: preloading)
    }

    /// Creates a factory with a composition of frames, which a surface displays.
    init(
        composition: FrameComposition?, shownOn surface: (any RenderSurface)? = nil,
        capturedBy capture: PlaybackCapture? = nil,
        _ body: @escaping @Sendable (Source, @escaping Handler) throws(PlaybackError) -> any PlaybackPipeline,
        preloading: @escaping @Sendable (Source) -> (any PipelinePreload)?
    ) {
        (self.composition, self.surface, self.capture) = (composition, surface, capture)
        (self.body, self.preloading) = (body, preloading)
    }

    /// Makes the pipeline of a source. Throws ``PlaybackError/unsupportedAddress(_:)`` if the source has an unsupported
    /// format, or another ``PlaybackError``.
    package func makePipeline(
        _ source: Source, _ handler: @escaping Handler
    ) throws(PlaybackError) -> any PlaybackPipeline {
        try body(source, handler)
    }

    /// The last frame as it was displayed; nil before the first, and if frames are not composed.
    var displayedFrame: VideoFrame? { capture.map(\.displayedFrame) ?? composition?.displayedFrame }

    /// The mode that fits frames to the surface; nil without one.
    var aspectMode: AspectRatioMode? { surface?.arrangement.aspectRatioMode }

    /// Sets the mode that fits frames to the surface. It has no effect without one.
    func setAspectMode(_ mode: AspectRatioMode) { surface?.arrangement.aspectRatioMode = mode }

    /// Begins to preload a source; nil if it cannot be preloaded. It may be called while a pipeline plays.
    package func preload(_ source: Source) -> (any PipelinePreload)? { preloading(source) }
}

extension PipelineFactory {
    /// Returns a factory for files, HTTP Live Streaming and streams of platforms. `playsAudio` is false for no audio
    /// output. `surface` displays the frames; nil for none. `capture` also receives frames and audio, to publish them.
    /// `configuration` is for HTTP Live Streaming. `subscribe` subscribes to a stream; the default uses its address
    /// (``StreamAddress``).
    public static func media(
        playsAudio: Bool = true, shownOn surface: (any RenderSurface)? = nil,
        capturedBy capture: PlaybackCapture? = nil,
        configuration: HLSContent.Configuration = HLSContent.Configuration(),
        subscribe: @escaping @Sendable (Source) async throws(PlaybackError) -> MediaStream = PipelineFactory.subscribe
    ) -> PipelineFactory {
        let composition = FrameComposition { frame in
            if let capture { capture.show(frame, on: surface) } else { surface?.show(frame) }
        }
        let outputs = MediaOutputs(
            playsAudio: playsAudio, composition: composition, capture: capture, configuration: configuration,
            subscribe: subscribe)
        return PipelineFactory(
            composition: composition, shownOn: surface, capturedBy: capture,
            { source, handler throws(PlaybackError) in
                if source.deliveryMethod == .pcast { return try outputs.playStream(source, handler) }
                return try outputs.play(try outputs.content(of: source), of: source, handler)
            }, preloading: { outputs.preload($0) })
    }

    /// Subscribes to the stream of a source, with the token in its address. Throws
    /// ``PlaybackError/unsupportedAddress(_:)`` if it is not the address of a stream, or the error of the subscription.
    @Sendable public static func subscribe(_ source: Source) async throws(PlaybackError) -> MediaStream {
        guard let address = StreamAddress(source.address) else { throw .unsupportedAddress(source.name) }
        return try await address.subscribe()
    }
}

/// The outputs of a player, and the configuration of its content.
private struct MediaOutputs: Sendable {
    var playsAudio: Bool
    var composition: FrameComposition
    var capture: PlaybackCapture?
    var configuration: HLSContent.Configuration
    var subscribe: @Sendable (Source) async throws(PlaybackError) -> MediaStream

    /// Displays a frame.
    @Sendable private func show(_ frame: VideoFrame) { composition.show(frame) }

    /// Returns the content of a source that is not a stream of a platform.
    func content(of source: Source) throws(PlaybackError) -> any PlaybackContent {
        guard source.deliveryMethod != .pcast, source.deliveryMethod != .dash else {
            throw .unsupportedAddress(source.name)
        }
        return MediaContent.content(
            at: source.address, isPlaylist: source.deliveryMethod == .hls ? true : nil, configuration: configuration)
    }

    /// Returns a pipeline that plays content. It is closed on failure.
    func play(
        _ content: any PlaybackContent, of source: Source, _ handler: @escaping PipelineFactory.Handler
    ) throws(PlaybackError) -> any PlaybackPipeline {
        let audioDevice = playsAudio ? try? AudioPresenter(name: "default") : nil
        var audio: any AudioOutput = audioDevice ?? NullAudioOutput()
        if let capture { audio = CapturedAudioOutput(beside: audio) { capture.play($0, at: $1) } }
        do throws(IOError) {
            return try MediaPipeline(
                content, audio: audio, wallClock: source.wallClock, onFrame: show, onEvent: handler)
        } catch {
            content.close()
            throw .notPlayable(source.name, reason: error.description)
        }
    }

    /// Returns a pipeline that plays a stream of a platform.
    func playStream(
        _ source: Source, _ handler: @escaping PipelineFactory.Handler
    ) throws(PlaybackError) -> any PlaybackPipeline {
        let options = RendererOptions(measuresTestSignal: false, useNullAudioDevice: !playsAudio)
        var onAudio: (@Sendable (AudioFrame, Instant) -> Void)?
        if let capture { onAudio = { capture.play($0, at: $1) } }
        do throws(IOError) {
            return try StreamPipeline(
                named: source.name, options: options, onFrame: show, onAudio: onAudio, onEvent: handler
            ) { [subscribe] () throws(PlaybackError) in try await subscribe(source) }
        } catch {
            throw .notPlayable(source.name, reason: error.description)
        }
    }

    /// Begins to preload a source; nil if it cannot be preloaded.
    func preload(_ source: Source) -> (any PipelinePreload)? {
        guard let content = try? content(of: source), let preload = try? ContentPreload(content) else { return nil }
        return MediaPreload(preload, of: source, at: self)
    }
}

/// Preloaded content and the outputs that will play it.
private final class MediaPreload: PipelinePreload {
    private let content: ContentPreload
    private let source: Source
    private let outputs: MediaOutputs

    init(_ content: ContentPreload, of source: Source, at outputs: MediaOutputs) {
        (self.content, self.source, self.outputs) = (content, source, outputs)
    }

    /// Returns a pipeline for the preloaded content, or for content that is opened again if the preload is not usable.
    func makePipeline(
        _ handler: @escaping PipelineFactory.Handler
    ) throws(PlaybackError) -> any PlaybackPipeline {
        if content.isUsable { return try outputs.play(content, of: source, handler) }
        content.close()
        return try outputs.play(try outputs.content(of: source), of: source, handler)
    }

    /// Closes the content.
    func cancel() { content.close() }
}

/// Preloaded media of a source. It displays nothing and has no audio output.
package protocol PipelinePreload: AnyObject, Sendable {
    /// Returns the pipeline that plays the source, under the conditions of ``PipelineFactory/makePipeline(_:_:)``. It
    /// is called at most once. Throws a ``PlaybackError`` if the source cannot be played.
    func makePipeline(_ handler: @escaping PipelineFactory.Handler) throws(PlaybackError) -> any PlaybackPipeline

    /// Releases the preloaded media, which will not be played. It must not be called after `makePipeline`.
    func cancel()
}
