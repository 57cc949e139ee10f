import PCastCore
import PCastIO

/// A platform with publishers and viewers.
struct Broadcast: Sendable {
    let stage: FanOutStage
    let publishers: LoadPublishers
    let audience: LoadViewers
    let viewers: Int
    let shape: StreamShape
    /// The memory of the platform before viewers joined, in bytes.
    let emptyMemory: Double
    /// The packets of the first viewer's frames with few other viewers; see `PacketTap`.
    let arrivals: (text: String, meanSize: Double)

    /// Starts a platform, publishers and viewers. The viewers are distributed equally over the streams. For
    /// `decryptsEach`, see `LightViewer`. `shards` is the number of the SFU's shards.
    static func start(
        streams: Int = 1, of shape: StreamShape, viewers: Int, by way: LoadViewers.Way = .whep, decryptsEach: Int,
        beginning: LightPublisher.Beginning = LightPublisher.Beginning(), isPinned: Bool = true,
        shards: Int = 1
    ) async throws -> Broadcast {
        let stage = try await FanOutStage.start(["--shards", "\(shards)"], isPinned: isPinned)
        do {
            let publishers = try await LoadPublishers(streams, of: shape, at: stage, beginning: beginning)
            let audience = try LoadViewers(by: way, decryptsEach: decryptsEach)
            await publishers.run()
            // The first viewers cause one-time allocations of the platform.
            try await audience.join(0..<min(8, viewers), to: publishers.streams, at: stage)
            try await audience.watching(min(8, viewers), within: .seconds(60))
            let arrivals = try await audience.shape(frames: max(5, shape.frames.count))
            let memory = stage.residentMemory
            try await audience.join(min(8, viewers)..<viewers, to: publishers.streams, at: stage)
            // Viewers without a frame are counted later.
            try? await audience.watching(viewers, within: .seconds(60))
            try await Task.sleep(for: .seconds(2))
            return Broadcast(
                stage: stage, publishers: publishers, audience: audience, viewers: viewers, shape: shape,
                emptyMemory: memory, arrivals: arrivals)
        } catch {
            stage.stop()
            throw error
        }
    }

    func stop() {
        audience.leave()
        publishers.leave()
        stage.stop()
    }

    /// The memory per viewer in bytes, without the first eight; nil without others.
    var memoryPerViewer: Double? {
        viewers > 8 ? (stage.residentMemory - emptyMemory) / Double(viewers - 8) : nil
    }

    /// The results of a measurement.
    struct Turn: Sendable {
        let round: FanOutRound
        let wakeUps: Double
        let publishing: LoadPublishers.Figures
        let delays: DelayHistogram
    }

    func measure(seconds: Int) async throws -> Turn {
        await audience.begin()
        await publishers.begin()
        let (start, load, drops, received) = (MonotonicClock.now(), loadTime, ownDrops, audience.received)
        let (time, wakes) = (stage.processorTime, Processor.wakeUps(of: stage.platform.processID))
        try await Task.sleep(for: .seconds(seconds))
        let (taken, woken) = (stage.processorTime - time, Processor.wakeUps(of: stage.platform.processID) - wakes)
        let elapsed = MonotonicClock.now() - start
        let loadShare = (loadTime - load).seconds / elapsed.seconds
        let perMessage = FanOutRound.perMessage(received, audience.received)
        let (figures, publishing) = (await audience.figures(), await publishers.figures())
        return Turn(
            round: FanOutRound(
                processorTime: taken, packets: figures.packets, missing: figures.missing + figures.overtaken,
                unauthentic: figures.rejected, idle: viewers - figures.watching, ownDrops: ownDrops - drops,
                loadShare: loadShare, perMessage: perMessage, elapsed: elapsed),
            wakeUps: Double(woken) / elapsed.seconds, publishing: publishing, delays: figures.delays)
    }

    var loadTime: TimeSpan { audience.processorTime + publishers.processorTime }
    var ownDrops: Int { audience.ownDrops + publishers.ownDrops }
}
