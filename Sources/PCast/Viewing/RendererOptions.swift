public import PCastCodecs
public import PCastRendering

/// How a renderer shows a stream (Phenix: `PhenixRendererOptions`).
public struct RendererOptions: Hashable, Sendable {
    /// Pictures and sound wait for each other; without, each is shown as soon as it is decoded.
    public var lipSync: Bool

    /// Whether latency and skew are read from the test picture and the clapper, where the stream has them.
    public var measuresTestSignal: Bool

    /// Whether sound is decoded, timed and measured, and not heard; without, it is played on what the user's configuration of
    /// ALSA calls "default", and ``Renderer/start()`` fails when that cannot be opened.
    public var useNullAudioDevice: Bool

    /// Whether pictures are decoded, timed and measured, and not seen, whatever surface the renderer is given.
    public var useNullVideoDevice: Bool

    /// How pictures lie on a surface of another shape.
    public var aspectRatioMode: AspectRatioMode

    /// Whether the preview of a camera that faces the user is shown as in a mirror.
    public var autoMirroringEnabled: Bool

    /// How far pictures are turned on the surface.
    public var rotation: PictureTurn

    public init(
        lipSync: Bool = true, measuresTestSignal: Bool = true, useNullAudioDevice: Bool = true,
        useNullVideoDevice: Bool = false, aspectRatioMode: AspectRatioMode = .automatic,
        autoMirroringEnabled: Bool = false, rotation: PictureTurn = .none
    ) {
        self.lipSync = lipSync
        self.measuresTestSignal = measuresTestSignal
        self.useNullAudioDevice = useNullAudioDevice
        self.useNullVideoDevice = useNullVideoDevice
        self.aspectRatioMode = aspectRatioMode
        self.autoMirroringEnabled = autoMirroringEnabled
        self.rotation = rotation
    }
}
