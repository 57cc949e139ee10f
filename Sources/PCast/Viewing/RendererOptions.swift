public import PCastCodecs
public import PCastRendering

/// How a renderer shows a stream (Phenix: `PhenixRendererOptions`).
public struct RendererOptions: Hashable, Sendable {
    /// Pictures and sound wait for each other; without, each is shown as soon as it is decoded.
    public var lipSync: Bool

    /// Whether latency and skew are read from the test picture and the clapper, where the stream has them.
    public var measuresTestSignal: Bool

    /// Whether audio is decoded, timed and measured, and not played. Otherwise it is played on the device that the user's
    /// configuration of ALSA calls "default", if that can be opened (``Renderer/isAudioPlayed``). False unless it is set.
    ///
    /// A preview of a microphone plays the microphone as well: set this where loudspeakers would be recorded again.
    public var useNullAudioDevice: Bool

    /// Whether pictures are decoded, timed and measured, and not seen, whatever surface the renderer is given.
    public var useNullVideoDevice: Bool

    /// How pictures lie on a surface of another shape.
    public var aspectRatioMode: AspectRatioMode

    /// Whether the preview of a camera that faces the user is shown as in a mirror.
    public var autoMirroringEnabled: Bool

    /// How far pictures are turned on the surface.
    public var rotation: FrameRotation

    public init(
        lipSync: Bool = true, measuresTestSignal: Bool = true, useNullAudioDevice: Bool = false,
        useNullVideoDevice: Bool = false, aspectRatioMode: AspectRatioMode = .automatic,
        autoMirroringEnabled: Bool = false, rotation: FrameRotation = .none
    ) {
        self.lipSync = lipSync
        self.measuresTestSignal = measuresTestSignal
        self.useNullAudioDevice = useNullAudioDevice
        self.useNullVideoDevice = useNullVideoDevice
        self.aspectRatioMode = aspectRatioMode
        self.autoMirroringEnabled = autoMirroringEnabled
        self.rotation = rotation
    }
    /// Neither shows frames nor plays audio: everything is decoded, timed and measured.
    public static let nullDevices = RendererOptions(useNullAudioDevice: true, useNullVideoDevice: true)
}
