/// Makes the pipeline that plays a source. Called on a thread that may wait, one at a time, and never before the player's
/// previous pipeline has stopped, so that all may share a screen and a loudspeaker.
public struct PipelineFactory: Sendable {
    /// Is told what happens, by the pipeline's thread; never holds it up.
    public typealias Handler = @Sendable (PipelineEvent) -> Void

    private let body: @Sendable (Source, @escaping Handler) throws(PlaybackError) -> any PlaybackPipeline
    private let preloading: @Sendable (Source) -> (any PipelinePreload)?
    /// Where its pictures are put together with the room for an overlay; nil where they are shown as they are.
    let composition: FrameComposition?

    /// - Parameter preloading: begins to load a source whose turn comes soon, while another one is played; answers nil for what
    ///   is not loaded ahead.
    public init(
        _ body: @escaping @Sendable (Source, @escaping Handler) throws(PlaybackError) -> any PlaybackPipeline,
        preloading: @escaping @Sendable (Source) -> (any PipelinePreload)? = { _ in nil }
    ) {
        self.init(composition: nil, body, preloading: preloading)
    }

    init(
        composition: FrameComposition?,
        _ body: @escaping @Sendable (Source, @escaping Handler) throws(PlaybackError) -> any PlaybackPipeline,
        preloading: @escaping @Sendable (Source) -> (any PipelinePreload)?
    ) {
        (self.composition, self.body, self.preloading) = (composition, body, preloading)
    }

    /// - Throws: `unsupportedAddress` for a source that is of no kind that can be played, or what else is in the way.
    public func makePipeline(
        _ source: Source, _ handler: @escaping Handler
    ) throws(PlaybackError) -> any PlaybackPipeline {
        try body(source, handler)
    }

    /// Begins to load a source before its turn; nil for what is not loaded ahead. May be called while a pipeline plays.
    public func preload(_ source: Source) -> (any PipelinePreload)? { preloading(source) }
}
