import Foundation
import PCastCore
import PCastIO
import PCastWebRTC

/// Forwarding to viewers that read nothing, so that all CPUs are available to the platform.
enum NonReadingViewers {
    /// The CPU time.
    struct Cost: Sendable {
        let perPacket: TimeSpan
        /// The used fraction of the CPUs. Near 1, the platform was late and sent the packets of several frames
        /// together.
        let share: Double
    }

    /// Measures a platform. Each shard has a CPU and the same number of viewers. The time is at most three seconds,
    /// because a viewer without feedback for five seconds counts as disconnected. Throws `BenchFailure`.
    static func measurePlatform(shards: Int, viewersOfEach: Int, seconds: Int) async throws -> Cost {
        let viewers = shards * viewersOfEach
        let setup = try await FanOutSetup.start(
            ["--shards", "\(shards)"], isPinned: false, processor: shards == 1 ? FanOutSetup.relayProcessor : nil)
        defer { setup.stop() }
        let publishers = try await LoadPublishers(1, of: .flood, at: setup)
        defer { publishers.leave() }
        let viewersLoad = try LoadViewers(decryptsEach: 8, sendNoFeedback: true)
        defer { viewersLoad.leave() }
        try await viewersLoad.join(0..<viewers, to: publishers.streams, at: setup)
        try await viewersLoad.waitUntilConnected(viewers, within: .seconds(60))
        viewersLoad.rest()
        await publishers.begin()
        await publishers.run()
        // All viewers have started, and no one-time work remains.
        try await Task.sleep(for: .seconds(1))
        let (first, time, start) = (await publishers.metrics().frames, setup.processorTime, MonotonicClock.now())
        try await Task.sleep(for: .seconds(seconds))
        let (last, cpuTime, end) = (
            await publishers.metrics().frames, setup.processorTime - time, MonotonicClock.now()
        )
        await publishers.run(false)
        let packetsOfFrame = TrafficProfile.flood.keyFrame.count * viewers
        try await waitUntilForwarded(await publishers.metrics().frames * packetsOfFrame * 98 / 100, by: setup)
        return Cost(
            perPacket: cpuTime / Int64(max(1, (last - first) * packetsOfFrame)),
            share: cpuTime.seconds / (end - start).seconds / Double(shards))
    }

    /// Waits until a number of packets have been forwarded.
    private static func waitUntilForwarded(_ count: Int, by setup: FanOutSetup) async throws {
        let limit = MonotonicClock.now() + .seconds(2)
        while case let forwarded = try await setup.packetsForwarded(), forwarded < count {
            guard MonotonicClock.now() < limit else {
                throw BenchFailure("only \(forwarded) of more than \(count) packets were forwarded")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Measures the C program. Each process has a CPU and the same number of viewers, at the same rate.
    static func limit(
        _ program: LimitProgram, _ cipher: LimitProgram.Cipher, processes: Int, viewersOfEach: Int, seconds: Int
    ) async throws -> Cost {
        let (viewers, rate) = (processes * viewersOfEach, TrafficProfile.flood.rate)
        let sink = try LoadLoop(name: "sink") { LimitSink(viewers, port: $0, decryptsEach: 8) }
        defer { sink.stop() }
        sink.rest()
        let port = sink.port
        let metrics = try await withThrowingTaskGroup(of: LimitProgram.Metrics.self) { group in
            for number in 0..<processes {
                group.addTask {
                    try await onThread {
                        try program.run(
                            cipher, viewers: viewersOfEach, first: number * viewersOfEach, port: port, rate: rate,
                            frames: seconds * Int(rate), processor: number)
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let cpuTime = metrics.reduce(TimeSpan.zero) { $0 + $1.processorTime }
        let packets = metrics.reduce(0) { $0 + $1.packets }
        return Cost(
            perPacket: cpuTime / Int64(max(1, packets)), share: cpuTime.seconds / Double(seconds * processes))
    }

    /// Runs a blocking function on a thread of its own.
    private static func onThread<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}
