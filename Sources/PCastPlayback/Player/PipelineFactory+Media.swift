import PCastIO
public import PCastRendering

extension PipelineFactory {
    /// Plays files and HTTP Live Streaming: a source's pictures on a surface, its sound through the loudspeaker.
    ///
    /// - Parameters:
    ///   - isHeard: without a loudspeaker nothing is, whatever was asked for.
    ///   - surface: where pictures are shown; nil for nowhere. It stays the caller's.
    public static func media(isHeard: Bool = true, shownOn surface: (any RenderSurface)? = nil) -> PipelineFactory {
        PipelineFactory { source, handler throws(PlaybackError) in
            guard source.deliveryMethod != .pcast, source.deliveryMethod != .dash else {
                throw .unsupportedAddress(source.address)
            }
            let content = MediaContent.content(
                at: source.address, isPlaylist: source.deliveryMethod == .hls ? true : nil)
            let loudspeaker = isHeard ? try? SoundPresenter(name: "default") : nil
            do throws(IOError) {
                return try MediaPipeline(
                    content, sound: loudspeaker ?? NullSoundOutput(), onFrame: { surface?.show($0) }, onEvent: handler)
            } catch {
                throw .notPlayable(source.address, reason: error.description)
            }
        }
    }
}
