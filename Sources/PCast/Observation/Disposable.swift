import Synchronization

/// A resource, e.g. a subscription to changes, that is released with this object (Phenix: `PhenixDisposable`).
public final class Disposable: Sendable {
    private let ending: Mutex<(@Sendable () -> Void)?>

    init(_ ending: @escaping @Sendable () -> Void) { self.ending = Mutex(ending) }

    deinit { dispose() }

    /// Releases the resource now. It has no effect when it is called again.
    public func dispose() {
        let ending = ending.withLock { ending in
            defer { ending = nil }
            return ending
        }
        ending?()
    }
}
