import Synchronization

/// Something that lasts as long as it is held, such as being told of changes (Phenix: `PhenixDisposable`).
public final class Disposable: Sendable {
    private let ending: Mutex<(@Sendable () -> Void)?>

    init(_ ending: @escaping @Sendable () -> Void) { self.ending = Mutex(ending) }

    deinit { dispose() }

    /// Ends it now; harmless when called again.
    public func dispose() {
        let ending = ending.withLock { ending in
            defer { ending = nil }
            return ending
        }
        ending?()
    }
}
