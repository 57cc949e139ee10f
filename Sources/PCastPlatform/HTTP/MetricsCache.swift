import PCastCore
import PCastIO

/// A cache of the text of `/metrics`, so that frequent requests do not load the media threads.
actor MetricsCache {
    private let lifetime: TimeSpan
    private var last: (text: String, made: Instant)?
    private var making: Task<String, Never>?

    init(lifetime: TimeSpan) { self.lifetime = lifetime }

    /// Returns the cached text, or calls `make` if it is too old.
    func text(_ make: @escaping @Sendable () async -> String) async -> String {
        if let last, MonotonicClock.now() - last.made < lifetime { return last.text }
        // Concurrent requests receive the same text.
        if lifetime > .zero, let making { return await making.value }
        let task = Task { await make() }
        making = task
        let value = await task.value
        last = (value, MonotonicClock.now())
        if making == task { making = nil }
        return value
    }
}
