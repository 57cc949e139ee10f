// MARK: Background
extension PCast {
    /// Ends all published and viewed streams of this client with the reason `app-background`, because the application
    /// goes to the background. The application calls it, because only it knows.
    ///
    /// Publishers' viewers and the backend receive the reason as well. The session continues. The function returns when
    /// the streams have ended. It may be called in any state.
    public func applicationBackground() async {
        let streams = session.streams
        for stream in streams { stream.applicationWentToBackground() }
        for stream in streams { await stream.isOver() }
    }

    /// Ends all streams because the application goes to the background, and calls back once afterwards.
    public func applicationBackground(_ callback: @escaping @Sendable (PCast) -> Void) {
        Task {
            await applicationBackground()
            callback(self)
        }
    }
}
