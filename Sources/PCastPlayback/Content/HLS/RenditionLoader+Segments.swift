internal import PCastCore
internal import PCastHLS
internal import PCastIO
internal import Synchronization

/// What becomes of a segment while it comes.
extension RenditionLoader: SegmentLoad.Owner {
    var follower: PlaylistFollower? { state.withLock { $0.follower } }

    func take(_ segment: LoadedSegment, of generation: Int) -> Bool {
        let isTaken = state.withLock { state in
            guard state.generation == generation else { return false }
            state.segments.append(segment)
            return true
        }
        wait.raise()
        return isTaken
    }

    func downloaded(_ bytes: Int64, in span: TimeSpan, isPaced: Bool) {
        let rate = choice.withLock { choice in
            choice?.downloaded(bytes: bytes, in: span, isPaced: isPaced)
            return choice?.throughput.bitrate
        }
        if let rate { steering?.measured(rate) }
    }

    func leaves(_ segment: LoadedSegment?, after failure: LoadFailure, isSettled: Bool) -> Bool {
        guard let uri = follower?.current.uri else { return false }
        if let steering, let pathway = variants.pathway(of: uri) {
            let isAnother = steering.failed(pathway)
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
            // Another of its segments may be there.
            state.failedAddresses.add([uri], isFinal: false, at: now)
            state.leaving = failure
            leave(segment, &state)
            return true
        }
    }

    private func leave(_ segment: LoadedSegment?, _ state: inout State) {
        guard let segment, state.segments.last === segment else { return }
        segment.leave()
        state.segments.removeLast()
    }

    func weigh(_ segment: LoadedSegment, _ arrival: SegmentArrival) {
        let abandoned = state.withLock { state -> Task<SegmentLoad.End, Never>? in
            guard state.segments.last === segment else { return nil }
            // One that is read already is played while it comes. It is late when its end is.
            let isBegun = segment.isBegun.load(ordering: .relaxed)
            let buffered = max((isBegun ? segment.end : segment.start) - state.reached, .zero)
            let measured: (bytes: Int64, span: TimeSpan) =
                isBegun ? arrival.recent : (arrival.received, arrival.elapsed)
            let isTooSlow = choice.withLock { choice in
                guard
                    choice?.abandons(
                        received: arrival.received, in: arrival.elapsed, ofSegment: segment.duration,
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
