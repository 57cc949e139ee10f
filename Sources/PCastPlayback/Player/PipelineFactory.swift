/// Makes the pipeline that plays a source. Called on a thread that may wait, one at a time, and never before the player's
/// previous pipeline has stopped, so that all may share a screen and a loudspeaker.
public struct PipelineFactory: Sendable {
    /// Is told what happens, by the pipeline's thread; never holds it up.
    public typealias Handler = @Sendable (PipelineEvent) -> Void

    private let body: @Sendable (Source, @escaping Handler) throws(PlaybackError) -> any PlaybackPipeline

    public init(
        _ body: @escaping @Sendable (Source, @escaping Handler) throws(PlaybackError) -> any PlaybackPipeline
    ) {
        self.body = body
    }

    /// - Throws: `unsupportedAddress` for a source that is of no kind that can be played, or what else is in the way.
    public func makePipeline(
        _ source: Source, _ handler: @escaping Handler
    ) throws(PlaybackError) -> any PlaybackPipeline {
        try body(source, handler)
    }
}
