import PCastCore

/// Who is told what the platform says of one stream.
protocol StreamListener: AnyObject, Sendable {
    /// The platform ended it, with the reason string of the wire.
    func streamEnded(reason: String)
    /// Its media connection is lost, and the stream is not: it is to be set up again.
    func streamInterrupted()
    func dataQualityChanged(_ quality: DataQuality)
    /// The application stops the session that the stream belongs to.
    func sessionStopped()
    /// The application says that it does.
    func applicationWentToBackground()
    /// Returns when nothing of the stream is left: its connection is closed, its files are written.
    func isOver() async
}
