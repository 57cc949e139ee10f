import Dispatch
import PCastCore

/// Loading what is played next before its turn, so that nobody waits for it (playback reference, section 8, scenario 2).
extension Player {
    /// An item is loaded ahead when so much is left of the one that is played: what that one needs has come by then, for it
    /// loads as far ahead at least.
    private static let lead = TimeSpan.seconds(10)

    /// Begins, goes on, or leaves off, as things are.
    func lookAhead(_ state: inout State) {
        let wanted = nextSource(state)
        guard wanted != state.next?.source else { return }
        forgetNext(&state)
        guard let wanted else { return }
        let item = NextItem(wanted)
        state.next = item
        engine.async { [pipelines] in item.begin(pipelines) }
    }

    /// What comes next by itself, where that is soon.
    private func nextSource(_ state: State) -> Source? {
        guard state.autoAdvance, let index = state.index, let session = state.session, session.isNearEnd(Self.lead)
        else { return nil }
        if index + 1 < state.videos.count { return state.videos[index + 1].preferredSource }
        return state.isLooping && state.videos.count > 1 ? state.videos[0].preferredSource : nil
    }

    func forgetNext(_ state: inout State) {
        guard let next = state.next else { return }
        state.next = nil
        engine.async { next.cancel() }
    }
}

extension PlaybackSession {
    /// Whether little is left of it. What is live has no end that is known.
    fileprivate func isNearEnd(_ lead: TimeSpan) -> Bool {
        withState { state in
            guard state.lifecycle.isReady, let duration = state.overview?.duration else { return false }
            return state.position + lead >= duration
        }
    }
}
