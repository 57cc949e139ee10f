import Logging
import PCastCore
import PCastIO
import PCastSFU

/// The slates of declared streams, which fill the time without a publisher.
extension NamedStreamService {
    /// The interval in which the SFU is requested to keep the frames for a slate. It bounds the key frames for this purpose.
    private static let keepingInterval = TimeSpan.seconds(5 as Int64)

    /// Lets the SFU keep a key frame of a name, which a slate may need. WebRTC publishers make key frames on request only.
    func keepLastFrames(of name: String, at now: Instant) {
        guard slates != nil, let entry = entries[name], entry.declaration.hasSlate, entry.machine.viewers > 0,
            entry.slate == nil, let stream = entry.stream,
            entry.keptAt.map({ now - $0 >= Self.keepingInterval }) ?? true
        else { return }
        entries[name]?.keptAt = now
        router.keepLastFrames(of: stream)
    }

    /// Makes the slate of a name from its last frame, and plays it.
    func startSlate(of name: String) {
        guard entries[name] != nil else { return }
        let start = nextStart()
        entries[name]?.starts[.fallback] = start
        if entries[name]?.slate == nil { entries[name]?.slate = ShownSlate() }
        Task {
            do throws(APIError) {
                try await playSlate(start, of: name)
            } catch {
                // Many streams may wait for a slate when their publishers have left at the same time.
                logger.log(
                    level: error.kind == .capacity ? .debug : .warning, "slate not made",
                    metadata: ["name": "\(name)", "error": "\(error.detail)"])
                jobEnded(.fallback, start, of: name, why: error.message)
            }
        }
    }

    private func playSlate(_ start: Int, of name: String) async throws(APIError) {
        guard let slates, let entry = entries[name], let stream = entry.stream, let media = entry.media else { return }
        // Without video there is nothing to show.
        guard media.video != nil else { return }
        let others = entries.count { $0.key != name && $0.value.slate?.last != nil }
        guard others + slatesInProgress < SlateService.maximumCount else {
            throw APIError(.capacity, "There are too many slates: retry later.")
        }
        // The place is taken before the last frames are read, so that streams that wait for it do not keep them in memory.
        guard slatesInProgress < SlateService.processLimit else {
            throw APIError(.capacity, "Too many slates are being made: retry in a second.")
        }
        slatesInProgress += 1
        defer { slatesInProgress -= 1 }
        let last: LastFrames
        if let known = entry.slate?.last {
            last = known
        } else {
            guard let found = await router.lastFrames(of: stream, maximumSize: SlateService.maximumSourceSize) else {
                return
            }
            last = found
        }
        guard isWanted(.fallback, start, of: name) else { return }
        let slate = try await slates.slate(entry.declaration.slate, over: last)
        guard isWanted(.fallback, start, of: name), !isStopping else { return }
        let published = try await directory.publishFallback(
            of: name, of: entry.application,
            ingesting: IngestMedia(video: slate.codec, hasAudio: media.hasAudio), group: declarations.root(of: name),
            onEnd: { [weak self] end in await self?.slateEnded(start, of: name, why: end.wire) })
        var player = SlatePlayer(slate, hasAudio: media.hasAudio, from: MonotonicClock.wallTime())
        let task = Task { await player.run(into: published.feed) }
        let shown = ShownSlate(last: last, id: published.id, player: task)
        guard isWanted(.fallback, start, of: name), !isStopping else { return await end(shown) }
        entries[name]?.slate = shown
    }

    /// Records that the stream of a slate has ended by itself, for example because an operator has ended it.
    private func slateEnded(_ start: Int, of name: String, why: String) {
        guard entries[name]?.starts[.fallback] == start else { return }
        entries[name]?.slate?.player?.cancel()
        // The right side of an optional chain is evaluated while the chain is accessed, so it must not read the entries.
        let last = entries[name]?.slate?.last
        entries[name]?.slate = ShownSlate(last: last)
        jobEnded(.fallback, start, of: name, why: why)
    }

    /// Stops the slate of a name.
    func stopSlate(of name: String) async {
        // The end of this slate does not count as a failure.
        entries[name]?.starts[.fallback] = nextStart()
        guard let slate = entries[name]?.slate else { return }
        entries[name]?.slate = nil
        await end(slate)
    }

    /// Ends what remains of a slate.
    func end(_ slate: ShownSlate) async {
        slate.player?.cancel()
        if let id = slate.id { await directory.end(id, reason: .ended, description: "") }
    }
}
