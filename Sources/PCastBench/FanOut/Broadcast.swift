import PCastCore
import PCastIO

/// A platform with publishers and viewers.
struct Broadcast: Sendable {
    let setup: FanOutSetup
    let publishers: LoadPublishers
    let viewersLoad: LoadViewers
    let viewers: Int
    let profile: TrafficProfile
    /// The memory of the platform before viewers joined, in bytes.
    let emptyMemory: Double
    /// The packets of the first viewer's frames with few other viewers; see `PacketTap`.
    let arrivals: (text: String, meanSize: Double)

    /// Starts a platform, publishers and viewers. The viewers are distributed equally over the streams. For
    /// `decryptsEach`, see `LightViewer`. `shards` is the number of the SFU's shards.
    static func start(
        streams: Int = 1, of profile: TrafficProfile, viewers: Int, by joinProtocol: LoadViewers.JoinProtocol = .whep,
        decryptsEach: Int,
        beginning: LightPublisher.InitialState = LightPublisher.InitialState(), isPinned: Bool = true,
        shards: Int = 1
    ) async throws -> Broadcast {
        let setup = try await FanOutSetup.start(["--shards", "\(shards)"], isPinned: isPinned)
        do {
            let publishers = try await LoadPublishers(streams, of: profile, at: setup, beginning: beginning)
            let viewersLoad = try LoadViewers(by: joinProtocol, decryptsEach: decryptsEach)
            await publishers.run()
            // The first viewers cause one-time allocations of the platform.
            try await viewersLoad.join(0..<min(8, viewers), to: publishers.streams, at: setup)
            try await viewersLoad.waitUntilWatching(min(8, viewers), within: .seconds(60))
            let arrivals = try await viewersLoad.profile(frames: max(5, profile.frames.count))
            let memory = setup.residentMemory
            try await viewersLoad.join(min(8, viewers)..<viewers, to: publishers.streams, at: setup)
            // Viewers without a frame are counted later.
            try? await viewersLoad.waitUntilWatching(viewers, within: .seconds(60))
            try await Task.sleep(for: .seconds(2))
            return Broadcast(
                setup: setup, publishers: publishers, viewersLoad: viewersLoad, viewers: viewers, profile: profile,
                emptyMemory: memory, arrivals: arrivals)
        } catch {
            setup.stop()
            throw error
        }
    }

    func stop() {
        viewersLoad.leave()
        publishers.leave()
        setup.stop()
    }

    /// The memory per viewer in bytes, without the first eight; nil without others.
    var memoryPerViewer: Double? {
        viewers > 8 ? (setup.residentMemory - emptyMemory) / Double(viewers - 8) : nil
    }

    /// The results of a measurement.
    struct Measurement: Sendable {
        let round: FanOutRound
        let wakeUps: Double
        let publishing: LoadPublishers.Metrics
        let delays: DelayHistogram
    }

    func measure(seconds: Int) async throws -> Measurement {
        await viewersLoad.begin()
        await publishers.begin()
        let (start, load, drops, received) = (MonotonicClock.now(), loadTime, ownDrops, viewersLoad.received)
        let (time, wakes) = (setup.processorTime, Processor.wakeUps(of: setup.platform.processID))
        try await Task.sleep(for: .seconds(seconds))
        let (cpuTime, wakeups) = (setup.processorTime - time, Processor.wakeUps(of: setup.platform.processID) - wakes)
        let elapsed = MonotonicClock.now() - start
        let loadShare = (loadTime - load).seconds / elapsed.seconds
        let perMessage = FanOutRound.perMessage(received, viewersLoad.received)
        let (metrics, publishing) = (await viewersLoad.metrics(), await publishers.metrics())
        return Measurement(
            round: FanOutRound(
                processorTime: cpuTime, packets: metrics.packets, missing: metrics.missing + metrics.reordered,
                unauthentic: metrics.rejected, idle: viewers - metrics.watching, ownDrops: ownDrops - drops,
                loadShare: loadShare, perMessage: perMessage, elapsed: elapsed),
            wakeUps: Double(wakeups) / elapsed.seconds, publishing: publishing, delays: metrics.delays)
    }

    var loadTime: TimeSpan { viewersLoad.processorTime + publishers.processorTime }
    var ownDrops: Int { viewersLoad.ownDrops + publishers.ownDrops }
}

extension Broadcast {
    private static let step = TimeSpan.seconds(Int64(10))
    /// The largest change of the frame rate per step, and its range, as factors.
    private static let change = 0.9...1.1
    private static let range = 0.3...3.0

    /// Keeps the platform at a fraction of its CPU by changing the publishers' frame rate, until the task is cancelled.
    /// On a shared machine, the same work takes a different fraction at different times.
    func keepLoad(at share: Double) async throws {
        let typical = 1 / Double(profile.rate)
        var factor = 1.0
        while true {
            let (start, before) = (MonotonicClock.now(), setup.processorTime)
            try await Task.sleep(for: .seconds(Self.step.seconds))
            let cpuTime = (setup.processorTime - before).seconds / (MonotonicClock.now() - start).seconds
            factor = Self.range.clamping(factor * Self.change.clamping(share / max(cpuTime, 0.01)))
            await publishers.setInterval(TimeSpan(seconds: typical / factor))
        }
    }
}

extension ClosedRange<Double> {
    fileprivate func clamping(_ value: Double) -> Double { Swift.min(Swift.max(value, lowerBound), upperBound) }
}
