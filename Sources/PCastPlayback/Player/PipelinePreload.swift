/// What a source's pipeline needs, loaded before it is the source's turn. It shows nothing and is not heard.
public protocol PipelinePreload: AnyObject, Sendable {
    /// The pipeline that plays it; called once at most, as ``PipelineFactory/makePipeline(_:_:)`` is.
    func makePipeline(_ handler: @escaping PipelineFactory.Handler) throws(PlaybackError) -> any PlaybackPipeline

    /// It will not be played: lets go of everything. Not after `makePipeline`.
    func cancel()
}
