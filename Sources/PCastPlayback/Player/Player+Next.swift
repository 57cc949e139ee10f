import Dispatch
import PCastCore

/// Preloading of the next item, so that playback continues without a pause.
extension Player {
    /// The remaining time of the current item at which the next one is preloaded. The current item is then completely
    /// loaded, because it is loaded at least as far ahead.
    private static let lead = TimeSpan.seconds(10)

    /// Begins or cancels preloading, according to the current state.
    func lookAhead(_ state: inout State) {
        let wanted = nextSource(state)
        guard wanted != state.next?.source else { return }
        cancelPreload(&state)
        guard let wanted else { return }
        let item = NextItem(wanted)
        state.next = item
        engine.async { [pipelines] in item.begin(pipelines) }
    }

    /// Returns the source that plays next without a command, if that is soon; nil otherwise.
    private func nextSource(_ state: State) -> Source? {
        guard state.autoAdvance, let index = state.index, let session = state.session, session.isNearEnd(Self.lead)
        else { return nil }
        if index + 1 < state.videos.count { return state.videos[index + 1].preferredSource }
        return state.isLooping && state.videos.count > 1 ? state.videos[0].preferredSource : nil
    }

    /// Cancels preloading.
    func cancelPreload(_ state: inout State) {
        guard let next = state.next else { return }
        state.next = nil
        engine.async { next.cancel() }
    }
}

extension PlaybackSession {
    /// Whether the remaining time is at most `lead`. It is false for live content.
    fileprivate func isNearEnd(_ lead: TimeSpan) -> Bool {
        withState { state in
            guard state.lifecycle.isReady, let end = state.overview?.end else { return false }
            return state.position + lead >= end
        }
    }
}
