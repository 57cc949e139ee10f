import PCastCore
import PCastIO

extension StreamLifecycle {
    /// The platform's goodbye in the media connection comes at about the time of its words, which say more.
    private static let graceForWords = Duration.seconds(1)

    /// Takes in what becomes of the stream's media connection.
    func follow(_ event: MediaCall.Event) {
        switch event {
        case .connected:
            connected()
            setAway(false, at: MonotonicClock.now())
        case .keyFrameRequested, .paused, .resumed, .layerNeedsKeyFrame, .layerPaused, .layerResumed: break
        case .away: setAway(true, at: MonotonicClock.now())
        case .back: setAway(false, at: MonotonicClock.now())
        case .failed(let reason):
            guard !interruption.isUnderWay else { return }
            end(StreamEndedInfo(ender: .connection, reason: .failed, reasonDescription: reason))
        case .closed:
            // Its words may have been faster than itself.
            guard !isConnectionLost else { return }
            let before = interruption.count
            Task {
                try? await Task.sleep(for: Self.graceForWords)
                // The words may have been that it is to be set up again.
                guard interruption == (false, before) else { return }
                end(StreamEndedInfo(ender: .platform, reason: .ended, reasonDescription: "ended"))
            }
        }
    }

    private static let lookInterval = Duration.milliseconds(250)

    /// Looks at the stream's media connection again and again, until the stream ends.
    func watch(_ call: MediaCall, _ alongside: @escaping @Sendable (MediaCall) -> Void = { _ in }) {
        let watching = Task { [weak self, weak call] in
            while (try? await Task.sleep(for: Self.lookInterval)) != nil {
                guard let self, let call else { return }
                alongside(call)
                guard let life = await call.signsOfLife() else { continue }
                self.observe(lastHeard: life.lastHeard, packetsSent: life.packetsSent, at: MonotonicClock.now())
            }
        }
        whenEnded { _ in watching.cancel() }
    }
}
