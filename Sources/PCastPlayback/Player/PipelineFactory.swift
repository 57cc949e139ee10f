/// A factory for the pipelines of a player. It is called on a thread that may block, one call at a time, and only after
/// the previous pipeline has stopped. Therefore all pipelines can share a surface and an audio output.
public struct PipelineFactory: Sendable {
    /// A function that receives the events of a pipeline, on its thread, without blocking.
    public typealias Handler = @Sendable (PipelineEvent) -> Void

    private let body: @Sendable (Source, @escaping Handler) throws(PlaybackError) -> any PlaybackPipeline
    private let preloading: @Sendable (Source) -> (any PipelinePreload)?
    /// The composition of frames with an overlay's scale; nil if frames are displayed unchanged.
    let composition: FrameComposition?

    /// Creates a factory from a function that makes pipelines. `preloading` begins to preload the next source while
    /// another one plays; it returns nil for a source that cannot be preloaded.
    public init(
        _ body: @escaping @Sendable (Source, @escaping Handler) throws(PlaybackError) -> any PlaybackPipeline,
        preloading: @escaping @Sendable (Source) -> (any PipelinePreload)? = { _ in nil }
    ) {
        self.init(composition: nil, body, preloading: preloading)
    }

    /// Creates a factory with a composition of frames.
    init(
        composition: FrameComposition?,
        _ body: @escaping @Sendable (Source, @escaping Handler) throws(PlaybackError) -> any PlaybackPipeline,
        preloading: @escaping @Sendable (Source) -> (any PipelinePreload)?
    ) {
        (self.composition, self.body, self.preloading) = (composition, body, preloading)
    }

    /// Makes the pipeline of a source. Throws ``PlaybackError/unsupportedAddress(_:)`` if the source has an unsupported
    /// format, or another ``PlaybackError``.
    public func makePipeline(
        _ source: Source, _ handler: @escaping Handler
    ) throws(PlaybackError) -> any PlaybackPipeline {
        try body(source, handler)
    }

    /// Begins to preload a source; nil if it cannot be preloaded. It may be called while a pipeline plays.
    public func preload(_ source: Source) -> (any PipelinePreload)? { preloading(source) }
}
