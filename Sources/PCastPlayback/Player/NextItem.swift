import Synchronization

/// The next item while it is preloaded. All but `source` is used only on the player's engine.
final class NextItem: Sendable {
    /// The source of the item.
    let source: Source
    private let preload = Mutex<(any PipelinePreload)?>(nil)

    /// Creates an item that is not preloaded yet.
    init(_ source: Source) { self.source = source }

    /// Begins to preload.
    func begin(_ pipelines: PipelineFactory) {
        let new = pipelines.preload(source)
        preload.withLock { $0 = new }
    }

    /// Returns the preload, once; nil if there is none.
    func take() -> (any PipelinePreload)? { preload.withLock { $0.take() } }

    /// Cancels the preload.
    func cancel() { take()?.cancel() }
}
