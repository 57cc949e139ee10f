/// How a renderer shows a stream (Phenix: `PhenixRendererOptions`).
public struct RendererOptions: Hashable, Sendable {
    /// Pictures and sound wait for each other; without, each is shown as soon as it is decoded.
    public var lipSync: Bool

    /// Whether latency and skew are read from the test picture and the clapper, where the stream has them.
    public var measuresTestSignal: Bool

    /// Whether sound is decoded, timed and measured, and not heard; without, it is played on what the user's configuration of
    /// ALSA calls "default", and ``Renderer/start()`` fails when that cannot be opened.
    public var useNullAudioDevice: Bool

    public init(lipSync: Bool = true, measuresTestSignal: Bool = true, useNullAudioDevice: Bool = true) {
        self.lipSync = lipSync
        self.measuresTestSignal = measuresTestSignal
        self.useNullAudioDevice = useNullAudioDevice
    }
}
