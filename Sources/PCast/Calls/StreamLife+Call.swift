import PCastMedia

extension StreamLife {
    /// The platform's goodbye in the media connection comes at about the time of its words, which say more.
    private static let graceForWords = Duration.seconds(1)

    /// Takes in what becomes of the stream's media connection.
    func follow(_ event: MediaCall.Event) {
        switch event {
        case .connected, .keyFrameRequested, .paused, .resumed, .layerNeedsKeyFrame, .layerPaused, .layerResumed: break
        case .away: wentSilent()
        case .back: heardAgain()
        case .failed(let reason):
            end(StreamEndedInfo(ender: .connection, reason: .failed, reasonDescription: reason))
        case .closed:
            Task {
                try? await Task.sleep(for: Self.graceForWords)
                end(StreamEndedInfo(ender: .platform, reason: .ended, reasonDescription: "ended"))
            }
        }
    }
}
