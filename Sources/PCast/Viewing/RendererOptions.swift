public import PCastCodecs
public import PCastRendering

/// The options of a renderer (Phenix: `PhenixRendererOptions`).
public struct RendererOptions: Hashable, Sendable {
    /// Whether audio and video are synchronized. If not, each is presented as soon as it is decoded.
    public var lipSync: Bool

    /// Whether latency and skew are measured with the test pattern and the test audio, if the stream contains them.
    public var measuresTestSignal: Bool

    /// Whether audio is decoded, timed and measured, but not played. The default is false.
    ///
    /// Otherwise the audio is played on ALSA's device "default", if that can be opened (``Renderer/isAudioPlayed``). A
    /// preview of a microphone plays the microphone as well: set this if the microphone would record the audio output
    /// again.
    public var useNullAudioDevice: Bool

    /// Whether video is decoded, timed and measured, but not shown, whatever surface the renderer has.
    public var useNullVideoDevice: Bool

    /// The fitting of frames to a surface with another aspect ratio.
    public var aspectRatioMode: AspectRatioMode

    /// Whether the preview of a camera that faces the user is mirrored.
    public var autoMirroringEnabled: Bool

    /// The clockwise rotation of frames on the surface.
    public var rotation: FrameRotation

    /// Creates options.
    ///
    /// - Parameters:
    ///   - lipSync: Whether audio and video are synchronized.
    ///   - measuresTestSignal: Whether latency and skew are measured with the test signal.
    ///   - useNullAudioDevice: Whether audio is not played.
    ///   - useNullVideoDevice: Whether video is not shown.
    ///   - aspectRatioMode: The fitting of frames to a surface with another aspect ratio.
    ///   - autoMirroringEnabled: Whether the preview of a camera that faces the user is mirrored.
    ///   - rotation: The clockwise rotation of frames on the surface.
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
    /// The options to neither show frames nor play audio: everything is decoded, timed and measured.
    public static let nullDevices = RendererOptions(useNullAudioDevice: true, useNullVideoDevice: true)
}

/// The state of a viewer in a group that presents the same frame at the same time (synchronized playout).
public enum PlayoutGroup: String, Hashable, Sendable, CaseIterable {
    /// The platform's clock is not known yet.
    case joining
    /// The viewer presents the same frame as the group.
    case member
    /// The viewer cannot achieve the delay of the group, and has its own delay. It joins again when it can.
    case left
}
