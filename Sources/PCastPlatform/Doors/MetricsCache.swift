import PCastIO
import PCastMedia

/// The text of `/metrics`, made once for all who ask within a while: whoever asks, and however often, costs the threads of
/// media no more.
actor MetricsCache {
    private let lifetime: TimeSpan
    private var last: (text: String, made: Instant)?
    private var making: Task<String, Never>?

    init(lifetime: TimeSpan) { self.lifetime = lifetime }

    /// - Parameter make: makes it anew.
    func text(_ make: @escaping @Sendable () async -> String) async -> String {
        if let last, MonotonicClock.now() - last.made < lifetime { return last.text }
        // Those who ask meanwhile are answered with it, too.
        if lifetime > .zero, let making { return await making.value }
        let task = Task { await make() }
        making = task
        let value = await task.value
        last = (value, MonotonicClock.now())
        if making == task { making = nil }
        return value
    }
}
