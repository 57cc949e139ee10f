import Synchronization

/// What is played next, as it is loaded ahead. Used on the player's engine, but for its source.
final class NextItem: Sendable {
    let source: Source
    private let preload = Mutex<(any PipelinePreload)?>(nil)

    init(_ source: Source) { self.source = source }

    func begin(_ pipelines: PipelineFactory) {
        let new = pipelines.preload(source)
        preload.withLock { $0 = new }
    }

    /// What was loaded, once; nil where nothing was.
    func take() -> (any PipelinePreload)? { preload.withLock { $0.take() } }

    func cancel() { take()?.cancel() }
}
