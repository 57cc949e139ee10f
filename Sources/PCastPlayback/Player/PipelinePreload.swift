/// Preloaded media of a source. It displays nothing and has no audio output.
public protocol PipelinePreload: AnyObject, Sendable {
    /// Returns the pipeline that plays the source, under the conditions of ``PipelineFactory/makePipeline(_:_:)``. It
    /// is called at most once. Throws a ``PlaybackError`` if the source cannot be played.
    func makePipeline(_ handler: @escaping PipelineFactory.Handler) throws(PlaybackError) -> any PlaybackPipeline

    /// Releases the preloaded media, which will not be played. It must not be called after `makePipeline`.
    func cancel()
}
