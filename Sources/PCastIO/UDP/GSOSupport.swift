import PCastCore

/// The routes on which the kernel refused segmentation (`UDP_SEGMENT`), each until the next attempt.
///
/// A refusal depends on the interface or tunnel of the route, and may occur after segmentation has worked.
struct GSOSupport {
    private struct Route: Hashable {
        let local: IPAddress
        let remote: IPAddress
    }

    /// The maximum number of routes. Beyond it, one is forgotten and costs another refusal.
    static let capacity = 1024

    static let retryInterval = TimeSpan.seconds(60)

    private var retries: [Route: Instant] = [:]

    func allowsSegmentation(on path: NetworkPath, at now: Instant) -> Bool {
        if retries.isEmpty { return true }
        guard let retry = retries[Route(local: path.local.ip, remote: path.remote.ip)] else { return true }
        return now >= retry
    }

    mutating func refuseSegmentation(on path: NetworkPath, at now: Instant) {
        if retries.count >= Self.capacity {
            retries = retries.filter { $0.value > now }
            if retries.count >= Self.capacity, let any = retries.keys.first { retries[any] = nil }
        }
        retries[Route(local: path.local.ip, remote: path.remote.ip)] = now + Self.retryInterval
    }

    var count: Int { retries.count }
}
