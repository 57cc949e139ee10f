import PCastMedia

/// The routes on which the kernel has refused to segment (UDP_SEGMENT), each until it is tried again (IO1).
///
/// A refusal belongs to the interface or the tunnel that a route takes, and may come after it once worked.
struct SegmentationRoutes {
    private struct Route: Hashable {
        let local: IPAddress
        let remote: IPAddress
    }

    /// Routes remembered at most; beyond, one of them is forgotten, and costs one more refusal.
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
