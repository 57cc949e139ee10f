public import PCast

/// The fitting of frames to a surface (Phenix: `PhenixAspectRatioMode`).
public typealias PhenixAspectRatioMode = AspectRatioMode

/// The options of a renderer (Phenix: `PhenixRendererOptions`).
public final class PhenixRendererOptions {
    /// The fitting of frames to a surface with another aspect ratio.
    public var aspectRatioMode = PhenixAspectRatioMode.automatic
    /// Whether the preview of a camera that faces the user is mirrored.
    public var autoMirroringEnabled = false
    /// Whether video is not shown.
    public var useNullVideoDevice = false
    /// Whether audio is not played.
    public var useNullAudioDevice = false

    /// Creates the default options.
    public init() {}

    /// The options of `Renderer`.
    var options: RendererOptions {
        RendererOptions(
            useNullAudioDevice: useNullAudioDevice, useNullVideoDevice: useNullVideoDevice,
            aspectRatioMode: aspectRatioMode, autoMirroringEnabled: autoMirroringEnabled)
    }
}

extension MediaStream {
    /// Creates a renderer, which has to be started.
    public func createRenderer(_ options: PhenixRendererOptions!) -> PhenixRenderer! {
        createRenderer((options ?? PhenixRendererOptions()).options)
    }
}

extension Renderer {
    /// Whether the audio is muted.
    public var audioMuted: Bool { isAudioMuted }
}
