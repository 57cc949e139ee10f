import PCastCore
import PCastIO

/// A platform with viewers, either of its own publishers, or as an edge of another platform.
final class ClusterCost: Sendable {
    /// The costs of one measurement at one platform.
    struct Round: Sendable {
        /// The processor time of the platform that serves the viewers, in seconds per second.
        let serving: Double
        /// The processor time of the platform with the publishers, in seconds per second.
        let publishing: Double
        /// The packets that the viewers received.
        let packets: Int
        let missing: Int
        /// The viewers without video.
        let idle: Int
        /// The packets that the platform with the publishers sent to viewers and nodes for each published frame.
        let forwardedPerFrame: Double
        let seconds: Double
        /// The load generator lost datagrams or was too slow, so that the round does not count.
        let isVoid: Bool

        /// The processor time of the serving platform for a packet, in nanoseconds.
        var perPacket: Double { serving * seconds * 1e9 / Double(max(1, packets)) }
    }

    let origin: FanOutSetup
    /// The edge; nil if the viewers are at the origin.
    let edge: FanOutSetup?
    let publishers: LoadPublishers
    let viewers: LoadViewers
    let count: Int
    /// The processor time for a join, in seconds.
    let joinTime: Double
    /// The memory for each viewer beyond the first eight, in bytes.
    let memoryPerViewer: Double
    /// The memory at the origin, and at the platform that serves the viewers, for each stream with its first viewers, in
    /// bytes.
    let originMemoryPerStream, memoryPerStream: Double

    private var serving: FanOutSetup { edge ?? origin }

    private init(
        origin: FanOutSetup, edge: FanOutSetup?, publishers: LoadPublishers, viewers: LoadViewers, count: Int,
        joinTime: Double, memoryPerViewer: Double, originMemoryPerStream: Double, memoryPerStream: Double
    ) {
        self.origin = origin
        self.edge = edge
        self.publishers = publishers
        self.viewers = viewers
        self.count = count
        self.joinTime = joinTime
        self.memoryPerViewer = memoryPerViewer
        self.originMemoryPerStream = originMemoryPerStream
        self.memoryPerStream = memoryPerStream
    }

    /// The minimum number of viewers that join before costs are measured.
    private static let earlyViewers = 8
    /// The time after which `/metrics` has the packets that were sent before.
    private static let metricsTime = Duration.seconds(2)

    /// Starts the platforms, the publishers and the viewers, which are distributed equally over the streams. Nothing is
    /// sent when it returns. Throws `BenchFailure` if a viewer receives no video.
    static func start(streams: Int, viewers count: Int, atEdge: Bool) async throws -> ClusterCost {
        let secret = FanOutSetup.randomSecret()
        let environment = ["PCAST_SERVE_CLUSTER_SECRET": FanOutSetup.randomSecret()]
        let origin = try await FanOutSetup.start(secret: secret, environment: environment)
        var edge: FanOutSetup?
        do {
            if atEdge {
                edge = try await FanOutSetup.start(["--origin", origin.uri], secret: secret, environment: environment)
            }
            let serving = edge ?? origin
            let publishers = try await LoadPublishers(streams, of: .even, at: origin)
            let viewers = try LoadViewers(decryptsEach: 1)
            let (originMemory, emptyMemory) = (origin.residentMemory, serving.residentMemory)
            await publishers.run()
            // The first viewers cause the pull, and one-time allocations.
            let first = min(count, max(earlyViewers, streams))
            try await viewers.join(0..<first, to: publishers.streams, at: serving)
            try await viewers.waitUntilWatching(first, within: .seconds(60 as Int64))
            let growth = [
                (origin.residentMemory - originMemory) / Double(streams),
                (serving.residentMemory - emptyMemory) / Double(streams),
            ]
            // Without media, the time of the platform is that of the joins.
            await publishers.run(false)
            try await Task.sleep(for: .seconds(1))
            let (memory, time) = (serving.residentMemory, serving.processorTime)
            try await viewers.join(first..<count, to: publishers.streams, at: serving)
            try await viewers.waitUntilConnected(count, within: .seconds(60 as Int64))
            let joins = Double(max(1, count - first))
            let joinTime = (serving.processorTime - time).seconds / joins
            await publishers.run()
            try await viewers.waitUntilWatching(count, within: .seconds(60 as Int64))
            let memoryPerViewer = (serving.residentMemory - memory) / joins
            await publishers.run(false)
            return ClusterCost(
                origin: origin, edge: edge, publishers: publishers, viewers: viewers, count: count, joinTime: joinTime,
                memoryPerViewer: memoryPerViewer, originMemoryPerStream: growth[0], memoryPerStream: growth[1])
        } catch {
            edge?.stop()
            origin.stop()
            throw error
        }
    }

    /// Measures while the publishers send.
    func measure(seconds: Int) async throws -> Round {
        try await Task.sleep(for: Self.metricsTime)
        let forwarded = try await origin.packetsForwarded()
        await publishers.begin()
        await publishers.run()
        try await Task.sleep(for: .seconds(1))
        await viewers.begin()
        let (start, load, drops) = (MonotonicClock.now(), loadTime, ownDrops)
        let (servingTime, publishingTime) = (serving.processorTime, origin.processorTime)
        try await Task.sleep(for: .seconds(seconds))
        let (servingEnd, publishingEnd) = (serving.processorTime, origin.processorTime)
        let elapsed = (MonotonicClock.now() - start).seconds
        let metrics = await viewers.metrics()
        let isVoid = ownDrops > drops || (loadTime - load).seconds / elapsed > 0.7
        await publishers.run(false)
        try await Task.sleep(for: Self.metricsTime)
        let frames = await publishers.metrics().frames
        let all = try await origin.packetsForwarded() - forwarded
        return Round(
            serving: (servingEnd - servingTime).seconds / elapsed,
            publishing: (publishingEnd - publishingTime).seconds / elapsed, packets: metrics.packets,
            missing: metrics.missing, idle: count - metrics.watching,
            forwardedPerFrame: Double(all) / Double(max(1, frames)), seconds: elapsed, isVoid: isVoid)
    }

    private var loadTime: TimeSpan { viewers.processorTime + publishers.processorTime }
    private var ownDrops: Int { viewers.ownDrops + publishers.ownDrops }

    func stop() {
        viewers.leave()
        publishers.leave()
        edge?.stop()
        origin.stop()
    }
}

extension [ClusterCost.Round] {
    /// The median of a value of the rounds that count; nil if none counts.
    func median(_ value: (ClusterCost.Round) -> Double) -> Double? {
        Percentile.of(filter { !$0.isVoid }.map(value), 0.5)
    }
}
