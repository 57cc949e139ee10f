import PCastCore
import PCastIO

extension StreamLifecycle {
    /// The time for which the platform's message with the reason is awaited. The media connection may be closed before
    /// the message arrives.
    private static let endReasonTimeout = Duration.seconds(1)

    /// Processes a change of the stream's media connection.
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
            // The platform's message that the connection is lost may have arrived first.
            guard !isConnectionLost else { return }
            let before = interruption.count
            Task {
                try? await Task.sleep(for: Self.endReasonTimeout)
                // The message may have requested a new setup.
                guard interruption == (false, before) else { return }
                end(StreamEndedInfo(ender: .platform, reason: .ended, reasonDescription: "ended"))
            }
        }
    }

    /// The interval between observations of the connection.
    private static let lookInterval = Duration.milliseconds(250)

    /// Observes the stream's media connection at intervals until the stream ends. `alongside` runs with each
    /// observation.
    func watch(_ call: MediaCall, _ alongside: @escaping @Sendable (MediaCall) -> Void = { _ in }) {
        let watching = Task { [weak self, weak call] in
            while (try? await Task.sleep(for: Self.lookInterval)) != nil {
                guard let self, let call else { return }
                alongside(call)
                guard let lifecycle = await call.linkActivity() else { continue }
                self.observe(
                    lastReceivedAt: lifecycle.lastReceivedAt, packetsSent: lifecycle.packetsSent,
                    at: MonotonicClock.now())
            }
        }
        whenEnded { _ in watching.cancel() }
    }
}
