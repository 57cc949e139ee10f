import PCastCore

/// Receives the platform's notifications of one stream.
protocol StreamListener: AnyObject, Sendable {
    /// The platform ended the stream, with the reason string of the protocol.
    func streamEnded(reason: String)
    /// The stream's media connection is lost, and the stream has to be set up again.
    func streamInterrupted()
    /// The platform reports another data quality.
    func dataQualityChanged(_ quality: DataQuality)
    /// The platform sends captions of a viewed stream. `timestamp` is the time by the platform's clock at which it sent
    /// them.
    func captionsArrived(_ cues: [CaptionCue], timestamp: WallTime)
    /// The application stops the session of the stream.
    func sessionStopped()
    /// The application goes to the background.
    func applicationWentToBackground()
    /// Returns when all of the stream has ended: its connection is closed, and its files are written.
    func isOver() async
}
