public import PCast
internal import PCastCore
import PCastIO
public import PCastRendering

extension PipelineFactory {
    /// Plays files, HTTP Live Streaming and streams of platforms: a source's pictures on a surface, its sound through the
    /// loudspeaker.
    ///
    /// - Parameters:
    ///   - isHeard: without a loudspeaker nothing is, whatever was asked for.
    ///   - surface: where pictures are shown; nil for nowhere. It stays the caller's.
    ///   - outlet: takes pictures and sound as well, to be published.
    ///   - configuration: how playlists are played.
    ///   - subscribe: gets a stream; by what its address says (``StreamAddress``), unless somebody knows better.
    public static func media(
        isHeard: Bool = true, shownOn surface: (any RenderSurface)? = nil, by outlet: PlaybackOutlet? = nil,
        configuration: HLSContent.Configuration = HLSContent.Configuration(),
        subscribe: @escaping @Sendable (Source) async throws(PlaybackError) -> MediaStream = PipelineFactory.subscribe
    ) -> PipelineFactory {
        let composition = FrameComposition { frame in
            if let outlet { outlet.show(frame, on: surface) } else { surface?.show(frame) }
        }
        let place = MediaOutputs(
            isHeard: isHeard, composition: composition, outlet: outlet, configuration: configuration,
            subscribe: subscribe)
        return PipelineFactory(
            composition: composition,
            { source, handler throws(PlaybackError) in
                if source.deliveryMethod == .pcast { return try place.playStream(source, handler) }
                return try place.play(try place.content(of: source), of: source, handler)
            }, preloading: { place.preload($0) })
    }

    /// Watches the stream that a source's address names, by the token that stands there.
    @Sendable public static func subscribe(_ source: Source) async throws(PlaybackError) -> MediaStream {
        guard let address = StreamAddress(source.address) else { throw .unsupportedAddress(source.name) }
        return try await address.subscribe()
    }
}

/// Where media are shown and heard, and how they are read.
private struct MediaOutputs: Sendable {
    var isHeard: Bool
    var composition: FrameComposition
    var outlet: PlaybackOutlet?
    var configuration: HLSContent.Configuration
    var subscribe: @Sendable (Source) async throws(PlaybackError) -> MediaStream

    @Sendable private func show(_ frame: VideoFrame) { composition.show(frame) }

    func content(of source: Source) throws(PlaybackError) -> any PlaybackContent {
        guard source.deliveryMethod != .pcast, source.deliveryMethod != .dash else {
            throw .unsupportedAddress(source.name)
        }
        return MediaContent.content(
            at: source.address, isPlaylist: source.deliveryMethod == .hls ? true : nil, configuration: configuration)
    }

    func play(
        _ content: any PlaybackContent, of source: Source, _ handler: @escaping PipelineFactory.Handler
    ) throws(PlaybackError) -> any PlaybackPipeline {
        let loudspeaker = isHeard ? try? AudioPresenter(name: "default") : nil
        var sound: any AudioOutput = loudspeaker ?? NullAudioOutput()
        if let outlet { sound = OutletAudio(outlet, beside: sound) }
        do throws(IOError) {
            return try MediaPipeline(
                content, sound: sound, wallClock: source.wallClock, onFrame: show, onEvent: handler)
        } catch {
            content.close()
            throw .notPlayable(source.name, reason: error.description)
        }
    }

    func playStream(
        _ source: Source, _ handler: @escaping PipelineFactory.Handler
    ) throws(PlaybackError) -> any PlaybackPipeline {
        let options = RendererOptions(measuresTestSignal: false, useNullAudioDevice: !isHeard)
        do throws(IOError) {
            return try StreamPipeline(
                named: source.name, options: options, onFrame: show, onEvent: handler
            ) { [subscribe] () throws(PlaybackError) in try await subscribe(source) }
        } catch {
            throw .notPlayable(source.name, reason: error.description)
        }
    }

    func preload(_ source: Source) -> (any PipelinePreload)? {
        guard let content = try? content(of: source), let preload = try? ContentPreload(content) else { return nil }
        return MediaPreload(preload, of: source, at: self)
    }
}

/// A content that is loaded ahead, and where it will be played.
private final class MediaPreload: PipelinePreload {
    private let content: ContentPreload
    private let source: Source
    private let place: MediaOutputs

    init(_ content: ContentPreload, of source: Source, at place: MediaOutputs) {
        (self.content, self.source, self.place) = (content, source, place)
    }

    func makePipeline(
        _ handler: @escaping PipelineFactory.Handler
    ) throws(PlaybackError) -> any PlaybackPipeline {
        if content.isUsable { return try place.play(content, of: source, handler) }
        content.close()
        return try place.play(try place.content(of: source), of: source, handler)
    }

    func cancel() { content.close() }
}
