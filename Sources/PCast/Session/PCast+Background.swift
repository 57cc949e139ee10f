/// What the system does with an application, told by the application: only it knows.
extension PCast {
    /// Says that the application goes to the background, where it may neither capture nor play: ends all streams of this
    /// client, published and watched, with the reason `app-background`, which publishers' viewers and the backend are told
    /// as well. The session goes on. Returns when the streams have ended; harmless in any state.
    public func applicationBackground() async {
        let streams = session.streams
        for stream in streams { stream.applicationWentToBackground() }
        for stream in streams { await stream.isOver() }
    }

    /// The same with a callback, which is called once.
    public func applicationBackground(_ callback: @escaping @Sendable (PCast) -> Void) {
        Task {
            await applicationBackground()
            callback(self)
        }
    }
}
