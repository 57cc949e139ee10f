internal import PCastCore
internal import PCastHLS
internal import PCastIO
internal import Synchronization

/// The progress of a segment that is loaded.
extension RenditionLoader: SegmentLoad.Owner {
    /// The time without data of a segment after which another address may replace it.
    private static let maximumSilence = TimeSpan.seconds(2 as Int64)
    /// The duration of the loaded media below which it does.
    private static let shortBuffer = TimeSpan.seconds(4 as Int64)

    /// The follower of the current variant's playlist.
    var follower: PlaylistFollower? { state.withLock { $0.follower } }

    /// Adds a segment that begins to load. Returns false if a seek has made it unnecessary.
    func take(_ segment: LoadedSegment, placed: TimelineSegment, of generation: Int) -> Bool {
        let isNeeded = state.withLock { state in
            guard state.generation == generation else { return false }
            // The timeline may have been corrected since the segment was selected.
            if segment.rung == nil || segment.rung == state.rung, let timeline = state.follower?.timeline,
                timeline.epoch == segment.clock.epoch, let current = timeline.segment(number: placed.number)
            {
                segment.move(from: placed, to: current)
            }
            state.segments.append(segment)
            return true
        }
        wait.raise()
        return isNeeded
    }

    /// Records the throughput of a transfer.
    func downloaded(_ bytes: Int64, in span: TimeSpan, as transfer: ThroughputEstimate.Transfer) {
        let rate = choice.withLock { choice in
            choice?.downloaded(bytes: bytes, in: span, as: transfer)
            return choice?.throughput.bitrate
        }
        if let rate { steering?.measured(rate) }
    }

    /// Handles the failure of a segment. Returns whether another pathway, address or variant replaces it.
    func leaves(_ segment: LoadedSegment?, after failure: LoadFailure, isSettled: Bool) -> Bool {
        guard let uri = follower?.current.uri else { return false }
        if let steering, let pathway = variants.pathway(of: uri) {
            // Another loader may have reported the failure already.
            _ = steering.failed(pathway)
            let isAnother = steering.order.first != pathway
            let isLeft = state.withLock { state in
                guard isAnother, state.leftPathways + 1 < steering.order.count else { return false }
                state.leftPathways += 1
                leave(segment, &state)
                return true
            }
            if isLeft { return true }
        }
        guard isSettled else { return false }
        return state.withLock { state in
            let now = MonotonicClock.now()
            let isAlternative = variants.uris.contains { uris in
                uris.contains { $0 != uri && !state.failedAddresses.isUnrecoverable($0, at: now) }
            }
            guard isAlternative else { return false }
            // The failure is not final, because other segments at the address may be available.
            state.failedAddresses.add([uri], isFinal: false, at: now)
            state.variantFailure = failure
            leave(segment, &state)
            return true
        }
    }

    /// Handles a transfer that delivers no data: if less than `shortBuffer` of media is left to be played, another
    /// address replaces it.
    func evaluate(_ segment: LoadedSegment?, silentFor silence: TimeSpan, of generation: Int) {
        guard silence >= Self.maximumSilence, segment?.isLeft != true else { return }
        let (isShort, uri, fetching) = state.withLock { state in
            let end = segment?.start ?? state.segments.last?.end ?? state.reached
            let isShort = end - state.reached < Self.shortBuffer && state.generation == generation
            return (isShort, state.follower?.current.uri, state.fetching)
        }
        guard isShort else { return }
        let failure = LoadFailure(
            failure: .timeout, reason: "no data arrived for \(Int(Self.maximumSilence.seconds)) seconds", uri: uri)
        if leaves(segment, after: failure, isSettled: true) { fetching?.cancel() }
    }

    /// Removes a segment that is replaced.
    private func leave(_ segment: LoadedSegment?, _ state: inout State) {
        guard let segment, state.segments.last === segment else { return }
        segment.leave()
        state.segments.removeLast()
    }

    /// The duration of the frames that are decoded and not displayed yet.
    private static let decodedDuration = TimeSpan.milliseconds(250)

    /// Decides whether a part arrives too slowly, and cancels its segment in favor of a lower variant.
    func evaluate(_ segment: LoadedSegment, _ part: PartProgress, ofPart duration: TimeSpan) {
        let abandoned = state.withLock { state -> Task<SegmentLoad.End, Never>? in
            guard state.segments.last === segment else { return nil }
            let buffered = max(segment.loadedEnd - state.reached, .zero) + Self.decodedDuration
            let isTooSlow = choice.withLock { choice in
                guard
                    choice?.abandonsPart(
                        segment.rung, received: part.received, of: part.length, in: part.elapsed, ofPart: duration,
                        buffered: buffered) == true
                else { return false }
                choice?.abandoned(bytes: part.received, in: part.elapsed)
                return true
            }
            guard isTooSlow else { return nil }
            leave(segment, &state)
            return state.fetching
        }
        abandoned?.cancel()
    }

    /// Decides whether a segment arrives too slowly, and cancels it in favor of a lower variant.
    func evaluate(_ segment: LoadedSegment, _ arrival: SegmentArrival) {
        let abandoned = state.withLock { state -> Task<SegmentLoad.End, Never>? in
            guard state.segments.last === segment else { return nil }
            // A segment that is already being read is played while it arrives, so it is late only at its end.
            let isBegun = segment.isBegun.load(ordering: .relaxed)
            let buffered = max((isBegun ? segment.end : segment.start) - state.reached, .zero)
            let measured: (bytes: Int64, span: TimeSpan) =
                isBegun ? arrival.recent : (arrival.received, arrival.elapsed)
            let isTooSlow = choice.withLock { choice in
                guard
                    choice?.abandons(
                        segment.rung, received: arrival.received, in: arrival.elapsed, ofSegment: segment.duration,
                        length: arrival.length, recent: measured, buffered: buffered) == true
                else { return false }
                choice?.abandoned(bytes: measured.bytes, in: measured.span)
                return true
            }
            guard isTooSlow else { return nil }
            segment.leave()
            state.segments.removeLast()
            return state.fetching
        }
        abandoned?.cancel()
    }
}
